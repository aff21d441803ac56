"""The three bindings, spoken by hand over plain HTTP and grpcio."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import httpx

from . import sse, strict
from .caller import Caller
from .failure import BY_GRPC, BY_REASON, BY_RPC, ERROR_INFO, KINDS, Failure, check_details
from .feed import Feed
from .operations import OPERATIONS, Operation

TIMEOUT = httpx.Timeout(30)


def service_headers(version: str | None, headers: dict | None) -> dict:
    """A2A-Version (None leaves it out) and whatever else the test sends."""
    return {**({} if version is None else {"A2A-Version": version}), **(headers or {})}


class HttpCaller(Caller):
    """What JSON-RPC and HTTP+JSON share."""

    def __init__(self, url: str, headers: dict | None = None):
        self.url = url
        self.headers = headers or {}
        options = {"timeout": TIMEOUT, "headers": self.headers, "trust_env": False}
        self.http = httpx.Client(base_url=url, verify=False, **options)
        # A stream may be dropped while it is read: nobody gets its connection after that.
        self._streams = httpx.Client(limits=httpx.Limits(max_keepalive_connections=0), **options)
        self.last_response: httpx.Response | None = None

    def close(self) -> None:
        self.http.close()
        self._streams.close()

    def _open(self, request: httpx.Request) -> httpx.Response:
        """A response whose body is not read yet."""
        return self._streams.send(request, stream=True)


class JsonRpc(HttpCaller):
    name = "jsonrpc"
    _ids = itertools.count(1)

    def envelope(self, operation: str, request: dict | None) -> dict:
        return {
            "jsonrpc": "2.0",
            "id": next(self._ids),
            "method": operation,
            "params": request or {},
        }

    def call(self, operation, request=None, *, version="1.0", headers=None) -> dict:
        envelope = self.envelope(operation, request)
        response = self.http.post(
            self.url, json=envelope, headers=service_headers(version, headers)
        )
        self.last_response = response
        return self._result(OPERATIONS[operation], envelope["id"], response)

    def open(self, operation, request=None, *, version="1.0", headers=None) -> Feed:
        envelope = self.envelope(operation, request)
        response = self._open(
            self.http.build_request(
                "POST", self.url, json=envelope, headers=service_headers(version, headers)
            )
        )
        self.last_response = response
        if _media_type(response) != "text/event-stream":
            response.read()
            self._result(OPERATIONS[operation], envelope["id"], response)
            raise AssertionError(f"a plain answer to a streaming call: {response.text}")
        assert response.status_code == 200

        def events() -> Iterator[dict]:
            for event in sse.read(response.iter_raw()):
                yield rpc_result(OPERATIONS[operation], envelope["id"], event.data)

        return Feed(events(), response.close)

    @staticmethod
    def _result(operation: Operation, id_: Any, response: httpx.Response) -> dict:
        if response.status_code in (401, 403):
            raise http_failure(response)
        assert response.status_code == 200, f"{response.status_code} {response.text}"
        assert _media_type(response) == "application/json", response.headers
        return rpc_result(operation, id_, response.json())


def rpc_result(operation: Operation, id_: Any, document: dict) -> dict:
    """The checked result of a JSON-RPC response, or its failure."""
    if "error" in document:
        raise rpc_failure(document, id_)
    assert set(document) == {"jsonrpc", "id", "result"}, document
    assert document["jsonrpc"] == "2.0"
    assert document["id"] == id_ and type(document["id"]) is type(id_), document["id"]
    if operation.name.startswith("Delete"):
        assert document["result"] in (None, {}), document
        return {}
    strict.read(document["result"], operation.response)
    return document["result"]


def rpc_failure(document: dict, id_: Any) -> Failure:
    """The checked failure of a JSON-RPC error response."""
    assert set(document) == {"jsonrpc", "id", "error"}, document
    assert document["jsonrpc"] == "2.0"
    assert document["id"] == id_ and type(document["id"]) is type(id_), document
    error = document["error"]
    assert isinstance(error["code"], int) and isinstance(error["message"], str), error
    assert set(error) <= {"code", "message", "data"}, error
    name = BY_RPC.get(error["code"], "Unknown")
    details = error.get("data", [])
    check_details(name, details)
    return Failure(name, error["code"], error["message"], details)


class Rest(HttpCaller):
    name = "rest"

    def request(self, operation, request=None, *, version="1.0", headers=None) -> httpx.Request:
        shape = OPERATIONS[operation]
        path, rest = shape.route(request or {})
        headers = service_headers(version, headers)
        if shape.verb in ("GET", "DELETE"):
            params = {key: query_value(value) for key, value in rest.items()}
            return self.http.build_request(shape.verb, path, params=params, headers=headers)
        headers = {"Content-Type": "application/a2a+json", **headers}
        content = json.dumps(rest, ensure_ascii=False).encode()
        return self.http.build_request(shape.verb, path, content=content, headers=headers)

    def call(self, operation, request=None, **options) -> dict:
        response = self.http.send(self.request(operation, request, **options))
        self.last_response = response
        return self._result(OPERATIONS[operation], response)

    def open(self, operation, request=None, **options) -> Feed:
        response = self._open(self.request(operation, request, **options))
        self.last_response = response
        if _media_type(response) != "text/event-stream":
            response.read()
            self._result(OPERATIONS[operation], response)
            raise AssertionError(f"a plain answer to a streaming call: {response.text}")
        assert response.status_code == 200

        def events() -> Iterator[dict]:
            for event in sse.read(response.iter_raw()):
                if event.event == "error" or set(event.data) == {"error"}:
                    raise rest_failure(event.data)
                strict.read(event.data, OPERATIONS[operation].response)
                yield event.data

        return Feed(events(), response.close)

    @staticmethod
    def _result(operation: Operation, response: httpx.Response) -> dict:
        if not response.is_success:
            raise http_failure(response)
        assert response.status_code == 200, response.status_code
        assert _media_type(response) == "application/a2a+json", response.headers
        strict.read(response.json(), operation.response)
        return response.json()


def query_value(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


def http_failure(response: httpx.Response) -> Failure:
    """The failure in an HTTP error answer of either HTTP binding."""
    document = response.json()
    if response.status_code == 401:
        assert "www-authenticate" in response.headers
    if "jsonrpc" in document:
        error = document["error"]
        name = {401: "Unauthenticated", 403: "PermissionDenied"}[response.status_code]
        return Failure(name, response.status_code, error["message"], error.get("data", []))
    failure = rest_failure(document)
    assert failure.code == response.status_code, document
    assert _media_type(response) in ("application/a2a+json", "application/json")
    return failure


def rest_failure(document: dict) -> Failure:
    """The checked failure of a google.rpc.Status body."""
    assert set(document) == {"error"}, document
    error = document["error"]
    assert set(error) <= {"code", "status", "message", "details"}, error
    assert isinstance(error["code"], int) and isinstance(error["message"], str), error
    name = failure_name(error["status"], error.get("details", []))
    if error["code"] == 405:
        # A wrong verb at a right path, of which the specification says nothing.
        assert error["status"] == "UNIMPLEMENTED", error
        name = "MethodNotAllowed"
    check_details(name, error.get("details", []))
    if name in KINDS:
        kind = KINDS[name]
        assert (error["code"], error["status"]) == (kind.http, kind.grpc), error
    return Failure(name, error["code"], error["message"], error.get("details", []))


def failure_name(status: str, details: list[dict]) -> str:
    """The spec's name: by ErrorInfo's reason, else by the status."""
    for detail in details:
        if detail.get("@type") == ERROR_INFO and detail.get("reason") in BY_REASON:
            return BY_REASON[detail["reason"]]
    return BY_GRPC.get(status, status)


def _media_type(response: httpx.Response) -> str:
    return response.headers.get("content-type", "").split(";")[0].strip()
