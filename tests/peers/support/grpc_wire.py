"""The gRPC binding, spoken with grpcio and the official stubs."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
from a2a.types import a2a_pb2_grpc
from google.protobuf import json_format
from google.rpc import error_details_pb2, status_pb2

from . import strict
from .caller import Caller
from .failure import Failure, check_details
from .feed import Feed
from .operations import OPERATIONS
from .wires import failure_name, service_headers

DETAILS = {
    kind.DESCRIPTOR.full_name: kind
    for kind in (error_details_pb2.ErrorInfo, error_details_pb2.BadRequest)
}
UNLIMITED = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.use_local_subchannel_pool", 1),
]


class Grpc(Caller):
    name = "grpc"

    def __init__(self, target: str, headers: dict | None = None):
        self.headers = headers or {}
        self.channel = grpc.insecure_channel(target, options=UNLIMITED)
        self.stub = a2a_pb2_grpc.A2AServiceStub(self.channel)
        self.last_call: grpc.Call | None = None

    def close(self) -> None:
        self.channel.close()

    def metadata(self, version: str | None, headers: dict | None) -> list[tuple[str, str]]:
        merged = service_headers(version, {**self.headers, **(headers or {})})
        return [(name.lower(), value) for name, value in merged.items()]

    def call(self, operation, request=None, *, version="1.0", headers=None) -> dict:
        shape = OPERATIONS[operation]
        message = strict.request(request or {}, shape.request)
        try:
            answer, self.last_call = getattr(self.stub, operation).with_call(
                message, metadata=self.metadata(version, headers), timeout=30
            )
        except grpc.RpcError as error:
            raise grpc_failure(error) from None
        return strict.write(strict.complete(answer))

    def open(self, operation, request=None, *, version="1.0", headers=None) -> Feed:
        shape = OPERATIONS[operation]
        message = strict.request(request or {}, shape.request)
        stream = getattr(self.stub, operation)(message, metadata=self.metadata(version, headers))
        self.last_call = stream
        try:
            first = next(stream)
        except StopIteration:
            raise AssertionError("the stream ended without an event") from None
        except grpc.RpcError as error:
            raise grpc_failure(error) from None

        def events() -> Iterator[dict]:
            yield strict.write(strict.complete(first))
            try:
                for event in stream:
                    yield strict.write(strict.complete(event))
            except grpc.RpcError as error:
                raise grpc_failure(error) from None

        return Feed(events(), stream.cancel)


def grpc_failure(error: grpc.RpcError) -> Failure:
    """The failure in a gRPC status, with its details decoded."""
    code = error.code().name
    details = status_details(error)
    name = failure_name(code, details)
    check_details(name, details)
    return Failure(name, code, error.details() or "", details)


def status_details(error: grpc.RpcError) -> list[dict]:
    """The details of grpc-status-details-bin, in their JSON form."""
    trailers = dict(error.trailing_metadata() or ())
    if "grpc-status-details-bin" not in trailers:
        return []
    status = status_pb2.Status.FromString(trailers["grpc-status-details-bin"])
    assert status.code == error.code().value[0], "the status and its details disagree"
    assert status.message == error.details(), "the message and its details disagree"
    details = []
    for packed in status.details:
        kind = DETAILS.get(packed.type_url.rpartition("/")[2])
        assert kind, f"an unknown detail: {packed.type_url}"
        detail = kind()
        packed.Unpack(detail)
        details.append({"@type": packed.type_url, **json_format.MessageToDict(detail)})
    return details
