"""`nuncio` as a client of agents that are built on the official SDKs."""

import base64
import uuid

import pytest

from support.events import artifact, ends, fold_artifacts, state, states, status_text, text_of
from support.process import Command

ALIASES = {"jsonrpc": "JSONRPC", "rest": "HTTP+JSON", "grpc": "GRPC"}


@pytest.fixture
def ask(command, foreign, binding):
    """A client command on a foreign agent over one binding, with JSON output."""

    def invoke(*arguments, **options):
        return command(
            *arguments, "-a", foreign.url, "--transport", binding, "-o", "json", **options
        )

    return invoke


@pytest.fixture
def send(ask):
    """Sends; the task or the message of the single document."""

    def invoke(*arguments, **options):
        done = ask("send", *arguments, **options)
        assert done.code == 0, f"{done.out}\n{done.err}"
        answer = done.json
        assert len(answer) == 1, answer
        return next(iter(answer.values()))

    return invoke


def test_the_card_is_shown_as_served(command, foreign):
    import httpx

    done = command("card", "get", "-a", foreign.url, "-o", "json")
    assert done.code == 0, done.err
    served = httpx.get(f"{foreign.url}/.well-known/agent-card.json").json()
    assert done.json["name"] == served["name"]
    wanted = [(i["protocolBinding"], i["url"]) for i in served["supportedInterfaces"]]
    shown = [(i["protocolBinding"], i["url"]) for i in done.json["supportedInterfaces"]]
    assert shown == wanted


def test_the_card_for_callers_who_are_known_is_read(ask):
    done = ask("card", "get", "--extended")
    assert done.code == 0, f"{done.out}\n{done.err}"
    assert [skill["id"] for skill in done.json["skills"]] == ["echo", "secret"]
    public = ask("card", "get")
    assert [skill["id"] for skill in public.json["skills"]] == ["echo"]


def test_a_send_waits_and_prints_one_document(send):
    task = send("echo hello")
    assert state(task) == "TASK_STATE_COMPLETED"
    assert text_of(artifact(task, "echo-1")) == "hello"


def test_a_bare_message_is_printed_in_its_wrapper(ask):
    done = ask("send", "message hi")
    assert done.code == 0, done.err
    assert list(done.json) == ["message"]
    assert text_of(done.json["message"]) == "message: hi"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("fail", "TASK_STATE_FAILED"),
        ("reject", "TASK_STATE_REJECTED"),
        ("input", "TASK_STATE_INPUT_REQUIRED"),
        ("auth", "TASK_STATE_AUTH_REQUIRED"),
    ],
)
def test_the_state_of_the_task_does_not_change_the_exit_code(ask, text, wanted):
    done = ask("send", text)
    assert done.code == 0
    assert state(done.json["task"]) == wanted
    assert done.err.strip(), "stderr warns about an outcome that is no success"


def test_an_async_send_returns_with_both_ids(send, ask):
    task = send("slow 0.3", "--async")
    assert task["id"] and task["contextId"]
    waited = ask("task", "get", task["id"], "--wait", "--poll-interval", "100ms")
    assert waited.code == 0, waited.err
    assert state(waited.json) == "TASK_STATE_COMPLETED"


def test_a_streamed_send_prints_one_event_a_line(ask):
    done = ask("send", "stream 50", "--stream")
    assert done.code == 0, done.err
    events = done.lines
    assert all(len(event) == 1 for event in events)
    expected = "".join(f"chunk {number}\n" for number in range(1, 51))
    assert fold_artifacts(events) == {"stream-1": expected}
    assert ends(events[-1]), events[-1]


def test_a_streamed_bare_message_is_a_single_line(ask):
    done = ask("send", "message hi", "--stream")
    assert done.code == 0, done.err
    assert [list(event) for event in done.lines] == [["message"]]


def test_a_question_is_answered_in_the_same_task(send):
    asked = send("input")
    answered = send("more", "--task-id", asked["id"])
    assert answered["id"] == asked["id"]
    assert state(answered) == "TASK_STATE_COMPLETED"
    assert status_text(answered) == "got: more"


def test_task_and_context_ids_may_come_together(send):
    asked = send("auth")
    arguments = ("--task-id", asked["id"], "--context-id", asked["contextId"])
    assert status_text(send("in", *arguments)) == "got: in"


def test_a_context_id_starts_a_new_task_in_the_context(send):
    first = send("echo one")
    second = send("echo two", "--context-id", first["contextId"])
    assert second["contextId"] == first["contextId"] and second["id"] != first["id"]


def test_all_four_kinds_of_parts_are_read(send):
    task = send("parts")
    assert artifact(task, "a-text")["parts"][0]["text"] == "héllo ✓"
    raw = artifact(task, "a-raw")["parts"][0]
    assert base64.b64decode(raw["raw"]) == bytes(range(256))
    assert artifact(task, "a-url")["parts"][0]["url"] == "https://example.com/o.txt"
    assert artifact(task, "a-data")["parts"][0]["data"] == {"k": [1, 2.5, None, True, "x"]}


def test_all_kinds_of_parts_are_sent(send, tmp_path):
    (tmp_path / "a.bin").write_bytes(bytes(range(256)))
    (tmp_path / "d.json").write_text('{"k": [1, null]}')
    task = send(
        *("echo first", "--text-part", "second", "--file-part", "a.bin"),
        *("--media-type", "application/octet-stream"),
        *("--file-part", "https://example.com/x.txt", "--data-part", "d.json"),
    )
    parts = task["history"][0]["parts"]
    assert [part.get("text") for part in parts[:2]] == ["echo first", "second"]
    assert base64.b64decode(parts[2]["raw"]) == bytes(range(256))
    assert parts[2]["filename"] == "a.bin"
    assert parts[2]["mediaType"] == "application/octet-stream"
    assert parts[3]["url"] == "https://example.com/x.txt"
    assert parts[4]["data"] == {"k": [1, None]}


def test_data_may_come_from_stdin(send):
    task = send("echo x", "--data-part", "-", stdin='{"from": "stdin"}')
    assert task["history"][0]["parts"][1]["data"] == {"from": "stdin"}


def test_metadata_goes_along(send):
    assert state(send("echo x", "--metadata", '{"k": "v"}')) == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize("text", ["héllo ✓ 你好 🚀", "line\nbreak", 'q"uo\\te', "sep\u2028arator"])
def test_text_of_every_script_goes_both_ways(send, text):
    assert text_of(artifact(send(f"echo {text}"), "echo-1")) == text


def test_text_of_every_script_comes_back_in_a_stream(ask):
    text = "héllo ✓ 你好 🚀 \u2028 \u2029 \u0085 end"
    done = ask("send", f"echo {text}", "--stream")
    assert done.code == 0, done.err
    # Lines are split at LF only: the separators are content.
    import json

    events = [json.loads(line) for line in done.out.split("\n") if line]
    assert fold_artifacts(events) == {"echo-1": text}


def test_a_task_is_read(send, ask):
    task = send("echo hello")
    got = ask("task", "get", task["id"])
    assert got.code == 0, got.err
    assert got.json["id"] == task["id"] and state(got.json) == "TASK_STATE_COMPLETED"
    bare = ask("task", "get", task["id"], "--history", "0")
    assert "history" not in bare.json


def test_tasks_are_listed_with_filters_and_pages(send, ask):
    context = send("echo one")["contextId"]
    send("input", "--context-id", context)
    done = ask("task", "list", "--context", context)
    assert done.code == 0, done.err
    assert len(done.json["tasks"]) == 2
    assert done.json["nextPageToken"] == ""
    only = ask("task", "list", "--context", context, "--status", "input-required")
    assert [state(task) for task in only.json["tasks"]] == ["TASK_STATE_INPUT_REQUIRED"]
    page = ask("task", "list", "--context", context, "--limit", "1")
    assert len(page.json["tasks"]) == 1 and page.json["nextPageToken"]
    token = page.json["nextPageToken"]
    rest = ask("task", "list", "--context", context, "--limit", "1", "--page-token", token)
    assert rest.json["tasks"][0]["id"] != page.json["tasks"][0]["id"]


def test_a_running_task_is_canceled(send, ask):
    task = send("slow 30", "--async")
    done = ask("task", "cancel", task["id"])
    assert done.code == 0, done.err
    assert state(done.json) == "TASK_STATE_CANCELED"


def test_a_task_is_watched_to_its_end(send, ask, foreign, binding, tmp_path):
    task = send("slow 1.5", "--async")
    done = ask("task", "subscribe", task["id"], "--stream")
    assert done.code == 0, done.err
    assert "task" in done.lines[0]
    assert states(done.lines)[-1] == "TASK_STATE_COMPLETED"


def test_a_watch_without_stream_prints_the_final_task(send, ask):
    task = send("slow 1.5", "--async")
    done = ask("task", "subscribe", task["id"])
    assert done.code == 0, done.err
    assert done.json["id"] == task["id"] and state(done.json) == "TASK_STATE_COMPLETED"


def test_lines_are_printed_as_events_come(foreign, binding, tmp_path):
    running = Command(
        tmp_path,
        *("send", "slow 20", "--stream", "-a", foreign.url),
        *("--transport", binding, "-o", "json"),
    )
    try:
        first = next(running.documents())
        assert "task" in first and running.process.poll() is None
    finally:
        running.stop()


def test_webhooks_are_managed(send, ask, webhook):
    task = send("input")
    url = f"{webhook.url}/{uuid.uuid4()}"
    made = ask("task", "push-config", "create", task["id"], "--url", url, "--id", "mine")
    assert made.code == 0, made.err
    assert (made.json["id"], made.json["url"]) == ("mine", url)
    listed = ask("task", "push-config", "list", task["id"])
    assert [config["id"] for config in listed.json["configs"]] == ["mine"]
    got = ask("task", "push-config", "get", task["id"], "mine")
    assert got.json["url"] == url
    gone = ask("task", "push-config", "delete", task["id"], "mine")
    assert gone.code == 0, gone.err
    assert ask("task", "push-config", "get", task["id"], "mine").code == 1


def test_the_cards_names_of_the_bindings_are_taken_too(command, foreign, binding):
    arguments = ("-a", foreign.url, "--transport", ALIASES[binding], "-o", "json")
    assert state(command("send", "echo x", *arguments).json["task"]) == "TASK_STATE_COMPLETED"


def test_the_first_interface_of_the_card_is_the_default(command, foreign):
    done = command("send", "echo x", "-a", foreign.url, "-o", "json")
    assert done.code == 0 and state(done.json["task"]) == "TASK_STATE_COMPLETED"


def test_an_endpoint_is_called_without_a_card(command, foreign, binding):
    import httpx

    card = httpx.get(f"{foreign.url}/.well-known/agent-card.json").json()
    (url,) = [
        i["url"] for i in card["supportedInterfaces"] if i["protocolBinding"] == ALIASES[binding]
    ]
    done = command("send", "echo x", "-e", url, "--transport", binding, "-o", "json")
    assert done.code == 0, done.err
    assert state(done.json["task"]) == "TASK_STATE_COMPLETED"
