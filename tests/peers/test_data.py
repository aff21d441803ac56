"""Values of every kind go through unchanged, on the wire of every binding."""

import json

import pytest

from support.caller import user_message
from support.events import artifact, artifact_updates, fold_artifacts, text_of
from support.failure import refused

SEPARATORS = "line\nfeed\r\nand\u2028line\u2029paragraph\u0085next\u00a0end\x0b\x0c\x1e"


def kept_parts(wire, parts: list[dict]) -> list[dict]:
    return wire.send(parts)["history"][0]["parts"]


def test_an_empty_text_is_a_text_part(wire):
    assert kept_parts(wire, [{"text": "echo x"}, {"text": ""}])[1] == {"text": ""}


@pytest.mark.parametrize(
    "part",
    [
        {"text": "x", "raw": None, "url": None},
        {"text": "x", "data": None},
        {"text": "x", "raw": "", "url": "", "filename": "", "mediaType": ""},
        {"text": None, "url": "https://example.com/x"},
        {"raw": "AAAA", "text": "", "url": ""},
    ],
    ids=str,
)
def test_unset_members_beside_a_set_one_do_not_hide_it(http_wire, part):
    kept = kept_parts(http_wire, [{"text": "echo x"}, part])[1]
    (name,) = [key for key, value in part.items() if value not in (None, "")]
    assert kept == {name: part[name]}


@pytest.mark.parametrize(
    "part",
    [
        {"text": "x", "url": "https://example.com/x"},
        {"text": "x", "raw": "AAAA"},
        {"url": "https://example.com/x", "data": {"k": 1}},
        {"raw": "AAAA", "data": 3},
    ],
    ids=str,
)
def test_two_set_members_of_a_part_are_refused(http_wire, part):
    with refused("InvalidParams"):
        http_wire.send([part])


@pytest.mark.parametrize("part", [{}, {"mediaType": "text/plain"}, {"filename": "x"}], ids=str)
def test_a_part_without_content_is_refused(wire, part):
    with refused("InvalidParams"):
        wire.send([part])


@pytest.mark.parametrize(
    "value", [3, -1.5, "s", "", True, [], {}, [1], [None], {"k": None}, 1e300, 0.1], ids=str
)
def test_data_may_be_any_json_value(wire, value):
    kept = kept_parts(wire, [{"text": "echo x"}, {"data": value}])[1]["data"]
    assert kept == value and isinstance(kept, bool) == isinstance(value, bool)


def test_data_may_be_null(wire):
    kept = kept_parts(wire, [{"text": "echo x"}, {"data": None}])
    assert kept[1] == {"data": None}


def test_null_inside_metadata_survives(wire):
    metadata = {"none": None, "deep": {"none": None, "list": [None, 1]}}
    parts = [{"text": "echo x", "metadata": metadata}]
    message = user_message(parts, metadata=metadata)
    answer = wire.call("SendMessage", {"message": message, "metadata": metadata})
    kept = answer["task"]["history"][0]
    assert kept["metadata"] == metadata and kept["parts"][0]["metadata"] == metadata


def test_markup_and_other_scripts_are_not_escaped_away(wire):
    text = "<b>&amp;</b> \"q\" 'a' héllo 你好 🚀 \\u0041 %41"
    task = wire.send(f"echo {text}")
    assert text_of(artifact(task, "echo-1")) == text


def test_json_keeps_markup_and_other_scripts_readable(http_wire):
    http_wire.send("echo <b>&</b> ✓")
    raw = http_wire.last_response.content
    assert "<b>&</b> ✓".encode() in raw


def test_separators_in_text_come_back_intact(wire):
    assert text_of(artifact(wire.send(f"echo {SEPARATORS}"), "echo-1")) == SEPARATORS


def test_separators_in_a_stream_come_back_intact_on_one_data_line(wire):
    events = wire.stream(f"echo {SEPARATORS}").rest()
    assert fold_artifacts(events) == {"echo-1": SEPARATORS}


def test_bytes_come_back_intact_and_both_base64_alphabets_are_read(http_wire):
    parts = [{"text": "echo x"}, {"raw": "-_-_"}, {"raw": "+/+/"}, {"raw": "_w"}, {"raw": ""}]
    kept = kept_parts(http_wire, parts)
    assert [part.get("raw") for part in kept[1:]] == ["+/+/", "+/+/", "/w==", ""]


def test_a_broken_base64_is_refused(http_wire):
    with refused("InvalidParams"):
        http_wire.send([{"raw": "not base64!"}])


def test_the_old_name_of_a_role_is_read_and_not_written(http_wire):
    assert http_wire.send("echo x", role="user")["history"][0]["role"] == "ROLE_USER"


@pytest.mark.parametrize("role", ["human", "ROLE_MADE_UP", 99, "", True], ids=str)
def test_an_unknown_role_is_refused(http_wire, role):
    with refused("InvalidParams"):
        http_wire.send("echo x", role=role)


def test_enum_numbers_are_read(http_wire):
    assert http_wire.send("echo x", role=1)["history"][0]["role"] == "ROLE_USER"


def test_numbers_may_come_as_text_and_integral_floats(jsonrpc):
    assert jsonrpc.call("ListTasks", {"pageSize": "7"})["pageSize"] == 7
    assert jsonrpc.call("ListTasks", {"pageSize": 7.0})["pageSize"] == 7


def test_all_message_members_are_kept(wire):
    message = user_message(
        [{"text": "echo x", "mediaType": "text/plain", "filename": "a.txt"}],
        metadata={"k": "v"},
        extensions=["https://example.com/e/v1"],
        referenceTaskIds=["some-other-task"],
    )
    kept = wire.call("SendMessage", {"message": message})["task"]["history"][0]
    for name, value in message.items():
        assert kept[name] == value


def test_events_carry_neither_final_nor_kind(http_wire):
    for text in ("echo x", "message x", "stream 2"):
        for event in http_wire.stream(text):
            assert '"kind"' not in json.dumps(event) and '"final"' not in json.dumps(event)


def test_chunks_name_their_artifact_and_its_task(wire):
    events = wire.stream("stream 2").rest()
    task = events[0]["task"]
    for update in artifact_updates(events):
        assert (update["taskId"], update["contextId"]) == (task["id"], task["contextId"])
