"""Official clients register webhooks; the demo agent really calls them."""

import uuid

import pytest

from support.events import artifact_updates, fold_artifacts, states
from support.failure import refused


@pytest.fixture
def path(sdk_name) -> str:
    return f"/{sdk_name}/{uuid.uuid4()}"


def ended(documents: list[dict]) -> bool:
    return states(documents)[-1:] == ["TASK_STATE_COMPLETED"]


def test_a_webhook_is_created_read_listed_and_deleted(sdk, webhook, path):
    task = sdk.send("input")
    made = sdk.create_config(task["id"], webhook.url + path, id="mine", token="t-1")
    assert (made["id"], made["taskId"], made["url"]) == ("mine", task["id"], webhook.url + path)
    other = sdk.create_config(task["id"], webhook.url + path)
    assert other["id"] not in ("", "mine")
    assert sdk.get_config(task["id"], "mine")["url"] == webhook.url + path
    listed = sdk.list_configs(task["id"])
    assert sorted(c["id"] for c in listed) == sorted(["mine", other["id"]])
    sdk.delete_config(task["id"], "mine")
    assert [c["id"] for c in sdk.list_configs(task["id"])] == [other["id"]]
    with refused("TaskNotFound"):
        sdk.get_config(task["id"], "mine")
    sdk.delete_config(task["id"], "mine")


def test_a_webhook_in_the_message_hears_the_whole_task(sdk, webhook, path):
    config = {
        "url": webhook.url + path,
        "token": "made-up-token",
        "authentication": {"scheme": "Bearer", "credentials": "made-up-credentials"},
    }
    task = sdk.send("stream 3", configuration={"taskPushNotificationConfig": config})
    deliveries = webhook.wait_until(path, ended)
    for delivery in deliveries:
        assert delivery.headers["authorization"] == "Bearer made-up-credentials"
        assert delivery.headers["x-a2a-notification-token"] == "made-up-token"
        assert delivery.headers["content-type"] == "application/a2a+json"
    documents = [delivery.document for delivery in deliveries]
    assert all(len(document) == 1 for document in documents)
    assert fold_artifacts(documents) == {"stream-1": "chunk 1\nchunk 2\nchunk 3\n"}
    assert {update["taskId"] for update in artifact_updates(documents)} == {task["id"]}


def test_a_webhook_created_later_hears_what_follows(sdk, webhook, path):
    task = sdk.send("input")
    sdk.create_config(task["id"], webhook.url + path)
    sdk.send("more", taskId=task["id"])
    webhook.wait_until(path, ended)


def test_a_deleted_webhook_hears_nothing(sdk, webhook, path):
    task = sdk.send("input")
    gone = sdk.create_config(task["id"], webhook.url + path + "/gone")
    sdk.create_config(task["id"], webhook.url + path)
    sdk.delete_config(task["id"], gone["id"])
    sdk.send("more", taskId=task["id"])
    webhook.wait_until(path, ended)
    assert webhook.at(path + "/gone") == []
