"""Official clients get the spec's errors, mapped to their own exceptions."""

import uuid

import pytest

from support.events import state
from support.failure import refused

URI = "https://example.com/extensions/made-up/v1"
# What the clients make of an error that has no A2A reason of its own.
INVALID = ("InvalidParams", "A2AClient", "RequestMalformed")


def unknown() -> str:
    return str(uuid.uuid4())


def test_an_unknown_task_is_not_found(sdk):
    for call in (sdk.get, sdk.cancel, sdk.subscribe, sdk.list_configs):
        with refused("TaskNotFound"):
            call(unknown())
    with refused("TaskNotFound"):
        sdk.send("echo x", taskId=unknown())
    with refused("TaskNotFound"):
        sdk.stream("echo x", taskId=unknown())
    with refused("TaskNotFound"):
        sdk.create_config(unknown(), "https://example.com/hook")


def test_a_finished_task_takes_no_message_and_no_subscriber(sdk):
    task = sdk.send("echo done")
    with refused("UnsupportedOperation"):
        sdk.send("again", taskId=task["id"])
    with refused("UnsupportedOperation"):
        sdk.stream("again", taskId=task["id"])
    with refused("UnsupportedOperation"):
        sdk.subscribe(task["id"])


def test_a_finished_task_cannot_be_canceled(sdk):
    task = sdk.send("echo done")
    with refused("TaskNotCancelable"):
        sdk.cancel(task["id"])


def test_invalid_parameters_are_refused(sdk):
    task = sdk.send("input")
    with refused(*INVALID):
        sdk.send("more", taskId=task["id"], contextId="another context")
    with refused(*INVALID):
        sdk.get(task["id"], historyLength=-1)
    with refused(*INVALID):
        sdk.list(pageSize=101)
    with refused(*INVALID):
        sdk.send([])
    assert state(sdk.get(task["id"])) == "TASK_STATE_INPUT_REQUIRED"


def test_a_media_type_that_the_agent_does_not_take_is_refused(sdk):
    with refused("ContentTypeNotSupported"):
        sdk.send([{"raw": "AAAA", "mediaType": "video/x-made-up"}])


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """An agent without streaming, webhooks and extended card."""
    from support.process import serve

    agent = serve(tmp_path_factory.mktemp("bare"), "--without", "streaming,push,extended-card")
    yield agent
    agent.stop()


def test_webhooks_that_are_not_declared_are_refused(bare, sdk_to, sdk_name):
    sdk = sdk_to(bare, sdk_name)
    task = sdk.send("input")
    for task_id in (task["id"], unknown()):
        with refused("PushNotificationNotSupported"):
            sdk.create_config(task_id, "https://example.com/hook")
        with refused("PushNotificationNotSupported"):
            sdk.get_config(task_id, "x")
        with refused("PushNotificationNotSupported"):
            sdk.list_configs(task_id)
        with refused("PushNotificationNotSupported"):
            sdk.delete_config(task_id, "x")
    with refused("PushNotificationNotSupported"):
        config = {"url": "https://example.com/hook"}
        sdk.send("echo x", configuration={"taskPushNotificationConfig": config})


def test_an_agent_without_streaming_still_answers(bare, sdk_to, sdk_name):
    assert state(sdk_to(bare, sdk_name).send("echo x")) == "TASK_STATE_COMPLETED"


@pytest.fixture(scope="module")
def demanding(tmp_path_factory):
    """An agent that requires an extension."""
    from support.process import serve

    agent = serve(tmp_path_factory.mktemp("demanding"), "--require-extension", URI)
    yield agent
    agent.stop()


def test_a_required_extension_must_be_declared(demanding, sdk_to, sdk_name):
    sdk = sdk_to(demanding, sdk_name)
    with refused("ExtensionSupportRequired"):
        sdk.send("echo x")
    task = sdk.send("echo x", options={"headers": {"A2A-Extensions": URI}})
    assert state(task) == "TASK_STATE_COMPLETED"
