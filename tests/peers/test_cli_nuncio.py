"""`nuncio` as a client of `nuncio`: what only this pair can show."""

import json

import pytest

from support.events import artifact, fold_artifacts, state, text_of


@pytest.fixture
def ask(command, nuncio, binding):
    def invoke(*arguments, **options):
        return command(
            *arguments, "-a", nuncio.url, "--transport", binding, "-o", "json", **options
        )

    return invoke


def test_every_document_goes_round(ask):
    task = ask("send", "echo hello").json["task"]
    assert text_of(artifact(task, "echo-1")) == "hello"
    assert ask("task", "get", task["id"]).json == task


def test_a_stream_of_a_thousand_chunks_is_complete(ask):
    done = ask("send", "stream 1000", "--stream")
    assert done.code == 0, done.err
    expected = "".join(f"chunk {number}\n" for number in range(1, 1001))
    assert fold_artifacts(done.lines) == {"stream-1": expected}


def test_separators_do_not_break_lines(ask):
    text = "a\u2028b\u2029c\u0085d"
    done = ask("send", f"echo {text}", "--stream")
    events = [json.loads(line) for line in done.out.split("\n") if line]
    assert fold_artifacts(events) == {"echo-1": text}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("raise", "TASK_STATE_FAILED"),
        ("panic", "TASK_STATE_FAILED"),
        ("silent 0.1", "TASK_STATE_COMPLETED"),
    ],
)
def test_hard_agents_still_end(ask, text, name):
    done = ask("send", text)
    assert done.code == 0, done.err
    assert state(done.json["task"]) == name


def test_an_agent_without_streaming_is_polled(command, served):
    agent = served("--without", "streaming")
    done = command(
        *("send", "slow 0.3", "--stream", "--poll-interval", "100ms"),
        *("-a", agent.url, "-o", "json"),
    )
    assert done.code == 0, done.err
    last = done.lines[-1]
    assert state(last) == "TASK_STATE_COMPLETED"


def test_undeclared_webhooks_are_refused_by_name(command, served):
    agent = served("--without", "push")
    task = command("send", "input", "-a", agent.url, "-o", "json").json["task"]
    done = command(
        *("task", "push-config", "create", task["id"], "--url", "https://example.com/hook"),
        *("-a", agent.url, "-o", "json"),
    )
    assert done.code == 1
    assert done.error["code"] == "PushNotificationNotSupportedError"


def test_the_extended_card_needs_a_token(command, secured):
    from conftest import ALICE

    plain = command("card", "get", "-a", secured.url, "-o", "json")
    assert plain.code == 0
    more = command("card", "get", "--extended", "-a", secured.url, "-o", "json", "--bearer", ALICE)
    assert more.code == 0, more.err
    assert len(more.json["skills"]) > len(plain.json["skills"])
    refused = command("card", "get", "--extended", "-a", secured.url, "-o", "json")
    assert refused.code == 4
