"""Official clients send messages to the demo agent, over every binding."""

import base64
import uuid

from support.events import (
    artifact,
    artifact_updates,
    fold_artifacts,
    roles,
    state,
    status_text,
    text_of,
)
from support.process import eventually

ODD_TEXT = 'héllo ✓ 你好 🚀 <b>&amp; "quoted" \\ back\ttab\nline\r\n\u2028\u2029\u0085 end'


def test_a_blocking_send_returns_the_finished_task(sdk):
    task = sdk.send("echo hello")
    assert state(task) == "TASK_STATE_COMPLETED"
    assert status_text(task) == "echo: hello"
    assert text_of(artifact(task, "echo-1")) == "hello"
    assert task["status"]["timestamp"].endswith("Z")


def test_a_send_that_returns_immediately_leaves_the_task_running(sdk):
    task = sdk.start("slow 0.3")
    assert state(task) in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
    eventually(lambda: state(sdk.get(task["id"])) == "TASK_STATE_COMPLETED", what="it completes")


def test_a_streaming_send_begins_with_the_task_and_ends_with_its_end(sdk):
    events = sdk.stream("stream 3").rest()
    assert "task" in events[0]
    assert state(events[-1]) == "TASK_STATE_COMPLETED"
    updates = artifact_updates(events)
    assert [bool(update.get("append")) for update in updates] == [False, True, True]
    assert [bool(update.get("lastChunk")) for update in updates] == [False, False, True]
    assert fold_artifacts(events) == {"stream-1": "chunk 1\nchunk 2\nchunk 3\n"}


def test_a_thousand_chunks_all_arrive_in_order(sdk):
    events = sdk.stream("stream 1000").rest()
    chunks = [text_of(update["artifact"]) for update in artifact_updates(events)]
    assert chunks == [f"chunk {number}\n" for number in range(1, 1001)]
    assert state(events[-1]) == "TASK_STATE_COMPLETED"
    stored = sdk.get(events[0]["task"]["id"])
    assert text_of(artifact(stored, "stream-1")) == "".join(chunks)


def test_a_bare_message_is_the_answer_and_leaves_no_task(sdk):
    context = str(uuid.uuid4())
    message = sdk.send("message hi", contextId=context)
    assert text_of(message) == "message: hi"
    assert message["role"] == "ROLE_AGENT" and message["contextId"] == context
    assert not message.get("taskId")
    assert sdk.list(contextId=context)["tasks"] == []


def test_a_streamed_bare_message_is_the_only_event(sdk):
    events = sdk.stream("message hi").rest()
    assert [list(event) for event in events] == [["message"]]
    assert text_of(events[0]["message"]) == "message: hi"


def test_all_four_kinds_of_parts_arrive_intact(sdk):
    task = sdk.send("parts")
    assert artifact(task, "a-text")["parts"][0]["text"] == "héllo ✓"
    raw = artifact(task, "a-raw")["parts"][0]
    assert base64.b64decode(raw["raw"]) == bytes(range(256))
    assert (raw["mediaType"], raw["filename"]) == ("application/octet-stream", "all.bin")
    url = artifact(task, "a-url")["parts"][0]
    assert (url["url"], url["mediaType"], url["filename"]) == (
        "https://example.com/o.txt",
        "text/plain",
        "o.txt",
    )
    assert artifact(task, "a-data")["parts"][0]["data"] == {"k": [1, 2.5, None, True, "x"]}


def test_all_four_kinds_of_parts_of_the_user_stay_in_history(sdk):
    parts = [
        {"text": "echo parts", "metadata": {"k": ["v", 1, None]}},
        {"raw": base64.b64encode(bytes(range(256))).decode(), "mediaType": "image/png"},
        {"url": "https://example.com/i.png", "mediaType": "image/png", "filename": "i.png"},
        {"data": {"n": 3, "list": [None, False]}, "mediaType": "application/json"},
    ]
    task = sdk.send(parts, metadata={"request": True})
    kept = task["history"][0]["parts"]
    assert kept == parts


def test_text_of_every_script_comes_back_unchanged(sdk):
    task = sdk.send(f"echo {ODD_TEXT}")
    assert text_of(artifact(task, "echo-1")) == ODD_TEXT
    assert text_of(task["history"][0]) == f"echo {ODD_TEXT}"


def test_text_of_every_script_comes_back_unchanged_in_a_stream(sdk):
    events = sdk.stream(f"echo {ODD_TEXT}").rest()
    assert fold_artifacts(events) == {"echo-1": ODD_TEXT}


def test_a_question_of_the_agent_is_answered_in_the_same_task(sdk):
    asked = sdk.send("input")
    assert state(asked) == "TASK_STATE_INPUT_REQUIRED"
    assert status_text(asked) == "what else?"
    answered = sdk.send("more", taskId=asked["id"], contextId=asked["contextId"])
    assert answered["id"] == asked["id"] and answered["contextId"] == asked["contextId"]
    assert state(answered) == "TASK_STATE_COMPLETED"
    assert status_text(answered) == "got: more"
    assert roles(answered) == ["ROLE_USER", "ROLE_AGENT", "ROLE_USER"]
    texts = [text_of(message) for message in answered["history"]]
    assert texts == ["input", "what else?", "more"]


def test_a_task_id_alone_continues_the_task_in_its_context(sdk):
    asked = sdk.send("input")
    answered = sdk.send("more", taskId=asked["id"])
    assert answered["contextId"] == asked["contextId"]
    assert state(answered) == "TASK_STATE_COMPLETED"


def test_a_task_waits_for_authorization_and_goes_on(sdk):
    asked = sdk.send("auth")
    assert state(asked) == "TASK_STATE_AUTH_REQUIRED"
    assert status_text(asked)
    answered = sdk.send("signed in", taskId=asked["id"])
    assert state(answered) == "TASK_STATE_COMPLETED"
    assert status_text(answered) == "got: signed in"


def test_failed_and_rejected_tasks_are_answers_not_errors(sdk):
    failed = sdk.send("fail")
    assert state(failed) == "TASK_STATE_FAILED" and status_text(failed) == "it broke"
    rejected = sdk.send("reject")
    assert state(rejected) == "TASK_STATE_REJECTED" and status_text(rejected)


def test_a_streamed_follow_up_continues_the_task(sdk):
    asked = sdk.send("input")
    events = sdk.stream("more", taskId=asked["id"]).rest()
    assert events[0]["task"]["id"] == asked["id"]
    assert state(events[-1]) == "TASK_STATE_COMPLETED"


def test_the_clients_context_is_kept_and_a_missing_one_is_made(sdk):
    context = f"my own context/{uuid.uuid4()}"
    first = sdk.send("echo one", contextId=context)
    second = sdk.send("echo two", contextId=context)
    fresh = sdk.send("echo three")
    assert first["contextId"] == second["contextId"] == context
    assert first["id"] != second["id"]
    assert fresh["contextId"] not in ("", context)
