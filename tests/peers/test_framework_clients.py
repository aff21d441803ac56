"""Agent frameworks as clients of `nuncio serve`."""

from __future__ import annotations

import pytest

from support.frameworks import CLIENTS, Client
from support.process import free_port, serve

FILTER = """
read -r line
case "$line" in
  fail) echo broken >&2; exit 3 ;;
  lines) echo one; echo two; echo three ;;
  context) echo "$NUNCIO_CONTEXT_ID" ;;
  *) echo "exec: $line" ;;
esac
"""


@pytest.fixture(scope="module")
def agents(tmp_path_factory):
    """The demo agent and a filter, with the bindings that a card lists by default."""
    arguments = {"demo": [], "exec": ["--exec", FILTER]}
    started: dict = {}

    def start(name: str, *options: str):
        key = (name, *options)
        if key not in started:
            folder = tmp_path_factory.mktemp(name)
            listed = () if "--bindings" in options else ("--bindings", "jsonrpc,rest")
            options = (*options, *listed, *arguments[name])
            started[key] = serve(folder, "--store", "memory", *options)
        return started[key]

    yield start
    for agent in started.values():
        agent.stop()


@pytest.fixture(scope="module")
def client(agents, tmp_path_factory):
    """A framework's client of an agent, by the names of both."""
    started: dict = {}
    log = tmp_path_factory.mktemp("frameworks") / "clients.log"

    def connect(name: str, agent: str, *options: str) -> Client:
        if name == "ag2-grpc":
            options = (*options, "--bindings", "jsonrpc,grpc")
        key = (name, agent, *options)
        if key not in started:
            started[key] = Client(name, agents(agent, *options).url, log)
        return started[key]

    yield connect
    for client in started.values():
        client.close()


@pytest.fixture(params=CLIENTS)
def name(request) -> str:
    return request.param


def test_a_filter_answers(client, name):
    answer = client(name, "exec").ask("hello")
    assert (answer["error"], answer["text"].strip()) == (None, "exec: hello")


def test_a_second_message_of_a_conversation_is_answered(client, name):
    """AG2 adds data of its own to the second message, which the card does not list."""
    for text in ("one", "two", "three"):
        answer = client(name, "exec").ask(text, session="several")
        assert (answer["error"], answer["text"].strip()) == (None, f"exec: {text}")


def test_a_stream_is_whole(client, name):
    answer = client(name, "demo").ask("stream 5")
    wanted = [f"chunk {number}\n" for number in range(1, 6)]
    assert answer["error"] is None
    if name == "adk":
        # The last piece alone is an event that is not partial.
        assert answer["pieces"] + [answer["text"]] == wanted
    else:
        assert answer["text"] == "".join(wanted)


def test_several_lines_of_a_program_are_whole(client, name):
    # ADK takes the last piece of a stream for the answer; without streams it has all of it.
    options = ("--without", "streaming") if name == "adk" else ()
    answer = client(name, "exec", *options).ask("lines")
    assert (answer["error"], answer["text"]) == (None, "one\ntwo\nthree\n")


def test_a_failure_is_told(client, name):
    for agent, reason in (("demo", "it broke"), ("exec", "exit code 3")):
        answer = client(name, agent).ask("fail", session="failing")
        if name == "agent-framework-run":
            # Of a task without artifacts it shows the last message of the history, which is the user's.
            assert answer["text"] == "fail"
            continue
        told = (answer["error"] or "") + answer["text"]
        assert reason in told or "TASK_STATE_FAILED" in told, answer
        if name not in ("adk", "agent-framework"):  # They show the reason as a text.
            assert answer["error"], answer


def test_a_conversation_keeps_its_context(client, name):
    one, two, other = (
        client(name, "exec").ask("context", session=session)["text"].strip()
        for session in ("mine", "mine", "another")
    )
    # The client of Strands sends no context, so each of its messages is a conversation.
    assert one and (one == two) == (name != "strands") and two != other


def test_a_question_is_answered_on_the_same_task(client):
    """ADK shows the question as a call of a function, and sends the next text of the user to the task."""
    asking = client("adk", "demo")
    asking.ask("input", session="question")
    assert asking.ask("blue", session="question")["text"] == "got: blue"


@pytest.mark.parametrize("name", ["adk", "agent-framework", "ag2-jsonrpc", "ag2-rest", "strands"])
def test_a_token_lets_a_client_in(served, name, tmp_path):
    """AG2 also reads the extended card, which an agent with callers declares."""
    from conftest import ALICE

    agent = served("--store", "memory", "--bindings", "jsonrpc,rest", "--token", f"alice={ALICE}")
    for token, text, is_refused in ((ALICE, "message: hello", False), (None, "", True)):
        client = Client(name, agent.url, tmp_path / "clients.log", token)
        answer = client.ask("message hello")
        client.close()
        assert (answer["text"], "401" in (answer["error"] or "")) == (text, is_refused), answer


def test_adk_refuses_a_card_with_host_and_port(client):
    """The reason why the card does not list gRPC by default."""
    listed = client("adk", "exec", "--bindings", "jsonrpc,rest,grpc").ask("hello")
    assert "Agent card RPC URL" in listed["error"], listed


def test_adk_accepts_grpc_as_a_url_on_the_origin_of_the_card(tmp_path):
    port = free_port()
    agent = serve(tmp_path, "--store", "memory", "--port", str(port), "--grpc-url", f"http://127.0.0.1:{port}")
    client = Client("adk", agent.url, tmp_path / "client.log")
    try:
        assert client.ask("message hello")["text"] == "message: hello"
    finally:
        client.close()
        agent.stop()
