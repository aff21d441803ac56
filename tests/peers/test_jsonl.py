"""Any script as a full agent: `nuncio serve --jsonl -- COMMAND`."""

import json
from pathlib import Path

import pytest

from support.events import (
    artifact,
    artifact_updates,
    fold_artifacts,
    has_state,
    state,
    states,
    status_text,
    text_of,
)
from support.process import eventually, free_pid

COMPLETED, FAILED = "TASK_STATE_COMPLETED", "TASK_STATE_FAILED"


@pytest.fixture
def wire(scripted, wire_to):
    return wire_to(scripted, "jsonrpc")


def output(task: dict) -> str:
    (only,) = task["artifacts"]
    return text_of(only)


def test_text_lines_make_the_default_artifact(scripted, wire_to, binding):
    task = wire_to(scripted, binding).send("echo héllo ✓")
    assert state(task) == COMPLETED and output(task) == "héllo ✓"


def test_every_text_line_is_a_chunk_in_order(wire):
    events = wire.stream("chunks 500").rest()
    assert "".join(fold_artifacts(events).values()) == "".join(f"{n}\n" for n in range(500))
    assert len({u["artifact"]["artifactId"] for u in artifact_updates(events)}) == 1
    assert state(events[-1]) == COMPLETED


def test_full_events_may_leave_out_what_the_server_knows(wire):
    events = wire.stream("events").rest()
    task = events[0]["task"]
    assert states(events)[-2:] == ["TASK_STATE_WORKING", COMPLETED]
    updates = artifact_updates(events)
    assert [u["artifact"]["artifactId"] for u in updates] == ["mine", "mine"]
    assert all(u["taskId"] == task["id"] for u in updates)
    assert updates[-1]["lastChunk"] is True
    stored = wire.get(task["id"])
    assert text_of(artifact(stored, "mine")) == "onetwo"
    assert status_text(stored) == "done" and stored["status"]["timestamp"]


def test_a_task_waits_and_the_next_turn_gets_the_task_so_far(wire):
    asked = wire.send("ask")
    assert state(asked) == "TASK_STATE_INPUT_REQUIRED" and status_text(asked) == "what else?"
    answered = wire.send("more", taskId=asked["id"])
    assert state(answered) == COMPLETED
    said = output(answered)
    assert said.startswith("got more after "), said
    assert int(said.split()[3]) >= 1


def test_a_second_message_for_a_running_task_queues_behind_it(scripted, wire_to, binding):
    wire = wire_to(scripted, binding)
    task = wire.start("busy 1.5")
    feed = wire.subscribe(task["id"])
    eventually(lambda: state(wire.get(task["id"])) == "TASK_STATE_WORKING", what="it works")
    final = wire.send("second", taskId=task["id"])
    assert state(final) == COMPLETED
    said = []
    for event in feed.rest():
        if "artifactUpdate" in event:
            said.append(text_of(event["artifactUpdate"]["artifact"]))
        elif "statusUpdate" in event:
            said.append(status_text(event["statusUpdate"]))
    # The turn of the second begins when that of the first is over, and knows what was said in it.
    answers = [index for index, text in enumerate(said) if text.startswith("got second after")]
    assert "rested" in said and answers and said.index("rested") < answers[0], said


def test_audio_is_a_part_as_any_other_in_both_directions(scripted, wire_to, binding):
    wire = wire_to(scripted, binding)
    sound = {"raw": "UklGRiQAAABXQVZF", "mediaType": "audio/wav", "filename": "hello.wav"}
    (seen,) = wire.send([{"text": "request"}, sound])["artifacts"][0]["parts"]
    assert seen["data"]["message"]["parts"][1] == sound
    (answer,) = wire.send("audio")["artifacts"][0]["parts"]
    assert answer == {"raw": "UklGRg==", "mediaType": "audio/wav", "filename": "answer.wav"}


@pytest.mark.parametrize(
    "line",
    [
        '{"message":{}}',
        '{"message":{"parts":[]}}',
        '{"message":{"role":"ROLE_USER","parts":[{"text":"I agree"}]}}',
        '{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","message":{"role":"ROLE_USER",'
        '"parts":[{"text":"I agree"}]}}}}',
        "[]",
        "5",
        "null",
        '["a",null,null,null,null]',
    ],
)
def test_a_program_that_lies_fails_its_task_in_plain_words(wire, line):
    task = wire.send(f"write {line}")
    assert state(task) == FAILED
    reason = status_text(task)
    assert "line 1 of the program's output" in reason
    assert "struct" not in reason and "Members" not in reason
    assert [m for m in task.get("history", []) if text_of(m) == "I agree"] == []


def test_a_bare_message_is_an_answer_too(wire):
    message = wire.send("message hi there")
    assert message["role"] == "ROLE_AGENT" and text_of(message) == "hi there"
    assert message["contextId"]


def test_the_request_arrives_whole(wire):
    parts = [{"text": "request "}, {"data": {"k": [1, None]}}, {"url": "https://example.com/x"}]
    request = {
        "message": {"messageId": "m-1", "role": "ROLE_USER", "parts": parts},
        "metadata": {"why": "test"},
        "configuration": {"acceptedOutputModes": ["text/plain"]},
    }
    task = wire.call("SendMessage", request)["task"]
    (part,) = task["artifacts"][0]["parts"]
    seen = part["data"]
    assert seen["message"]["messageId"] == "m-1" and seen["message"]["parts"] == parts
    assert seen["metadata"] == {"why": "test"}
    assert seen["configuration"]["acceptedOutputModes"] == ["text/plain"]
    assert "task" not in seen, "absent on the first turn"


def test_the_context_names_earlier_tasks(wire):
    first = wire.send("echo one", contextId="a-shared-context")
    second = wire.send("context", contextId="a-shared-context")
    assert json.loads(output(second)) == [first["id"]]


def test_stderr_goes_to_the_log(wire, scripted):
    assert output(wire.send("log")) == "logged"
    eventually(lambda: "a line for the log" in scripted.log(), what="the line is in the log")


@pytest.mark.parametrize("text", ["die", "signal"])
def test_a_dying_program_fails_the_task(wire, text):
    task = wire.send(text)
    assert state(task) == FAILED
    assert status_text(task)
    if text == "die":
        assert "the made-up reason" in status_text(task)


def test_a_line_that_is_not_json_fails_the_task_and_is_named(wire):
    task = wire.send("lie")
    assert state(task) == FAILED
    assert "2" in status_text(task) and "line" in status_text(task).lower(), status_text(task)
    assert output(task) == "fine so far"


def test_an_event_after_the_end_is_not_forwarded(wire):
    events = wire.stream("break").rest()
    assert states(events)[-1] in (COMPLETED, FAILED)
    assert not artifact_updates(events)
    ended = [event for event in events if state(event) in (COMPLETED, FAILED)]
    assert len(ended) == 1


def test_an_exit_code_after_the_end_changes_nothing(wire):
    task = wire.send("finish-and-fail")
    assert state(task) == COMPLETED and status_text(task) == "done"


def test_a_silent_program_completes_when_it_exits(wire):
    task = wire.start("silent 0.3")
    with wire.subscribe(task["id"]) as feed:
        assert state(feed.rest()[-1]) == COMPLETED


def test_a_program_that_does_not_read_is_fine(wire):
    assert state(wire.send("no-read")) == COMPLETED


def test_endless_output_is_bounded_and_can_be_canceled(wire, scripted):
    with wire.stream("endless") as feed:
        task = feed.next()["task"]
        feed.until(lambda event: "artifactUpdate" in event)

    def resident() -> int:
        status = Path(f"/proc/{scripted.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])

    # Read without the strict types, which take long for so much.
    envelope = wire.envelope("CancelTask", {"id": task["id"]})
    answer = wire.http.post(wire.url, json=envelope, headers={"A2A-Version": "1.0"}).json()
    # A limit may have ended it first.
    if "error" in answer:
        assert answer["error"]["code"] == -32002, answer
    else:
        assert state(answer["result"]) == "TASK_STATE_CANCELED"
    assert resident() < 2_000_000, "kB"
    assert state(wire.send("echo still here")) == COMPLETED


def test_a_line_without_end_is_bounded(wire):
    task = wire.send("long-line 50000000")
    assert state(task) == FAILED and "line" in status_text(task).lower()


def test_cancel_reaches_the_program_and_it_may_end_politely(wire):
    with wire.stream("polite") as feed:
        task = feed.until(has_state("TASK_STATE_WORKING"))[0]["task"]
        canceled = wire.cancel(task["id"])
        events = feed.rest()
    assert state(canceled) == state(events[-1]) == "TASK_STATE_CANCELED"
    assert len([e for e in events if state(e) == "TASK_STATE_CANCELED"]) == 1


def test_a_program_that_ignores_cancel_is_killed_with_its_children(wire):
    with wire.stream("stubborn") as feed:
        task = feed.next()["task"]
        update = feed.until(lambda event: "artifactUpdate" in event)[-1]["artifactUpdate"]
        pids = [int(pid) for pid in text_of(update["artifact"]).split()]
        assert len(pids) == 2
        wire.cancel(task["id"])
        assert state(feed.rest(timeout=30)[-1]) == "TASK_STATE_CANCELED"
    for pid in pids:
        eventually(lambda pid=pid: free_pid(pid), 20, f"{pid} is gone")


def test_many_turns_leave_no_process_behind(wire, scripted):
    for number in range(20):
        assert output(wire.send(f"echo {number}")) == str(number)
    children = Path("/proc") / f"{scripted.process.pid}/task/{scripted.process.pid}/children"
    eventually(lambda: not children.read_text().split(), what="no child is left")
