"""Strict reading of 1.0 documents: the official protobuf types are the judge."""

from __future__ import annotations

import re
from typing import Any

from a2a.utils.errors import InvalidParamsError
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf import json_format
from google.protobuf.message import Message

TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z")
# Required by annotation, but legally empty (cards without skills or modes, empty pages).
MAY_BE_EMPTY = ("tasks", "skills", "tags", "next_page_token", "total_size", "description")


def read(document: Any, kind: type[Message]) -> Message:
    """The document as a protobuf message; unknown or missing members fail."""
    assert isinstance(document, dict), f"{kind.__name__} expected, got {document!r}"
    _no_nulls(document, kind.__name__)
    message = json_format.ParseDict(document, kind(), max_recursion_depth=1000)
    return complete(message)


def write(message: Message) -> dict:
    """The message as ProtoJSON, only what is set."""
    return json_format.MessageToDict(message)


def request(document: dict, kind: type[Message]) -> Message:
    """A request for gRPC from its JSON form."""
    return json_format.ParseDict(document, kind(), ignore_unknown_fields=False)


def complete(message: Message) -> Message:
    """The message itself, after a look for missing required members."""
    try:
        validate_proto_required_fields(message)
    except InvalidParamsError as error:
        missing = [
            violation
            for violation in (error.data or {}).get("errors", [])
            if violation["field"].split(".")[-1] not in MAY_BE_EMPTY
        ]
        assert not missing, f"{type(message).__name__} lacks {missing}"
    return message


def _no_nulls(value: Any, path: str) -> None:
    """null is a value only inside data and metadata."""
    if isinstance(value, dict):
        for key, member in value.items():
            if key in ("data", "metadata", "params"):
                continue
            assert member is not None, f"{path}.{key} is null"
            if key == "timestamp":
                assert TIMESTAMP.fullmatch(member), f"{path}.{key} = {member!r}"
            _no_nulls(member, f"{path}.{key}")
    elif isinstance(value, list):
        for index, member in enumerate(value):
            _no_nulls(member, f"{path}[{index}]")
