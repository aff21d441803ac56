"""Version negotiation, extensions and media types, on every binding."""

import pytest

from support.caller import user_message
from support.events import state
from support.failure import refused
from support.operations import OPERATIONS

URI = "https://example.com/extensions/made-up/v1"
OTHER = "https://example.com/extensions/other/v1"
REQUESTS = {
    "SendMessage": {"message": user_message("echo x")},
    "SendStreamingMessage": {"message": user_message("echo x")},
    "GetTask": {"id": "no-such-task"},
    "ListTasks": {},
    "CancelTask": {"id": "no-such-task"},
    "SubscribeToTask": {"id": "no-such-task"},
    "CreateTaskPushNotificationConfig": {"taskId": "x", "url": "https://example.com/hook"},
    "GetTaskPushNotificationConfig": {"taskId": "x", "id": "y"},
    "ListTaskPushNotificationConfigs": {"taskId": "x"},
    "DeleteTaskPushNotificationConfig": {"taskId": "x", "id": "y"},
    "GetExtendedAgentCard": {},
}


def invoke(wire, operation, request, **options):
    call = wire.open if OPERATIONS[operation].streams else wire.call
    return call(operation, request, **options)


@pytest.mark.parametrize("version", ["99.0", "2.0", "nonsense"])
@pytest.mark.parametrize("operation", REQUESTS)
def test_a_wrong_version_is_refused_on_every_operation(wire, operation, version):
    with refused("VersionNotSupported"):
        invoke(wire, operation, REQUESTS[operation], version=version)


def test_a_higher_minor_version_is_refused(wire):
    with refused("VersionNotSupported"):
        wire.call("ListTasks", {}, version="1.99")


@pytest.mark.parametrize("version", ["1.0", "1.0.1", "1.0.0"])
def test_patch_digits_do_not_matter(wire, version):
    answer = wire.call("SendMessage", REQUESTS["SendMessage"], version=version)
    assert state(answer["task"]) == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize("version", [None, ""])
def test_a_missing_version_means_0_3(wire, version):
    """These are 1.0 operations, which 0.3 does not have."""
    with refused("VersionNotSupported"):
        wire.call("SendMessage", REQUESTS["SendMessage"], version=version)


def test_the_version_may_come_in_the_query(rest, jsonrpc):
    response = rest.http.get("/tasks", params={"A2A-Version": "1.0", "pageSize": 1})
    assert response.status_code == 200, response.text
    envelope = jsonrpc.envelope("ListTasks", {"pageSize": 1})
    response = jsonrpc.http.post(jsonrpc.url, params={"A2A-Version": "1.0"}, json=envelope)
    assert "result" in response.json()
    response = rest.http.get("/tasks", params={"A2A-Version": "99.0"})
    assert response.status_code == 400


def test_the_version_header_wins_over_the_query(rest):
    response = rest.http.get(
        "/tasks", params={"A2A-Version": "99.0", "pageSize": 1}, headers={"A2A-Version": "1.0"}
    )
    assert response.status_code == 200, response.text


@pytest.fixture(scope="module")
def demanding(tmp_path_factory):
    """An agent that requires one extension and offers another."""
    from support.process import serve

    folder = tmp_path_factory.mktemp("demanding")
    agent = serve(folder, "--require-extension", URI, "--extension", OTHER)
    yield agent
    agent.stop()


def test_a_required_extension_is_in_the_card(demanding, wire_to):
    card = wire_to(demanding, "rest").http.get("/.well-known/agent-card.json").json()
    extensions = {e["uri"]: e.get("required", False) for e in card["capabilities"]["extensions"]}
    # Nuncio's own are never required.
    own = {uri: False for uri in extensions if uri.startswith("https://nuncio.dev/")}
    assert extensions == {URI: True, OTHER: False} | own


@pytest.mark.parametrize("operation", ["SendMessage", "SendStreamingMessage"])
def test_a_required_extension_that_is_not_declared_is_refused(
    demanding, wire_to, binding, operation
):
    wire = wire_to(demanding, binding)
    with refused("ExtensionSupportRequired"):
        invoke(wire, operation, REQUESTS[operation])
    with refused("ExtensionSupportRequired"):
        invoke(wire, operation, REQUESTS[operation], headers={"A2A-Extensions": OTHER})


def activated(wire) -> set[str]:
    """The extensions that the last answer says are active."""
    if wire.name == "grpc":
        sent = [*wire.last_call.initial_metadata(), *wire.last_call.trailing_metadata()]
        values = [value for name, value in sent if name == "a2a-extensions"]
    else:
        values = wire.last_response.headers.get_list("a2a-extensions")
    return {uri.strip() for value in values for uri in value.split(",") if uri.strip()}


def test_activated_extensions_are_echoed_and_unknown_ones_ignored(demanding, wire_to, binding):
    wire = wire_to(demanding, binding)
    unknown = "https://example.com/extensions/unknown/v1"
    wire.call("SendMessage", REQUESTS["SendMessage"], headers={"A2A-Extensions": URI})
    assert activated(wire) == {URI}
    wire.call(
        "SendMessage",
        REQUESTS["SendMessage"],
        headers={"A2A-Extensions": f"{unknown}, {URI},{OTHER}"},
    )
    assert activated(wire) == {URI, OTHER}


def test_an_agent_without_extensions_ignores_those_asked_for(wire):
    answer = wire.call("SendMessage", REQUESTS["SendMessage"], headers={"A2A-Extensions": URI})
    assert state(answer["task"]) == "TASK_STATE_COMPLETED"
    assert activated(wire) == set()


@pytest.mark.parametrize(
    "part",
    [
        {"text": "x", "mediaType": "text/x-made-up"},
        {"raw": "AAAA", "mediaType": "video/mp4"},
        {"url": "https://example.com/v", "mediaType": "video/mp4"},
        {"data": {"k": 1}, "mediaType": "application/xml"},
    ],
    ids=lambda part: part["mediaType"],
)
@pytest.mark.parametrize("operation", ["SendMessage", "SendStreamingMessage"])
def test_a_media_type_that_the_agent_does_not_take_is_refused(wire, operation, part):
    with refused("ContentTypeNotSupported"):
        invoke(wire, operation, {"message": user_message([part])})


@pytest.mark.parametrize("media_type", ["text/plain", "image/png", "text/plain; charset=utf-8"])
def test_a_media_type_that_the_agent_takes_is_accepted(wire, media_type):
    task = wire.send([{"text": "echo x", "mediaType": media_type}])
    assert state(task) == "TASK_STATE_COMPLETED"


def test_streaming_that_is_not_declared_is_refused(served, wire_to, binding):
    wire = wire_to(served("--without", "streaming"), binding)
    task = wire.send("input")
    with refused("UnsupportedOperation"):
        wire.stream("echo x")
    with refused("UnsupportedOperation"):
        wire.subscribe(task["id"])


def test_an_extended_card_that_is_not_declared_is_refused(wire):
    with refused("UnsupportedOperation"):
        wire.call("GetExtendedAgentCard", {})
