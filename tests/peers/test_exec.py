"""Any filter as an agent: `nuncio serve --exec -- COMMAND`."""

import json
import time

import httpx
import pytest

from support.events import artifact_updates, fold_artifacts, state, status_text, text_of
from support.failure import refused
from support.process import eventually, free_pid, run

COMPLETED, FAILED = "TASK_STATE_COMPLETED", "TASK_STATE_FAILED"


def output(task: dict) -> str:
    (only,) = task["artifacts"]
    return text_of(only)


@pytest.fixture
def program(served, wire_to):
    """The wire of an agent that runs a command."""

    def start(*command: str, options: tuple = (), binding: str = "jsonrpc"):
        return wire_to(served("--store", "memory", *options, "--exec", "--", *command), binding)

    return start


def test_a_filter_answers_with_its_output(program, binding):
    wire = program("wc", "-w", binding=binding)
    task = wire.send("one two three")
    assert state(task) == COMPLETED
    assert output(task).strip() == "3"


def test_text_goes_in_and_out_byte_for_byte(program):
    text = "héllo ✓\n\ttab\u2028 end\n"
    task = program("cat").send(text)
    assert output(task) == text


def test_the_last_line_has_a_line_break(program):
    task = program("sh", "-c", 'while read -r line; do echo "got $line"; done').send("one\ntwo")
    assert output(task) == "got one\ngot two\n"


def test_output_is_streamed_line_by_line(program):
    script = 'for i in 1 2 3; do echo "line $i"; sleep 0.2; done'
    with program("sh", "-c", script).stream("go") as feed:
        first = feed.until(lambda event: "artifactUpdate" in event)[-1]
        begin = time.monotonic()
        events = [first, *feed.rest()]
        later = time.monotonic() - begin
    assert text_of(first["artifactUpdate"]["artifact"]) == "line 1\n"
    assert later > 0.3, "the first line came only at the end"
    assert fold_artifacts(events) and "".join(fold_artifacts(events).values()) == (
        "line 1\nline 2\nline 3\n"
    )
    flags = [bool(update.get("append")) for update in artifact_updates(events)]
    assert flags[0] is False and all(flags[1:])
    assert state(events[-1]) == COMPLETED


def test_a_delimiter_cuts_the_output(program):
    wire = program("printf", "a--b--c", options=("--chunk=--",))
    events = wire.stream("go").rest()
    pieces = [text_of(u["artifact"]) for u in artifact_updates(events) if text_of(u["artifact"])]
    assert len(pieces) == 3
    assert [piece.removesuffix("--") for piece in pieces] == ["a", "b", "c"]


def test_a_command_that_fails_fails_the_task(program):
    task = program("false").send("x")
    assert state(task) == FAILED and status_text(task)


def test_the_last_lines_of_stderr_are_the_reason(program):
    script = "echo part; echo 'the made-up reason' >&2; exit 7"
    task = program("sh", "-c", script).send("x")
    assert state(task) == FAILED
    assert "the made-up reason" in status_text(task)
    assert output(task) == "part\n"


def test_a_command_killed_by_a_signal_fails_the_task(program):
    task = program("sh", "-c", "kill -9 $$").send("x")
    assert state(task) == FAILED and status_text(task)


def test_a_command_that_is_not_there_is_an_error(served, wire_to, tmp_path):
    """At the start, or at the first task: never a hang, never a panic."""
    done = None
    try:
        agent = served("--exec", "--", "no-such-command-made-up")
    except AssertionError as error:
        done = str(error)
        assert "no-such-command-made-up" in done and "panicked" not in done
    else:
        task = wire_to(agent, "jsonrpc").send("x")
        assert state(task) == FAILED and status_text(task)


def test_a_command_that_does_not_read_its_input_is_fine(program):
    task = program("echo", "hi").send("x" * 2_000_000)
    assert state(task) == COMPLETED and output(task) == "hi\n"


def test_big_input_and_output_do_not_lock_each_other(program):
    text = ("0123456789abcde" * 10 + "\n") * 20_000
    assert output(program("cat").send(text)) == text


def test_bytes_that_are_no_text_do_no_harm(program):
    task = program("printf", r"\377\376ok").send("x")
    assert state(task) in (COMPLETED, FAILED)
    assert state(program("cat").send("still here")) == COMPLETED


def test_no_output_is_a_completed_task(program):
    task = program("true").send("x")
    assert state(task) == COMPLETED


def test_cancel_ends_the_command_and_its_children(program, tmp_path):
    script = f"sleep 300 & echo $! > {tmp_path}/child; echo $$ > {tmp_path}/parent; echo on; wait"
    wire = program("sh", "-c", script)
    with wire.stream("x") as feed:
        task = feed.next()["task"]
        feed.until(lambda event: "artifactUpdate" in event)
        assert state(wire.cancel(task["id"])) == "TASK_STATE_CANCELED"
        assert state(feed.rest()[-1]) == "TASK_STATE_CANCELED"
    for name in ("child", "parent"):
        pid = int((tmp_path / name).read_text())
        eventually(lambda pid=pid: free_pid(pid), 15, f"{name} {pid} is gone")


def test_stopping_the_agent_ends_its_commands(served, wire_to, tmp_path):
    script = f"echo $$ > {tmp_path}/pid; exec sleep 300"
    agent = served("--drain", "1s", "--exec", "--", "sh", "-c", script)
    wire_to(agent, "rest").start("x")
    pid = int(eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text()))
    agent.stop()
    eventually(lambda: free_pid(pid), 15, "the command is gone")


def test_two_turns_run_two_commands(program):
    wire = program("cat")
    one, two = wire.send("one"), wire.send("two")
    assert (output(one), output(two)) == ("one\n", "two\n")
    with refused("UnsupportedOperation"):
        wire.send("three", taskId=one["id"])


def test_words_of_the_message_are_never_a_command(program, tmp_path):
    bait = tmp_path / "bait"
    program("cat").send(f"$(touch {bait}); touch {bait} `touch {bait}`")
    assert not bait.exists()


def test_exec_and_jsonl_together_are_a_usage_error(tmp_path):
    done = run(tmp_path, "serve", "--port", "0", "--exec", "--jsonl", "--", "cat", timeout=10)
    assert done.code == 2
    done = run(tmp_path, "serve", "--port", "0", "--exec", timeout=10)
    assert done.code == 2


def test_the_card_of_a_program_is_complete(served):
    agent = served("--name", "Word count", "--exec", "--", "wc", "-w")
    card = httpx.get(f"{agent.url}/.well-known/agent-card.json").json()
    assert card["name"] == "Word count" and card["capabilities"]["streaming"] is True
    assert json.dumps(card)
