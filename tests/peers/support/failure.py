"""One name for one failure, whichever binding or client reported it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any, NamedTuple

ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest"
DOMAIN = "a2a-protocol.org"


class Kind(NamedTuple):
    """How one failure looks in each binding; `reason` only for the A2A errors."""

    rpc: int
    http: int
    grpc: str
    reason: str | None = None


KINDS = {
    "TaskNotFound": Kind(-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
    "TaskNotCancelable": Kind(-32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"),
    "PushNotificationNotSupported": Kind(
        -32003, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"
    ),
    "UnsupportedOperation": Kind(-32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"),
    "ContentTypeNotSupported": Kind(-32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"),
    "InvalidAgentResponse": Kind(-32006, 500, "INTERNAL", "INVALID_AGENT_RESPONSE"),
    "ExtendedAgentCardNotConfigured": Kind(
        -32007, 400, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED"
    ),
    "ExtensionSupportRequired": Kind(
        -32008, 400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED"
    ),
    "VersionNotSupported": Kind(-32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"),
    "JSONParse": Kind(-32700, 400, "INVALID_ARGUMENT"),
    "InvalidRequest": Kind(-32600, 400, "INVALID_ARGUMENT"),
    "MethodNotFound": Kind(-32601, 404, "NOT_FOUND"),
    "InvalidParams": Kind(-32602, 400, "INVALID_ARGUMENT"),
    "Internal": Kind(-32603, 500, "INTERNAL"),
}

BY_REASON = {kind.reason: name for name, kind in KINDS.items() if kind.reason}
BY_RPC = {kind.rpc: name for name, kind in KINDS.items()}
BY_GRPC = {
    "INVALID_ARGUMENT": "InvalidParams",
    "NOT_FOUND": "MethodNotFound",
    "UNIMPLEMENTED": "MethodNotFound",
    "INTERNAL": "Internal",
    "UNAUTHENTICATED": "Unauthenticated",
    "PERMISSION_DENIED": "PermissionDenied",
    "RESOURCE_EXHAUSTED": "ResourceExhausted",
    "CANCELLED": "Cancelled",
}

# All that some clients of 0.3 tell of an error of HTTP+JSON is its status.
BY_HTTP = {
    400: "InvalidParams",
    401: "Unauthenticated",
    404: "TaskNotFound",
    409: "TaskNotCancelable",
    415: "ContentTypeNotSupported",
    422: "InvalidParams",
    500: "Internal",
    501: "UnsupportedOperation",
}


@dataclass
class Failure(Exception):
    """A failure that the other side reported."""

    name: str
    code: Any
    message: str = ""
    details: list[dict] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.name} ({self.code}): {self.message} {self.details}"

    @property
    def fields(self) -> list[str]:
        """The fields that google.rpc.BadRequest blames."""
        return [
            violation.get("field", "")
            for detail in self.details
            if detail.get("@type") == BAD_REQUEST
            for violation in detail.get("fieldViolations", [])
        ]


def by_http(status: int, message: str) -> Failure:
    """The failure that a status of HTTP+JSON stands for in 0.3."""
    return Failure(BY_HTTP.get(status, "Unknown"), status, message, [])


def check_details(name: str, details: Any) -> None:
    """Each detail is a typed object; an A2A error carries its ErrorInfo."""
    assert isinstance(details, list), f"details must be a list: {details!r}"
    assert all(isinstance(d, dict) and d.get("@type") for d in details), details
    reason = KINDS[name].reason if name in KINDS else None
    if reason:
        infos = [d for d in details if d["@type"] == ERROR_INFO]
        assert len(infos) == 1, f"one ErrorInfo expected in {details}"
        assert infos[0]["reason"] == reason
        assert infos[0]["domain"] == DOMAIN
        metadata = infos[0].get("metadata", {})
        assert all(isinstance(value, str) for value in metadata.values()), metadata


@contextlib.contextmanager
def refused(*names: str):
    """The block must fail with one of `names`; yields a holder for the failure."""

    class Holder:
        failure: Failure | None = None

    holder = Holder()
    try:
        yield holder
    except Failure as failure:
        assert failure.name in names, f"expected {' or '.join(names)}, got {failure}"
        holder.failure = failure
    else:
        raise AssertionError(f"expected {' or '.join(names)}, but the call succeeded")
