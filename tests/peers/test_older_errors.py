"""Clients of 0.3, 0.2 and 0.1 get the errors of their own version."""

import uuid

import pytest

from support.events import state
from support.failure import refused
from support.peers import OLDER, able
from support.process import serve

# What the clients make of errors that have no name of their own everywhere.
UNSUPPORTED = ("UnsupportedOperation", "InvalidParams", "InvalidRequest", "A2AClient")
INVALID = ("InvalidParams", "InvalidRequest", "A2AClient", "RequestMalformed")
PUSH = ("PushNotificationNotSupported", "UnsupportedOperation")


def unknown() -> str:
    return str(uuid.uuid4())


def test_an_unknown_task_is_not_found(older):
    for call in (older.get, older.cancel):
        with refused("TaskNotFound"):
            call(unknown())


def test_an_unknown_task_is_not_watched(older, older_name):
    # This client does not even look at the status of a stream that it did not begin.
    blind = older_name == "python03-rest"
    with refused("InvalidParams" if blind else "TaskNotFound"):
        older.subscribe(unknown()).rest()


@pytest.mark.parametrize(
    "older_name", [name for name in able("CreateTaskPushNotificationConfig") if name != "v01-jsonrpc"]
)
def test_an_unknown_task_has_no_webhooks(older):
    """In 0.1 the webhook waits for that task."""
    with refused("TaskNotFound"):
        older.create_config(unknown(), "https://example.com/hook", id="x")


@pytest.mark.parametrize("older_name", [name for name in OLDER if name != "v01-jsonrpc"])
def test_a_message_to_an_unknown_task_is_not_found(older):
    """In 0.1 it begins that task."""
    with refused("TaskNotFound"):
        older.send("echo x", taskId=unknown())
    with refused("TaskNotFound"):
        older.stream("echo x", taskId=unknown()).rest()


@pytest.mark.parametrize("older_name", [name for name in OLDER if name != "v01-jsonrpc"])
def test_a_finished_task_takes_no_message(older):
    task = older.send("echo done")
    with refused(*UNSUPPORTED):
        older.send("again", taskId=task["id"])


def test_a_finished_task_cannot_be_canceled(older):
    task = older.send("echo done")
    with refused("TaskNotCancelable"):
        older.cancel(task["id"])


@pytest.mark.parametrize("older_name", ["v01-jsonrpc"])
def test_a_finished_task_of_0_1_is_reopened(older):
    first = older.send("echo one")
    again = older.send("echo two", taskId=first["id"], contextId=first["contextId"])
    assert (again["id"], state(again)) == (first["id"], "TASK_STATE_COMPLETED")
    assert [a["parts"] for a in again["artifacts"]] == [[{"text": "two"}]]


def test_a_message_without_parts_is_refused(older):
    with refused(*INVALID):
        older.send([])


# The gRPC client of 0.2 does not send the media type of a file.
@pytest.mark.parametrize("older_name", [name for name in OLDER if name != "python02-grpc"])
def test_a_media_type_that_the_agent_does_not_take_is_refused(older):
    with refused("ContentTypeNotSupported", *INVALID):
        older.send([{"raw": "AAAA", "mediaType": "video/x-made-up"}])


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """An agent without webhooks and extended card."""
    agent = serve(tmp_path_factory.mktemp("bare"), "--without", "push,extended-card")
    yield agent
    agent.stop()


@pytest.mark.parametrize("older_name", able("CreateTaskPushNotificationConfig"))
def test_webhooks_that_are_not_declared_are_refused(bare, sdk_to, older_name):
    older = sdk_to(bare, older_name)
    task = older.send("input")
    with refused(*PUSH):
        older.create_config(task["id"], "https://example.com/hook", id="x")
    with refused(*PUSH):
        older.get_config(task["id"], "x")


@pytest.mark.parametrize("older_name", able("ListTaskPushNotificationConfigs"))
def test_webhooks_that_are_not_declared_are_not_listed(bare, sdk_to, older_name):
    older = sdk_to(bare, older_name)
    task = older.send("input")
    with refused(*PUSH):
        older.list_configs(task["id"])
    with refused(*PUSH):
        older.delete_config(task["id"], "x")
