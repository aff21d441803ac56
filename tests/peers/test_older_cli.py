"""`nuncio` as a client of agents that speak 0.3, 0.2 and 0.1, each over every binding it has."""

import base64
import uuid

import pytest

from support.events import ends, fold_artifacts, state, status_text, text_of
from support.peers import BYTES_ARE_BASE64, OLDER, OLDER_SDKS, WIRES

# The agents of 0.2 answer a send when they are through.
ASYNC = [name for name in OLDER if name.split("-")[0] not in ("python02", "python020")]
# Over gRPC the agent on the Python SDK 0.2 breaks where a webhook is set, and finds no task to read.
READS = [name for name in OLDER if name != "python02-grpc"]
# Over gRPC the agent on the JavaScript SDK 0.3 cannot say null.
NULLS = [name for name in OLDER if name != "js03-grpc"]
# The agents that raise an exception when they are told to, and whose SDK leaves the task as it was.
RAISE = [name for name in OLDER if name in ("python03-jsonrpc", "python03-rest", "python02-jsonrpc")]
DONE = "TASK_STATE_COMPLETED"
VERSIONS = {"python02": "0.2", "python020": "0.2", "v01": "0.1"}


@pytest.fixture
def peer(older_agent, older_name):
    return older_agent(older_name.split("-")[0])


@pytest.fixture
def ask(command, peer, older_name):
    """A client command on an older agent over one binding, with JSON output."""

    def invoke(*arguments, **options):
        transport = ("--transport", older_name.split("-")[1])
        return command(*arguments, "-a", peer.url, *transport, "-o", "json", **options)

    return invoke


@pytest.fixture
def send(ask):
    """Sends; the task or the message of the single document."""

    def invoke(*arguments, **options):
        done = ask("send", *arguments, **options)
        assert done.code == 0, f"{done.out}\n{done.err}"
        (answer,) = done.json.values()
        return answer

    return invoke


def only_artifact(task: dict) -> dict:
    (found,) = task["artifacts"]
    return found


def test_a_send_waits_and_prints_the_task_of_1_0(send):
    task = send("echo hello")
    assert state(task) == "TASK_STATE_COMPLETED" and status_text(task) == "echo: hello"
    assert text_of(only_artifact(task)) == "hello"


def test_a_streamed_send_prints_events_of_1_0(ask):
    done = ask("send", "stream 50", "--stream")
    assert done.code == 0, done.err
    expected = "".join(f"chunk {number}\n" for number in range(1, 51))
    assert list(fold_artifacts(done.lines).values()) == [expected]
    assert all(len(event) == 1 for event in done.lines) and "task" in done.lines[0]
    assert ends(done.lines[-1]), done.lines[-1]


@pytest.mark.parametrize("older_name", [n for n in OLDER if n != "v01-jsonrpc"])
def test_a_bare_message_is_printed_in_its_wrapper(ask):
    for options in ((), ("--stream",)):
        done = ask("send", "message hi", *options)
        assert done.code == 0, done.err
        assert text_of(done.lines[-1]["message"] if options else done.json["message"]) == (
            "message: hi"
        )


def test_a_failed_task_is_an_answer(send):
    task = send("fail")
    assert state(task) == "TASK_STATE_FAILED" and status_text(task) == "it broke"


@pytest.mark.parametrize("older_name", RAISE)
def test_the_error_of_an_agent_that_raises_is_told_at_once(ask, older_name):
    done = ask("send", "raise", "--timeout", "10s")
    assert done.code == 1, f"{done.out}\n{done.err}"
    error = done.json["error"]
    assert error["code"] == "InternalError", error
    assert "rest" in older_name or error["message"] == "the model is not there"


@pytest.mark.parametrize("older_name", RAISE)
def test_the_stream_of_an_agent_that_raises_ends(ask):
    done = ask("send", "raise", "--stream", "--timeout", "28s")
    assert done.code == 1, f"{done.out}\n{done.err}"
    error = done.lines[-1]["error"]
    assert error["code"] == "InvalidAgentResponseError" and "given up task" in error["message"]
    assert "nuncio task get" in error["hint"]


@pytest.mark.parametrize("older_name", ["python03-rest"])
def test_a_task_that_is_not_there_is_told_from_a_method_that_is_not(ask):
    done = ask("send", "x", "--task-id", "nope")
    assert done.code == 1 and done.json["error"]["code"] == "TaskNotFoundError", done.out


def test_a_question_is_answered_in_the_same_task(send):
    asked = send("input")
    assert state(asked) == "TASK_STATE_INPUT_REQUIRED" and status_text(asked) == "what else?"
    answered = send("more", "--task-id", asked["id"], "--context-id", asked["contextId"])
    assert answered["id"] == asked["id"]
    assert state(answered) == "TASK_STATE_COMPLETED" and status_text(answered) == "got: more"


@pytest.fixture
def form(older_name):
    """What a user says where the agent wants base64 for the bytes of files."""
    return ("--file-bytes", "base64") if older_name in BYTES_ARE_BASE64 else ()


@pytest.mark.parametrize("older_name", NULLS)
def test_all_four_kinds_of_parts_are_read(send, form):
    task = send("parts", *form)
    text, raw, url, data = (artifact["parts"][0] for artifact in task["artifacts"])
    assert text["text"] == "héllo ✓"
    assert base64.b64decode(raw["raw"]) == bytes(range(256))
    assert url["url"] == "https://example.com/o.txt"
    assert data["data"] == {"k": [1, 2.5, None, True, "x"]}


@pytest.mark.parametrize("older_name", READS)
def test_all_kinds_of_parts_are_sent(send, ask, form, tmp_path):
    content = bytes(range(256))
    (tmp_path / "a.bin").write_bytes(content)
    (tmp_path / "d.json").write_text('{"k": [1, "x"]}')
    sent = send(
        *("echo first", "--text-part", "second", "--file-part", "a.bin"),
        *("--media-type", "application/octet-stream"),
        *("--file-part", "https://example.com/x.txt", "--data-part", "d.json"),
        *form,
    )
    task = ask("task", "get", sent["id"], "--history", "10", *form).json
    parts = task["history"][0]["parts"]
    assert [part.get("text") for part in parts[:2]] == ["echo first", "second"]
    assert base64.b64decode(parts[2]["raw"]) == content
    assert parts[3]["url"] == "https://example.com/x.txt"
    assert parts[4]["data"] == {"k": [1, "x"]}


@pytest.mark.parametrize("older_name", READS)
def test_a_task_is_read(send, ask):
    task = send("echo hello")
    got = ask("task", "get", task["id"])
    assert got.code == 0, got.err
    assert got.json["id"] == task["id"] and state(got.json) == "TASK_STATE_COMPLETED"
    assert "history" not in ask("task", "get", task["id"], "--history", "0").json


def test_an_unknown_task_is_the_error_of_1_0(ask):
    done = ask("task", "get", str(uuid.uuid4()))
    assert done.code == 1 and "TaskNotFoundError" in done.out + done.err, done


@pytest.mark.parametrize("older_name", ASYNC)
def test_a_running_task_is_watched_and_canceled(send, ask):
    watched = send("slow 1.5", "--async")
    done = ask("task", "subscribe", watched["id"], "--stream")
    assert done.code == 0, done.err
    assert "task" in done.lines[0] and state(done.lines[-1]) == "TASK_STATE_COMPLETED"
    canceled = ask("task", "cancel", send("slow 30", "--async")["id"])
    assert canceled.code == 0, canceled.err
    assert state(canceled.json) == "TASK_STATE_CANCELED"


@pytest.mark.parametrize("older_name", READS)
def test_a_webhook_is_set_and_read(send, ask, webhook):
    task = send("input")
    url = f"{webhook.url}/{uuid.uuid4()}"
    made = ask("task", "push-config", "create", task["id"], "--url", url, "--id", "mine")
    assert made.code == 0, made.err
    assert made.json["url"] == url
    got = ask("task", "push-config", "get", task["id"], "mine")
    assert got.code == 0 and got.json["url"] == url, got.err


def test_a_pinned_version_is_spoken_and_no_other(ask, older_name):
    version = VERSIONS.get(older_name.split("-")[0], "0.3")
    for arguments in (("send", "echo hello"), ("send", "stream 3", "--stream")):
        done = ask(*arguments, "--a2a-version", version, "--debug")
        assert done.code == 0, done.err
        assert state(done.lines[-1] if "--stream" in arguments else done.json["task"]) == DONE
        assert f'version="{version}"' in done.err
        assert ask(*arguments, "--a2a-version", "1.0").code == 1


SPOKEN = [
    *(("0.3", binding) for binding in WIRES),
    *(("0.2", binding) for binding in WIRES),
    ("0.1", "jsonrpc"),
]


@pytest.mark.parametrize(("version", "binding"), SPOKEN)
def test_nuncio_speaks_each_version_to_itself(command, nuncio, version, binding):
    def ask(*arguments):
        choice = ("--transport", binding, "--a2a-version", version)
        done = command(*arguments, "-a", nuncio.url, *choice, "-o", "json")
        assert done.code == 0, f"{done.out}\n{done.err}"
        return done

    parts = ask("send", "parts").json["task"]["artifacts"]
    assert base64.b64decode(parts[1]["parts"][0]["raw"]) == bytes(range(256))
    streamed = ask("send", "stream 20", "--stream").lines
    expected = "".join(f"chunk {number}\n" for number in range(1, 21))
    assert list(fold_artifacts(streamed).values()) == [expected]
    asked = ask("send", "input").json["task"]
    assert state(ask("task", "get", asked["id"]).json) == "TASK_STATE_INPUT_REQUIRED"
    answered = ask("send", "more", "--task-id", asked["id"]).json["task"]
    assert (answered["id"], status_text(answered)) == (asked["id"], "got: more")
    canceled = ask("task", "cancel", ask("send", "input").json["task"]["id"]).json
    assert state(canceled) == "TASK_STATE_CANCELED"


@pytest.mark.parametrize("sdk", OLDER_SDKS)
def test_the_card_is_shown_with_every_interface(command, older_agent, sdk):
    done = command("card", "get", "-a", older_agent(sdk).url)
    assert done.code == 0, done.err
    names = {"jsonrpc": "JSONRPC", "rest": "HTTP+JSON", "grpc": "GRPC"}
    for binding in OLDER_SDKS[sdk]:
        assert names[binding] in done.out, done.out


@pytest.mark.parametrize("sdk", OLDER_SDKS)
def test_the_card_alone_chooses_binding_and_version(command, older_agent, sdk):
    done = command("send", "echo hello", "-a", older_agent(sdk).url, "-o", "json")
    assert done.code == 0, done.err
    assert state(done.json["task"]) == "TASK_STATE_COMPLETED"
