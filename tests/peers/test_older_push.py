"""Webhooks that clients of 0.3, 0.2 and 0.1 register are called in that version."""

import uuid

import pytest

from support import v01, v03
from support.events import state
from support.failure import refused
from support.peers import able, wire_version
from support.process import serve


@pytest.fixture
def path(older_name) -> str:
    return f"/{older_name}/{uuid.uuid4()}"


def read(version: str, document: dict) -> dict:
    """The body of a delivery, which must be of this version, in the form of 1.0."""
    if version == "0.1":
        v01.check(document, "Task")
        return {"task": v01.task_up(document)}
    return v03.event(document)


def ended(version: str):
    return lambda documents: state(read(version, documents[-1])) == "TASK_STATE_COMPLETED"


def check_deliveries(deliveries: list, version: str, token: str | None = None) -> list[dict]:
    for delivery in deliveries:
        assert delivery.headers["content-type"].split(";")[0] == "application/json"
        assert delivery.headers.get("x-a2a-notification-token") == token
    return [read(version, delivery.document) for delivery in deliveries]


def test_a_webhook_in_the_message_is_called_in_its_version(older, older_name, webhook, path):
    version = wire_version(older_name)
    config = {"url": webhook.url + path, "token": "made-up-token"}
    older.send("echo hooked", configuration={"taskPushNotificationConfig": config})
    deliveries = webhook.wait_until(path, ended(version))
    last = check_deliveries(deliveries, version, "made-up-token")[-1]
    if "task" in last:
        assert [a["parts"] for a in last["task"]["artifacts"]] == [[{"text": "hooked"}]]


@pytest.mark.parametrize("older_name", able("CreateTaskPushNotificationConfig"))
def test_a_webhook_set_later_hears_what_follows(older, older_name, webhook, path):
    version = wire_version(older_name)
    task = older.send("input")
    older.create_config(task["id"], webhook.url + path, id="mine")
    older.send("more", taskId=task["id"])
    events = check_deliveries(webhook.wait_until(path, ended(version)), version)
    for event in events:
        body = next(iter(event.values()))
        assert body.get("taskId", body.get("id")) == task["id"]


@pytest.mark.parametrize("older_name", able("CreateTaskPushNotificationConfig"))
def test_a_webhook_is_set_and_read(older, webhook, path):
    task = older.send("input")
    url = webhook.url + path
    made = older.create_config(
        task["id"],
        url,
        id="mine",
        token="t-1",
        authentication={"scheme": "Bearer", "credentials": "made-up-credentials"},
    )
    assert (made["taskId"], made["url"]) == (task["id"], url)
    got = older.get_config(task["id"], "mine")
    assert (got["taskId"], got["url"]) == (task["id"], url)
    assert got["authentication"]["scheme"] == "Bearer"


@pytest.mark.parametrize(
    "older_name", able("ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig")
)
def test_webhooks_are_listed_and_deleted(older, webhook, path):
    task = older.send("input")
    for name in ("one", "two"):
        older.create_config(task["id"], f"{webhook.url}{path}/{name}", id=name)
    assert {config["id"] for config in older.list_configs(task["id"])} == {"one", "two"}
    older.delete_config(task["id"], "one")
    assert [config["id"] for config in older.list_configs(task["id"])] == ["two"]
    with refused("TaskNotFound"):
        older.get_config(task["id"], "one")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """An agent that may not call webhooks on private addresses."""
    agent = serve(tmp_path_factory.mktemp("guarded"), "--store", "memory")
    yield agent
    agent.stop()


@pytest.mark.parametrize("older_name", able("CreateTaskPushNotificationConfig"))
def test_a_private_address_is_refused(guarded, sdk_to, older_name):
    older = sdk_to(guarded, older_name)
    task = older.send("input")
    with refused("InvalidParams", "InvalidRequest", "A2AClient", "RequestMalformed"):
        older.create_config(task["id"], "http://127.0.0.1:9/hook", id="x")
