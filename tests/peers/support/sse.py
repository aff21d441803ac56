"""Server-sent events, read strictly from bytes: one document, one data line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class ServerSentEvent(NamedTuple):
    data: dict
    id: str | None
    event: str | None


def read(chunks: Iterable[bytes], comments: list[bytes] | None = None) -> Iterator[ServerSentEvent]:
    """Events of the stream; comments (keep-alives) go to `comments` when given."""
    fields: dict[bytes, list[bytes]] = {}
    for line in _lines(chunks):
        if line.startswith(b":"):
            if comments is not None:
                comments.append(line)
        elif line:
            name, _, value = line.partition(b":")
            fields.setdefault(name, []).append(value.removeprefix(b" "))
        elif fields:
            data = fields.get(b"data", [])
            assert len(data) == 1, f"one document must be one data line: {fields}"
            yield ServerSentEvent(json.loads(data[0]), _one(fields, b"id"), _one(fields, b"event"))
            fields = {}
    assert not fields, f"the stream ends inside an event: {fields}"


def _one(fields: dict[bytes, list[bytes]], name: bytes) -> str | None:
    values = fields.get(name)
    return values[-1].decode() if values else None


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines by LF or CRLF only: other separators are content."""
    buffer = b""
    for chunk in chunks:
        buffer += chunk
        while (end := buffer.find(b"\n")) >= 0:
            yield buffer[:end].removesuffix(b"\r")
            buffer = buffer[end + 1 :]
    assert not buffer, f"the stream ends inside a line: {buffer!r}"
