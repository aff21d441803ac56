"""Cards that clients of 0.3, 0.2 and 0.1 find by themselves, from nothing but the origin."""

import httpx
import pytest
from a2a.types import a2a_pb2 as pb

from conftest import ALICE
from support import strict, v01
from support.events import state
from support.peers import OLDER

READERS = [name for name in OLDER if name.split("-")[0] in ("python03", "js03", "python02")]
BINDINGS = {"jsonrpc": "JSONRPC", "rest": "HTTP+JSON", "grpc": "GRPC"}


@pytest.mark.parametrize("older_name", READERS)
def test_an_older_client_reads_the_whole_card(older, older_name, nuncio):
    card = older.card()
    newest = httpx.get(f"{nuncio.url}/.well-known/agent-card.json").json()
    for member in ("name", "description", "version", "defaultInputModes", "defaultOutputModes"):
        assert card[member] == newest[member]
    assert [s["id"] for s in card["skills"]] == [s["id"] for s in newest["skills"]]
    assert card["capabilities"]["streaming"] is card["capabilities"]["pushNotifications"] is True
    offered = {i["transport"]: i["url"] for i in card["additionalInterfaces"]}
    assert card["url"] == offered[card["preferredTransport"]]
    assert BINDINGS[older_name.split("-")[1]] in offered


def test_the_card_of_0_1_has_nothing_that_0_1_does_not_know(nuncio):
    """What an exact reader of 0.1 needs is there; what is more than that is of later versions."""
    card = httpx.get(f"{nuncio.url}/.well-known/agent.json").json()
    v01.check(v01.of_0_1(card), "AgentCard")


# The gRPC clients of the older Python SDKs send no credentials.
EXTENDED = ["python03-jsonrpc", "python03-rest", "js03-jsonrpc", "js03-rest", "python02-jsonrpc"]


@pytest.mark.parametrize("older_name", EXTENDED)
def test_a_token_opens_the_extended_card(secured, sdk_to, older_name):
    older = sdk_to(secured, older_name, ALICE)
    assert state(older.send("echo x")) == "TASK_STATE_COMPLETED"
    public = httpx.get(f"{secured.url}/.well-known/agent-card.json").json()
    extended = older.call("GetExtendedAgentCard")
    assert len(extended["skills"]) > len(public["skills"])


@pytest.mark.parametrize("older_name", ["v01-jsonrpc", "python02-jsonrpc", "js03-rest"])
def test_a_caller_without_a_token_is_turned_away(secured, sdk_to, older_name):
    with pytest.raises(Exception, match="(?i)401|authenti|credentials"):
        sdk_to(secured, older_name).send("echo x")


def test_an_agent_of_1_0_alone_has_a_card_of_1_0_alone(served):
    agent = served("--store", "memory", "--versions", "1.0")
    card = httpx.get(f"{agent.url}/.well-known/agent-card.json").json()
    strict.read(card, pb.AgentCard)
    assert {i["protocolVersion"] for i in card["supportedInterfaces"]} == {"1.0"}
    assert httpx.get(f"{agent.url}/.well-known/agent.json").status_code == 404


@pytest.mark.parametrize(
    ("version", "welcome", "others"),
    [
        ("1.0", "python-jsonrpc", ["v01said-jsonrpc", "js03-jsonrpc"]),
        ("0.3", "python03-rest", ["v01said-jsonrpc"]),
        ("0.2", "python02-jsonrpc", ["v01said-jsonrpc"]),
        ("0.1", "v01-jsonrpc", ["python02-jsonrpc"]),
    ],
)
def test_an_agent_of_one_version_answers_its_clients_alone(
    served, sdk_to, version, welcome, others
):
    agent = served("--store", "memory", "--versions", version)
    assert state(sdk_to(agent, welcome).send("echo x")) == "TASK_STATE_COMPLETED"
    for other in others:
        # There is no card for it, or its first call is refused.
        with pytest.raises(Exception):
            sdk_to(agent, other).send("echo x")
