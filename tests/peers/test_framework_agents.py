"""`nuncio` as a client of agents that are built on frameworks."""

from __future__ import annotations

import pytest

from support.frameworks import AGENTS, IN_HISTORY
from support.process import Agent


@pytest.fixture(scope="module")
def framework_agent(tmp_path_factory):
    """An agent by the name of its framework; each is started once."""
    started: dict[str, Agent] = {}

    def start(name: str) -> Agent:
        if name not in started:
            # The first import of a framework compiles its modules.
            started[name] = Agent(AGENTS[name], tmp_path_factory.mktemp(name), deadline=60)
        return started[name]

    yield start
    for agent in started.values():
        agent.stop()


@pytest.fixture(params=AGENTS)
def agent(request, framework_agent) -> Agent:
    return framework_agent(request.param)


@pytest.fixture
def name(agent) -> str:
    return next(name for name, command in AGENTS.items() if [str(it) for it in command] == agent.command)


def sent(command, agent, text: str, *options: str) -> dict:
    done = command("send", "-o", "json", "-a", agent.url, text, *options)
    assert done.code == 0, done.err
    return done.json["task"]


def text(task: dict) -> str:
    """The text of the artifacts; Strands ends it with a line break."""
    parts = [part for artifact in task.get("artifacts", []) for part in artifact["parts"]]
    return "".join(part.get("text", "") for part in parts).strip()


def test_send_and_get(command, agent):
    task = sent(command, agent, "hello big world")
    assert (task["status"]["state"], text(task)) == ("TASK_STATE_COMPLETED", "echo: hello big world")
    again = command("task", "get", task["id"], "-o", "json", "-a", agent.url)
    assert (again.code, text(again.json)) == (0, "echo: hello big world"), again.err


def test_a_stream(command, agent):
    done = command("send", "--stream", "-o", "jsonl", "-a", agent.url, "hello big world")
    assert done.code == 0, done.err
    pieces: dict[str, str] = {}
    for update in (line["artifactUpdate"] for line in done.lines if "artifactUpdate" in line):
        artifact = update["artifact"]
        piece = "".join(part.get("text", "") for part in artifact["parts"])
        before = pieces.get(artifact["artifactId"], "") if update.get("append") else ""
        pieces[artifact["artifactId"]] = before + piece
    assert [piece.strip() for piece in pieces.values()] == ["echo: hello big world"]


def test_a_failure_ends_the_command(command, agent):
    done = command("send", "--fail", "-o", "json", "-a", agent.url, "fail")
    assert done.code == 1, done
    state = (done.json.get("task") or {}).get("status", {}).get("state")
    assert state == "TASK_STATE_FAILED" or "error" in done.json, done.out


def test_a_second_message_has_the_context_of_the_first(command, agent, name):
    first = sent(command, agent, "count")
    second = sent(command, agent, "count", "--context-id", first["contextId"])
    assert second["contextId"] == first["contextId"]
    # An agent of AG2 has no memory: its clients send the history with each message. The fake model of the Agent
    # Framework is called without one.
    wanted = "turn 1" if name.startswith("ag") else "turn 2"
    assert (text(first), text(second)) == ("turn 1", wanted)


def test_an_answer_that_only_the_history_has_is_shown(command, tmp_path):
    agent = Agent(IN_HISTORY, tmp_path, deadline=60)
    try:
        done = command("send", "-a", agent.url, "hello big world")
        assert (done.code, "echo: hello big world" in done.out) == (0, True), done
    finally:
        agent.stop()


def test_the_card_is_read_and_its_faults_are_told(command, agent, name):
    done = command("card", "get", "--validate", "-a", agent.url)
    if name.startswith("ag2"):
        # AG2 leaves out what is empty, and both members are required.
        assert done.code == 1 and "skills[0].tags is missing" in done.err, done
    else:
        assert done.code == 0, done.err
