"""Official clients with and without tokens: 401, extended card, separate tasks."""

from conftest import ALICE, BOB
from support.events import state
from support.failure import refused


def test_a_token_opens_the_agent_and_its_extended_card(secured, sdk_to, sdk_name):
    sdk = sdk_to(secured, sdk_name, ALICE)
    assert state(sdk.send("echo x")) == "TASK_STATE_COMPLETED"
    extended = sdk.call("GetExtendedAgentCard")
    public = sdk_to(secured, "python-jsonrpc", ALICE).card
    assert len(extended["skills"]) > len(public.skills)
    assert len(extended["description"]) > len(public.description)


def test_a_caller_without_a_token_is_turned_away(secured, sdk_to, sdk_name):
    try:
        sdk_to(secured, sdk_name).send("echo x")
    except Exception as error:  # each client has its own type for this
        said = str(error).lower()
        assert any(word in said for word in ("401", "authenticat", "credentials")), said
    else:
        raise AssertionError("the call succeeded without a token")


def test_a_foreign_task_looks_like_a_missing_one(secured, sdk_to, sdk_name):
    alice, bob = sdk_to(secured, sdk_name, ALICE), sdk_to(secured, sdk_name, BOB)
    task = alice.send("input")
    for call in (bob.get, bob.cancel, bob.subscribe, bob.list_configs):
        with refused("TaskNotFound"):
            call(task["id"])
    assert task["id"] not in [t["id"] for t in bob.list()["tasks"]]
    assert task["id"] in [t["id"] for t in alice.list()["tasks"]]
