"""Clients of 0.3, 0.2 and 0.1 send messages to the demo agent; what they get has its form of 1.0."""

import base64
import uuid

import pytest

from support.events import (
    artifact,
    artifact_updates,
    fold_artifacts,
    roles,
    state,
    status_text,
    text_of,
)
from support.peers import BYTES_ARE_BASE64, OLDER
from support.process import eventually

ODD_TEXT = 'héllo ✓ 你好 🚀 <b>&amp; "quoted" \\ back\ttab\nline\r\n\u2028\u2029\u0085 end'
V01 = "v01-jsonrpc"
SDKS = [name for name in OLDER if name != V01]
# What these clients do by themselves: drop `append` where they read an event,
DROP_APPEND = ("js03-rest", "js03-grpc", "jscompat-rest", "jscompat-grpc")
# take every answer for a task, know six states and no media types,
BARE = ("python02-grpc",)
# and read null as 0.
NULL_IS_ZERO = ("js03-grpc",)
# 0.1 tells artifacts apart by number.
FIRST = "0"


def first_artifact(caller, name: str) -> str:
    return FIRST if caller.name == "v01" else name


def test_a_blocking_send_returns_the_finished_task(older):
    task = older.send("echo hello")
    assert state(task) == "TASK_STATE_COMPLETED"
    assert status_text(task) == "echo: hello"
    assert text_of(artifact(task, first_artifact(older, "echo-1"))) == "hello"
    assert task["contextId"]


@pytest.mark.parametrize("older_name", SDKS)
def test_a_send_that_does_not_block_leaves_the_task_running(older):
    task = older.start("slow 0.3")
    assert state(task) in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
    eventually(lambda: state(older.get(task["id"])) == "TASK_STATE_COMPLETED", what="it completes")


def test_a_streamed_send_brings_every_chunk_in_order(older, older_name):
    events = older.stream("stream 200").rest()
    chunks = [text_of(update["artifact"]) for update in artifact_updates(events)]
    assert chunks == [f"chunk {number}\n" for number in range(1, 201)]
    if older_name not in DROP_APPEND:
        assert fold_artifacts(events) == {first_artifact(older, "stream-1"): "".join(chunks)}
    assert bool(artifact_updates(events)[-1].get("lastChunk"))
    assert state(events[-1]) == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize("older_name", [name for name in SDKS if name not in BARE])
def test_a_bare_message_is_the_answer(older):
    context = str(uuid.uuid4())
    message = older.send("message hi", contextId=context)
    assert (text_of(message), message["role"]) == ("message: hi", "ROLE_AGENT")
    assert message["contextId"] == context
    events = older.stream("message hi").rest()
    assert [list(event) for event in events] == [["message"]]
    assert text_of(events[0]["message"]) == "message: hi"


@pytest.mark.parametrize("older_name", [V01])
def test_a_bare_message_is_a_finished_task_in_0_1(older):
    task = older.send("message hi")
    assert state(task) == "TASK_STATE_COMPLETED" and status_text(task) == "message: hi"
    events = older.stream("message hi").rest()
    assert state(events[-1]) == "TASK_STATE_COMPLETED"
    assert text_of(events[-1]["statusUpdate"]["status"]["message"]) == "message: hi"


def test_a_question_of_the_agent_is_answered_in_the_same_task(older):
    asked = older.send("input")
    assert state(asked) == "TASK_STATE_INPUT_REQUIRED"
    assert status_text(asked) == "what else?"
    more = {"taskId": asked["id"], "contextId": asked["contextId"]}
    answered = older.send("more", configuration={"historyLength": 10}, **more)
    assert (answered["id"], answered["contextId"]) == (asked["id"], asked["contextId"])
    assert state(answered) == "TASK_STATE_COMPLETED" and status_text(answered) == "got: more"
    assert roles(answered) == ["ROLE_USER", "ROLE_AGENT", "ROLE_USER"]
    assert [text_of(m) for m in answered["history"]] == ["input", "what else?", "more"]


def test_a_streamed_question_ends_the_stream_and_its_answer_goes_on(older):
    asked = older.stream("input").rest()
    assert state(asked[-1]) == "TASK_STATE_INPUT_REQUIRED"
    (update,) = [e["statusUpdate"] for e in asked if "statusUpdate" in e][-1:]
    events = older.stream("more", taskId=update["taskId"]).rest()
    assert state(events[-1]) == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize(
    ("text", "wanted", "in_0_1", "said"),
    [
        ("fail", "FAILED", "FAILED", "it broke"),
        ("reject", "REJECTED", "FAILED", None),
        ("auth", "AUTH_REQUIRED", "INPUT_REQUIRED", None),
    ],
)
@pytest.mark.parametrize("older_name", [name for name in OLDER if name not in BARE])
def test_other_ends_are_answers_not_errors(older, text, wanted, in_0_1, said):
    task = older.send(text)
    assert state(task) == f"TASK_STATE_{in_0_1 if older.name == 'v01' else wanted}"
    assert status_text(task) and said in (None, status_text(task))


def test_all_four_kinds_of_parts_arrive_intact(older, older_name):
    task = older.send("parts")
    names = ["a-text", "a-raw", "a-url", "a-data"]
    if older.name == "v01":
        names = ["0", "1", "2", "3"]
    text, raw, url, data = (artifact(task, name)["parts"][0] for name in names)
    assert text["text"] == "héllo ✓"
    assert base64.b64decode(raw["raw"]) == bytes(range(256))
    assert url["url"] == "https://example.com/o.txt"
    if older_name != "python02-grpc":  # It reads no media type of a file that has a URL.
        assert url["mediaType"] == "text/plain"
    null = 0 if older_name in NULL_IS_ZERO else None
    assert data["data"] == {"k": [1, 2.5, null, True, "x"]}


@pytest.mark.parametrize("older_name", [name for name in OLDER if name not in BARE])
def test_all_four_kinds_of_parts_of_the_user_stay_in_history(older):
    parts = [
        {"text": "echo parts"},
        {"raw": base64.b64encode(bytes(range(256))).decode(), "mediaType": "image/png"},
        {"url": "https://example.com/i.png", "mediaType": "image/png"},
        {"data": {"n": 3, "list": [False, "x"]}},
    ]
    task = older.send(parts, configuration={"historyLength": 10})
    assert task["history"][0]["parts"] == parts


@pytest.mark.parametrize("older_name", [n for n in OLDER if "python" in n])
@pytest.mark.parametrize("server", ["nuncio", "base64_nuncio"])
def test_who_sends_base64_for_files_gets_them_so(request, server, sdk_to, older_name):
    server = request.getfixturevalue(server)
    older = sdk_to(server, older_name)
    every_byte = base64.b64encode(bytes(range(256))).decode()
    assert artifact(older.send("parts"), "a-raw")["parts"][0]["raw"] == every_byte
    streamed = artifact_updates(older.stream("parts").rest())
    raws = [part["raw"] for u in streamed for part in u["artifact"]["parts"] if "raw" in part]
    assert raws == [every_byte]
    if older_name in BARE:
        return
    parts = [
        {"text": "echo parts"},
        {"raw": every_byte, "mediaType": "application/octet-stream"},
        {"raw": base64.b64encode(b"iVBORw0KGgo=").decode(), "mediaType": "text/plain"},
    ]
    task = older.send(parts, configuration={"historyLength": 10})
    assert task["history"][0]["parts"] == parts
    # What the server keeps is what was meant.
    kept = sdk_to(server, "python-jsonrpc").get(task["id"])
    assert kept["history"][0]["parts"] == parts


@pytest.mark.parametrize("older_name", [n for n in BYTES_ARE_BASE64 if n not in BARE])
@pytest.mark.parametrize("reader", ["js-rest", "js03-rest", "js03-grpc"])
def test_a_file_of_a_python_client_reaches_a_client_of_js(nuncio, sdk_to, older_name, reader):
    every_byte = base64.b64encode(bytes(range(256))).decode()
    parts = [{"text": "parts"}, {"raw": every_byte, "mediaType": "application/octet-stream"}]
    task = sdk_to(nuncio, older_name).send(parts)
    kept = sdk_to(nuncio, reader).get(task["id"], historyLength=10)
    (raw,) = artifact(kept, "a-raw")["parts"]
    assert raw["raw"] == kept["history"][0]["parts"][1]["raw"] == every_byte


def test_text_of_every_script_comes_back_unchanged(older):
    task = older.send(f"echo {ODD_TEXT}")
    assert text_of(artifact(task, first_artifact(older, "echo-1"))) == ODD_TEXT
    events = older.stream(f"echo {ODD_TEXT}").rest()
    assert list(fold_artifacts(events).values()) == [ODD_TEXT]


def test_the_clients_context_is_kept_and_a_missing_one_is_made(older):
    context = f"my own context/{uuid.uuid4()}"
    first, second = (older.send("echo x", contextId=context) for _ in range(2))
    assert first["contextId"] == second["contextId"] == context
    assert first["id"] != second["id"]
    assert older.send("echo x")["contextId"] not in ("", context)
