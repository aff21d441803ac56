"""Tokens, and the wall between callers, on the wire of every binding."""

import uuid

import httpx
import pytest

from conftest import ALICE, BOB
from support.events import artifact
from support.failure import Failure, refused
from support.process import NUNCIO, run

REQUESTS = {
    "SendMessage": {},
    "SendStreamingMessage": {},
    "GetTask": {"id": "x"},
    "ListTasks": {},
    "CancelTask": {"id": "x"},
    "SubscribeToTask": {"id": "x"},
    "CreateTaskPushNotificationConfig": {"taskId": "x", "url": "https://example.com/hook"},
    "GetTaskPushNotificationConfig": {"taskId": "x", "id": "y"},
    "ListTaskPushNotificationConfigs": {"taskId": "x"},
    "DeleteTaskPushNotificationConfig": {"taskId": "x", "id": "y"},
    "GetExtendedAgentCard": {},
}
STREAMING = ("SendStreamingMessage", "SubscribeToTask")


@pytest.mark.parametrize("token", [None, "made-up-wrong-token", ""])
@pytest.mark.parametrize("operation", REQUESTS)
def test_without_a_valid_token_every_operation_is_turned_away(
    secured, wire_to, binding, operation, token
):
    wire = wire_to(secured, binding, token)
    with refused("Unauthenticated"):
        call = wire.open if operation in STREAMING else wire.call
        call(operation, REQUESTS[operation])


def test_a_401_names_the_scheme(secured):
    for path in ("/tasks", "/tasks/x"):
        response = httpx.get(secured.url + path, headers={"A2A-Version": "1.0"})
        assert response.status_code == 401
        assert response.headers["www-authenticate"].lower().startswith("bearer")


def test_a_token_is_no_part_of_any_answer_or_log(secured, wire_to, binding):
    wire = wire_to(secured, binding, ALICE)
    task = wire.send("whoami")
    assert ALICE not in str(task)
    assert ALICE not in secured.log() and "made-up-wrong-token" not in secured.log()


def test_the_agent_knows_who_calls(secured, wire_to, binding):
    def who(token):
        task = wire_to(secured, binding, token).send("whoami")
        return next(p["data"] for p in task["artifacts"][0]["parts"] if "data" in p)

    assert "alice" in str(who(ALICE)) and "bob" in str(who(BOB))


@pytest.fixture
def pair(secured, wire_to, binding):
    return wire_to(secured, binding, ALICE), wire_to(secured, binding, BOB)


def test_a_foreign_task_looks_exactly_like_a_missing_one(pair):
    alice, bob = pair
    task = alice.send("input")

    def failure(call):
        with pytest.raises(Failure) as caught:
            call()
        message = str(caught.value)
        return message.replace(task["id"], "ID").replace(missing, "ID")

    missing = str(uuid.uuid4())
    calls = [
        lambda i: bob.get(i),
        lambda i: bob.cancel(i),
        lambda i: bob.subscribe(i),
        lambda i: bob.send("more", taskId=i),
        lambda i: bob.stream("more", taskId=i),
        lambda i: bob.create_config(i, "https://example.com/hook"),
        lambda i: bob.get_config(i, "x"),
        lambda i: bob.list_configs(i),
        lambda i: bob.delete_config(i, "x"),
    ]
    for call in calls:
        foreign = failure(lambda call=call: call(task["id"]))
        assert foreign == failure(lambda call=call: call(missing))
        assert "TaskNotFound" in foreign
    assert alice.get(task["id"]) == task


def test_a_foreign_task_is_in_no_list(pair):
    alice, bob = pair
    context = str(uuid.uuid4())
    mine = alice.send("echo x", contextId=context)
    assert [t["id"] for t in alice.list(contextId=context)["tasks"]] == [mine["id"]]
    page = bob.list(contextId=context)
    assert (page["tasks"], page["totalSize"]) == ([], 0)


def test_a_foreign_context_is_a_new_one_for_the_other_caller(pair):
    alice, bob = pair
    context = str(uuid.uuid4())
    alice.send("echo secret", contextId=context)
    task = bob.send("echo mine", contextId=context)
    assert bob.list(contextId=context)["totalSize"] == 1
    assert alice.list(contextId=context)["totalSize"] == 1
    assert task["contextId"] == context


def test_a_foreign_reference_is_treated_like_a_missing_one(pair):
    alice, bob = pair
    task = alice.send("echo secret")

    def seen(wire, reference):
        # The agent looks at the tasks that it is referred to, and shows those that are there.
        answer = wire.send("whoami", referenceTaskIds=[reference])
        return artifact(answer, "whoami-1")["parts"][0]["data"]["references"]

    assert seen(alice, task["id"]) == [{"taskId": task["id"], "state": "completed"}]
    assert seen(bob, task["id"]) == seen(bob, str(uuid.uuid4())) == []


def test_tenants_are_walled_off_from_each_other(nuncio, wire_to, binding):
    wire = wire_to(nuncio, binding)
    tenant = f"tenant-{uuid.uuid4()}"
    task = wire.send("input", tenant=tenant)
    assert wire.get(task["id"], tenant=tenant)["id"] == task["id"]
    for other in (None, "another-tenant"):
        members = {"tenant": other} if other else {}
        with refused("TaskNotFound"):
            wire.get(task["id"], **members)
        with refused("TaskNotFound"):
            wire.cancel(task["id"], **members)
        with refused("TaskNotFound"):
            wire.subscribe(task["id"], **members)
        with refused("TaskNotFound"):
            wire.send("more", taskId=task["id"], tenant=other)
    assert wire.list(tenant=tenant)["totalSize"] == 1
    who = wire.send("whoami", tenant=tenant)
    assert tenant in str(who["artifacts"])


def test_anonymous_callers_may_be_let_in_beside_known_ones(served, wire_to, binding):
    agent = served("--token", f"alice={ALICE}", "--anonymous")
    anonymous, alice = wire_to(agent, binding), wire_to(agent, binding, ALICE)
    task = anonymous.send("echo x")
    assert artifact(task, "echo-1")
    with refused("TaskNotFound"):
        alice.get(task["id"])
    with refused("Unauthenticated"):
        wire_to(agent, binding, "made-up-wrong-token").send("echo x")


def test_an_open_agent_listens_on_loopback_only(tmp_path):
    done = run(tmp_path, "serve", "--host", "0.0.0.0", "--port", "0", timeout=10)
    assert done.code != 0 and NUNCIO
    assert "0.0.0.0" in done.err or "loopback" in done.err, done.err
