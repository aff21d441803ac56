"""Webhooks: configurations, deliveries and refusals."""

import uuid

import pytest

from support.events import artifact_updates, fold_artifacts, state, states
from support.failure import refused

ENDED = ["TASK_STATE_COMPLETED"]


@pytest.fixture
def path() -> str:
    return f"/{uuid.uuid4()}"


def ended(documents):
    return states(documents)[-1:] == ENDED


def test_configurations_without_id_get_ids_of_their_own(wire, webhook, path):
    task = wire.send("input")
    ids = {wire.create_config(task["id"], webhook.url + path)["id"] for _ in range(3)}
    assert len(ids) == 3 and all(ids)
    assert {c["id"] for c in wire.list_configs(task["id"])} == ids


def test_the_same_id_replaces(wire, webhook, path):
    task = wire.send("input")
    wire.create_config(task["id"], webhook.url + path + "/one", id="same")
    wire.create_config(task["id"], webhook.url + path + "/two", id="same")
    (only,) = wire.list_configs(task["id"])
    assert (only["id"], only["url"]) == ("same", webhook.url + path + "/two")


def test_deleting_twice_is_fine_and_getting_the_deleted_is_not_found(wire, webhook, path):
    task = wire.send("input")
    made = wire.create_config(task["id"], webhook.url + path)
    wire.delete_config(task["id"], made["id"])
    wire.delete_config(task["id"], made["id"])
    with refused("TaskNotFound"):
        wire.get_config(task["id"], made["id"])
    assert wire.list_configs(task["id"]) == []


def test_configurations_of_an_unknown_task_are_not_found(wire):
    with refused("TaskNotFound"):
        wire.create_config("no-such-task", "https://example.com/hook")
    with refused("TaskNotFound"):
        wire.list_configs("no-such-task")
    with refused("TaskNotFound"):
        wire.get_config("no-such-task", "x")
    with refused("TaskNotFound"):
        wire.delete_config("no-such-task", "x")


def test_deliveries_carry_both_headers_one_member_and_come_in_order(wire, webhook, path):
    config = {
        "url": webhook.url + path,
        "token": "made-up-token",
        "authentication": {"scheme": "Bearer", "credentials": "made-up-credentials"},
    }
    task = wire.send("stream 20", configuration={"taskPushNotificationConfig": config})
    deliveries = webhook.wait_until(path, ended)
    for delivery in deliveries:
        assert delivery.headers["authorization"] == "Bearer made-up-credentials"
        assert delivery.headers["x-a2a-notification-token"] == "made-up-token"
        assert delivery.headers["content-type"] == "application/a2a+json"
    documents = [delivery.document for delivery in deliveries]
    members = {"task", "message", "statusUpdate", "artifactUpdate"}
    assert all(len(d) == 1 and set(d) <= members for d in documents), documents
    assert state(documents[-1]) == ENDED[0]
    expected = "".join(f"chunk {number}\n" for number in range(1, 21))
    assert fold_artifacts(documents)["stream-1"] == expected
    assert {u["taskId"] for u in artifact_updates(documents)} == {task["id"]}


def test_a_configuration_in_the_message_counts_before_the_first_event(wire, webhook, path):
    config = {"url": webhook.url + path}
    wire.send("tck-stream-002", configuration={"taskPushNotificationConfig": config})
    webhook.wait_until(path, ended)


def test_a_streaming_send_registers_its_webhook_too(wire, webhook, path):
    config = {"url": webhook.url + path}
    wire.stream("echo x", configuration={"taskPushNotificationConfig": config}).rest()
    webhook.wait_until(path, ended)


def test_an_empty_configuration_is_not_stored(http_wire):
    task = http_wire.send("input", configuration={"taskPushNotificationConfig": {}})
    assert http_wire.list_configs(task["id"]) == []


def test_credentials_are_not_echoed_by_get_and_list(wire, webhook, path):
    task = wire.send("input")
    made = wire.create_config(
        task["id"],
        webhook.url + path,
        token="made-up-token",
        authentication={"scheme": "Bearer", "credentials": "made-up-credentials"},
    )
    read = [wire.get_config(task["id"], made["id"]), *wire.list_configs(task["id"])]
    for config in read:
        assert config["url"] == webhook.url + path
        assert "made-up-credentials" not in str(config)


def test_a_failing_hook_never_fails_the_task(wire, webhook, path):
    webhook.answers[path] = [500, 503]
    config = {"url": webhook.url + path}
    task = wire.send("echo x", configuration={"taskPushNotificationConfig": config})
    assert state(task) == ENDED[0]
    documents = [d.document for d in webhook.wait_until(path, ended, timeout=30)]
    assert len(webhook.at(path)) > len({str(d) for d in documents}), "it was tried again"


def test_a_hook_that_nobody_answers_never_fails_the_task(wire):
    config = {"url": "http://127.0.0.1:9/nobody"}
    task = wire.send("echo x", configuration={"taskPushNotificationConfig": config})
    assert state(task) == ENDED[0]


def test_a_deleted_hook_hears_nothing_more(wire, webhook, path):
    task = wire.send("input")
    gone = wire.create_config(task["id"], webhook.url + path + "/gone")
    wire.create_config(task["id"], webhook.url + path)
    wire.delete_config(task["id"], gone["id"])
    wire.send("more", taskId=task["id"])
    webhook.wait_until(path, ended)
    assert webhook.at(path + "/gone") == []


@pytest.mark.parametrize(
    "members",
    [
        {"token": "a\r\nX-Injected: 1"},
        {"authentication": {"scheme": "Bearer\r\nX-Injected: 1", "credentials": "c"}},
        {"authentication": {"scheme": "Bearer", "credentials": "c\nX-Injected: 1"}},
    ],
    ids=["token", "scheme", "credentials"],
)
def test_line_breaks_in_header_values_are_refused(wire, webhook, path, members):
    task = wire.send("input")
    with refused("InvalidParams"):
        wire.create_config(task["id"], webhook.url + path, **members)
    config = {"url": webhook.url + path, **members}
    with refused("InvalidParams"):
        wire.send("echo x", configuration={"taskPushNotificationConfig": config})


@pytest.mark.parametrize("url", ["", "not a url", "ftp://example.com/x", "file:///etc/passwd"])
def test_an_unusable_url_is_refused(wire, url):
    task = wire.send("input")
    with refused("InvalidParams"):
        wire.create_config(task["id"], url)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """An agent that may not call webhooks on private addresses."""
    from support.process import serve

    agent = serve(tmp_path_factory.mktemp("guarded"), "--store", "memory")
    yield agent
    agent.stop()


PRIVATE = [
    "http://127.0.0.1:8080/hook",
    "http://127.1/hook",
    "http://2130706433/hook",
    "http://localhost/hook",
    "http://10.0.0.1/hook",
    "http://172.16.0.1/hook",
    "http://192.168.1.1/hook",
    "http://169.254.169.254/latest/meta-data",
    "http://100.64.0.1/hook",
    "http://0.0.0.0/hook",
    "http://[::1]/hook",
    "http://[::ffff:127.0.0.1]/hook",
    "http://[fe80::1]/hook",
    "http://[fd00::1]/hook",
]


@pytest.mark.parametrize("url", PRIVATE)
def test_a_private_webhook_address_is_refused(guarded, wire_to, url):
    wire = wire_to(guarded, "jsonrpc")
    task = wire.send("input")
    with refused("InvalidParams"):
        wire.create_config(task["id"], url)
    with refused("InvalidParams"):
        wire.send("echo x", configuration={"taskPushNotificationConfig": {"url": url}})


def test_a_private_webhook_address_is_refused_on_every_binding(guarded, wire_to, binding):
    wire = wire_to(guarded, binding)
    task = wire.send("input")
    with refused("InvalidParams"):
        wire.create_config(task["id"], "http://127.0.0.1:8080/hook")


def test_undeclared_webhooks_are_refused_before_the_task_is_looked_at(served, wire_to, binding):
    wire = wire_to(served("--without", "push"), binding)
    task = wire.send("input")
    for task_id in (task["id"], "no-such-task"):
        with refused("PushNotificationNotSupported"):
            wire.create_config(task_id, "https://example.com/hook")
        with refused("PushNotificationNotSupported"):
            wire.get_config(task_id, "x")
        with refused("PushNotificationNotSupported"):
            wire.list_configs(task_id)
        with refused("PushNotificationNotSupported"):
            wire.delete_config(task_id, "x")
    with refused("PushNotificationNotSupported"):
        config = {"url": "https://example.com/hook"}
        wire.send("echo x", configuration={"taskPushNotificationConfig": config})
