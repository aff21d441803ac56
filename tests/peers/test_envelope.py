"""The JSON-RPC envelope: what is no request, and how that is said."""

import json

import pytest

from support.caller import user_message
from support.failure import BAD_REQUEST
from support.operations import OPERATIONS
from support.wires import rpc_failure, rpc_result

HEADERS = {"A2A-Version": "1.0", "Content-Type": "application/json"}


def post(wire, body: bytes | str | dict | list, **headers):
    content = body if isinstance(body, (bytes, str)) else json.dumps(body)
    return wire.http.post(wire.url, content=content, headers={**HEADERS, **headers})


def failure_of(response, id_=None):
    assert response.status_code == 200, f"{response.status_code} {response.text}"
    assert response.headers["content-type"].split(";")[0] == "application/json"
    return rpc_failure(response.json(), id_)


TRUNCATED = '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"'


@pytest.mark.parametrize(
    "body",
    ["{", "", "   ", "nonsense", TRUNCATED, '{"a":1,}', "{'a':1}", b"\xff\xfe{}", '{"a":"\x01"}'],
)
def test_what_is_not_json_is_a_parse_error_with_id_null(jsonrpc, body):
    assert failure_of(post(jsonrpc, body)).code == -32700


def request(**members):
    envelope = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "x"}, **members}
    return {key: value for key, value in envelope.items() if value is not ...}


@pytest.mark.parametrize(
    "body",
    [
        [],
        1,
        "text",
        None,
        True,
        [request(), request(id=2)],
        {},
        request(id={}),
        request(id=[]),
        request(id=True),
        request(id=1.5),
    ],
    ids=str,
)
def test_what_is_no_request_is_an_invalid_request_with_id_null(jsonrpc, body):
    response = post(jsonrpc, json.dumps(body))
    assert failure_of(response).code == -32600


@pytest.mark.parametrize(
    "members",
    [
        {"jsonrpc": "1.0"},
        {"jsonrpc": ...},
        {"jsonrpc": 2.0},
        {"jsonrpc": None},
        {"method": ...},
        {"method": None},
        {"method": 7},
        {"method": ["GetTask"]},
    ],
    ids=str,
)
def test_a_broken_envelope_with_a_readable_id_is_an_invalid_request(jsonrpc, members):
    response = post(jsonrpc, request(**members))
    document = response.json()
    assert document["id"] in (1, None)
    assert failure_of(response, document["id"]).code == -32600


@pytest.mark.parametrize("method", ["NoSuchMethod", "gettask", "tasks/", "", "rpc.discover"])
def test_an_unknown_method_is_not_found(jsonrpc, method):
    assert failure_of(post(jsonrpc, request(method=method)), 1).code == -32601


@pytest.mark.parametrize("params", [[], ["x"], "x", 3, False], ids=str)
def test_parameters_that_are_no_object_are_invalid(jsonrpc, params):
    assert failure_of(post(jsonrpc, request(params=params)), 1).code in (-32602, -32600)


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("GetTask", {}, "id"),
        ("GetTask", {"id": 5}, "id"),
        ("GetTask", {"id": "x", "historyLength": "many"}, "historyLength"),
        ("CancelTask", {}, "id"),
        ("SubscribeToTask", {}, "id"),
        ("SendMessage", {}, "message"),
        ("SendMessage", {"message": "hi"}, "message"),
        (
            "SendStreamingMessage",
            {"message": {"role": "ROLE_USER", "parts": [{"text": "x"}]}},
            "messageId",
        ),
        ("ListTasks", {"pageSize": "big"}, "pageSize"),
        ("CreateTaskPushNotificationConfig", {"taskId": "x"}, "url"),
        ("GetTaskPushNotificationConfig", {"taskId": "x"}, "id"),
    ],
)
def test_wrong_parameters_are_invalid_and_the_field_is_named(jsonrpc, method, params, field):
    failure = failure_of(post(jsonrpc, request(method=method, params=params)), 1)
    assert failure.code == -32602
    assert any(detail["@type"] == BAD_REQUEST for detail in failure.details), failure
    assert any(field in name for name in failure.fields), failure.fields


def test_absent_parameters_are_invalid_where_something_is_required(jsonrpc):
    assert failure_of(post(jsonrpc, request(params=...)), 1).code == -32602


def test_absent_parameters_are_fine_where_nothing_is_required(jsonrpc):
    response = post(jsonrpc, request(method="ListTasks", params=...))
    assert "result" in response.json()


@pytest.mark.parametrize("id_", [7, "7", 0, -1, 2**53 - 1, "", "a b/ç", "x" * 200])
def test_the_id_comes_back_with_its_type(jsonrpc, id_):
    failure = failure_of(post(jsonrpc, request(id=id_, params={"id": "no-such-task"})), id_)
    assert failure.code == -32001
    sent = request(id=id_, method="SendMessage", params={"message": user_message("echo x")})
    result = rpc_result(OPERATIONS["SendMessage"], id_, post(jsonrpc, sent).json())
    assert "task" in result


def test_an_id_of_null_is_answered_with_null(jsonrpc):
    response = post(jsonrpc, request(id=None, params={"id": "no-such-task"}))
    assert response.status_code == 200
    assert response.json()["id"] is None


def test_a_duplicate_or_unknown_member_of_the_envelope_does_no_harm(jsonrpc):
    sent = request(method="ListTasks", params={"pageSize": 1}, extra={"x": 1})
    assert "result" in post(jsonrpc, sent).json()


def test_unknown_members_of_parameters_are_ignored(jsonrpc):
    message = user_message("echo x", madeUp={"x": 1})
    params = {"message": message, "alsoMadeUp": True}
    response = post(jsonrpc, request(method="SendMessage", params=params))
    assert "result" in response.json()


def test_snake_case_names_are_read_too(jsonrpc):
    message = {"message_id": "m", "role": "ROLE_USER", "parts": [{"text": "echo x"}]}
    params = {"message": message, "configuration": {"history_length": 0}}
    task = post(jsonrpc, request(method="SendMessage", params=params)).json()["result"]["task"]
    assert "history" not in task


@pytest.mark.parametrize("media_type", ["application/json", "application/json; charset=utf-8"])
def test_json_media_types_are_taken(jsonrpc, media_type):
    response = post(jsonrpc, request(method="ListTasks"), **{"Content-Type": media_type})
    assert "result" in response.json()


def test_another_media_type_is_refused_in_the_protocols_shape(jsonrpc):
    response = post(jsonrpc, request(method="ListTasks"), **{"Content-Type": "text/plain"})
    assert response.status_code in (200, 400, 415)
    document = response.json()
    assert document["jsonrpc"] == "2.0" and document["error"]["code"] in (-32600, -32005, -32700)


def test_errors_never_show_what_the_program_is_made_of(jsonrpc):
    bodies = ["{", json.dumps(request(id={})), json.dumps(request(params={"id": 5}))]
    for body in bodies:
        said = post(jsonrpc, body).text.lower()
        for word in ("serde", "panicked", "src/", ".rs:", "axum", "hyper"):
            assert word not in said, said
