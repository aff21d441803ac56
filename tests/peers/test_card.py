"""The agent card: content, caching, and what it must never say."""

import json

import httpx
import pytest
from a2a.types import a2a_pb2 as pb
from google.protobuf import json_format

from support import strict

PATH = "/.well-known/agent-card.json"


def test_the_card_is_complete_and_names_all_bindings(nuncio, rest):
    response = rest.http.get(PATH)
    assert response.status_code == 200
    assert response.headers["content-type"].split(";")[0] in (
        "application/json",
        "application/a2a+json",
    )
    card = response.json()
    current = [i for i in card["supportedInterfaces"] if i["protocolVersion"] == "1.0"]
    assert {i["protocolBinding"] for i in current} == {"JSONRPC", "HTTP+JSON", "GRPC"}
    # Members of older versions stand beside those of 1.0.
    known = {field.json_name for field in pb.AgentCard.DESCRIPTOR.fields}
    strict.read({name: value for name, value in card.items() if name in known}, pb.AgentCard)
    assert card["name"] == "Nuncio demo agent"
    assert card["capabilities"]["streaming"] is True
    assert card["capabilities"]["pushNotifications"] is True
    assert len(card["skills"]) >= 2
    assert all(skill["tags"] and skill["examples"] for skill in card["skills"])
    for mode in ("text/plain", "application/json", "application/octet-stream", "image/png"):
        assert mode in card["defaultInputModes"] and mode in card["defaultOutputModes"]


def test_the_card_names_reachable_addresses(nuncio, rest):
    card = rest.http.get(PATH).json()
    for interface in card["supportedInterfaces"]:
        assert "0.0.0.0" not in interface["url"]
        assert f"127.0.0.1:{nuncio.port}" in interface["url"]
        if interface["protocolBinding"] == "GRPC":
            assert "://" not in interface["url"]


def test_the_default_card_lists_only_urls_on_its_own_origin(served):
    agent = served("--bindings", "jsonrpc,rest")
    card = httpx.get(agent.url + PATH).json()
    assert all(i["url"].startswith(agent.url) for i in card["supportedInterfaces"]), card
    assert all(i["url"].startswith(agent.url) for i in card["additionalInterfaces"]), card
    assert card["url"].startswith(agent.url)


def test_a_strict_parser_of_1_0_reads_the_card_of_1_0_alone(nuncio, served):
    """What docs/versions.md says of such parsers."""
    with pytest.raises(json_format.ParseError):
        json_format.Parse(httpx.get(nuncio.url + PATH).text, pb.AgentCard())
    alone = served("--versions", "1.0")
    card = json_format.Parse(httpx.get(alone.url + PATH).text, pb.AgentCard())
    assert card.supported_interfaces[0].protocol_version == "1.0"


def test_grpc_can_be_elsewhere(served):
    agent = served("--grpc-url", "https://grpc.example:8443")
    card = httpx.get(agent.url + PATH).json()
    urls = {i["url"] for i in card["supportedInterfaces"] if i["protocolBinding"] == "GRPC"}
    assert urls == {"https://grpc.example:8443"}


def test_the_card_needs_no_version_and_no_token(secured):
    assert httpx.get(secured.url + PATH).status_code == 200


def test_the_card_is_cached_by_etag(rest):
    first = rest.http.get(PATH)
    etag = first.headers["etag"]
    assert "max-age" in first.headers["cache-control"]
    again = rest.http.get(PATH, headers={"If-None-Match": etag})
    assert again.status_code == 304 and again.content == b""
    assert again.headers["etag"] == etag
    for many in (f'"x", {etag}', "*", f"W/{etag.removeprefix('W/')}"):
        assert rest.http.get(PATH, headers={"If-None-Match": many}).status_code == 304
    other = rest.http.get(PATH, headers={"If-None-Match": '"another"'})
    assert other.status_code == 200 and other.content == first.content


def test_the_etag_is_of_the_content(served):
    def etag(*arguments):
        # The address is content too, so it is fixed.
        agent = served("--public-url", "https://agent.example", *arguments)
        return httpx.get(agent.url + PATH).headers["etag"]

    assert etag() == etag()
    assert etag() != etag("--name", "Another name")


def test_the_card_answers_head(rest):
    response = rest.http.head(PATH)
    assert response.status_code == 200 and response.content == b""


def test_a_public_url_is_what_the_card_says(served):
    agent = served("--public-url", "https://agent.example/some/prefix")
    card = httpx.get(agent.url + PATH).json()
    for interface in card["supportedInterfaces"]:
        if interface["protocolBinding"] == "GRPC":
            assert interface["url"].startswith("agent.example")
        else:
            assert interface["url"].startswith("https://agent.example/some/prefix")
        assert "127.0.0.1" not in interface["url"]


def test_a_name_is_what_the_card_says(served, wire_to):
    card = wire_to(served("--name", "Ada ✓"), "rest").http.get(PATH).json()
    assert card["name"] == "Ada ✓"


def test_capabilities_can_be_taken_away(served, wire_to):
    agent = served("--without", "streaming,push,extended-card")
    capabilities = wire_to(agent, "rest").http.get(PATH).json()["capabilities"]
    for name in ("streaming", "pushNotifications", "extendedAgentCard"):
        assert not capabilities.get(name)


def test_a_card_file_is_served_with_true_addresses(served, wire_to, tmp_path):
    card = {
        "name": "From a file",
        "description": "A card of my own",
        "version": "7.0.0",
        "supportedInterfaces": [
            {
                "url": "https://elsewhere.example/",
                "protocolBinding": "JSONRPC",
                "protocolVersion": "1.0",
            }
        ],
        "capabilities": {},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [],
    }
    file = tmp_path / "card.json"
    file.write_text(json.dumps(card))
    agent = served("--card", file)
    served_card = wire_to(agent, "rest").http.get(PATH).json()
    assert (served_card["name"], served_card["version"]) == ("From a file", "7.0.0")
    interfaces = served_card["supportedInterfaces"]
    assert all(f"127.0.0.1:{agent.port}" in interface["url"] for interface in interfaces), interfaces
    newest = [i["protocolBinding"] for i in interfaces if i["protocolVersion"] == "1.0"]
    assert sorted(newest) == ["GRPC", "HTTP+JSON", "JSONRPC"]
    for binding in ("jsonrpc", "rest", "grpc"):
        assert wire_to(agent, binding).send("message hi")["parts"] == [{"text": "message: hi"}]


@pytest.mark.parametrize("host", ["0", "0x0", "0.0.0.0", "0.0.0.0.", "[::]", "[::0]"])
def test_no_spelling_of_any_address_gets_into_the_card(served, host):
    # An open agent answers for no such host by itself.
    agent = served("--allowed-host", "*")
    card = httpx.get(agent.url + PATH, headers={"Host": f"{host}:80"}).json()
    for interface in card["supportedInterfaces"]:
        assert f"127.0.0.1:{agent.port}" in interface["url"], interface


@pytest.mark.parametrize("binding_name", ["jsonrpc", "rest", "grpc"])
def test_the_extended_card_has_more_than_the_public_one(secured, wire_to, binding_name):
    from conftest import ALICE

    wire = wire_to(secured, binding_name, ALICE)
    extended = wire.call("GetExtendedAgentCard", {})
    public = httpx.get(secured.url + PATH).json()
    assert public["capabilities"]["extendedAgentCard"] is True
    assert len(extended["skills"]) == len(public["skills"]) + 1
    assert len(extended["description"]) > len(public["description"])
    assert public["securitySchemes"] and public["securityRequirements"]
