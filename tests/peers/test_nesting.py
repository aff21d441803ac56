"""How deep data may nest: what came in over one binding, standard protobuf reads over another.

Their readers stop at a hundred messages within one another; an object is three of them.
"""

import pytest

from support.caller import user_message
from support.events import artifact, state, status_text
from support.failure import refused
from support.peers import OLDER

DEEPEST = 30


def nested(levels: int) -> dict:
    value: object = "x"
    for _ in range(levels):
        value = {"k": value}
    return value


def deep_message(levels: int, **members) -> dict:
    value = nested(levels)
    parts = [{"text": "echo x"}, {"data": value, "metadata": value}]
    return user_message(parts, metadata=value, **members)


@pytest.mark.parametrize("sdk", ["python", "js"])
def test_the_deepest_data_of_a_client_is_read_over_grpc(nuncio, wire, sdk_to, sdk):
    message = deep_message(DEEPEST)
    sent = wire.call("SendMessage", {"message": message, "metadata": nested(DEEPEST)})["task"]
    reader = sdk_to(nuncio, f"{sdk}-grpc")
    read = reader.get(sent["id"], historyLength=10)["history"][0]
    (listed,) = reader.list(contextId=sent["contextId"], historyLength=10)["tasks"]
    for kept in (read, listed["history"][0]):
        assert kept["parts"] == message["parts"] and kept["metadata"] == message["metadata"]


def test_one_level_more_of_a_client_is_refused(wire):
    with refused("InvalidParams") as refusal:
        wire.call("SendMessage", {"message": deep_message(DEEPEST + 1)})
    wrong = ["message.parts[1].data", "message.parts[1].metadata", "message.metadata"]
    assert refusal.failure.fields == wrong


@pytest.mark.parametrize("older_name", OLDER)
def test_one_level_more_of_an_older_client_is_refused(older):
    # The last is what the JavaScript SDK of 1.0 calls it in its 0.3 mode.
    with refused("InvalidParams", "RequestMalformed"):
        older.send([{"text": "echo x"}, {"data": nested(DEEPEST + 1)}])


READERS = ["python-grpc", "js-grpc", "python-jsonrpc", "js-rest", "python03-grpc", "js03-grpc"]


@pytest.mark.parametrize("reader_name", READERS)
def test_the_deepest_data_of_an_agent_is_read(scripted, sdk_to, reader_name):
    reader = sdk_to(scripted, reader_name)
    value = nested(DEEPEST)
    sent = reader.send(f"deep {DEEPEST}")
    tasks = [sent, reader.get(sent["id"])]
    if reader_name.split("-")[0] in ("python", "js"):
        tasks += reader.list(contextId=sent["contextId"], includeArtifacts=True)["tasks"]
    for task in tasks:
        assert state(task) == "TASK_STATE_COMPLETED", status_text(task)
        for holder in (task["status"]["message"], artifact(task, "deep")):
            (part,) = holder["parts"]
            assert part["data"] == value and holder["metadata"] == value
    events = reader.stream(f"deep {DEEPEST}").rest()
    assert state(events[-1]) == "TASK_STATE_COMPLETED"


def test_one_level_more_of_an_agent_fails_its_task(scripted, wire_to, binding):
    task = wire_to(scripted, binding).send(f"deep {DEEPEST + 1}")
    assert state(task) == "TASK_STATE_FAILED" and "(nesting)" in status_text(task)
    assert not task.get("artifacts")
