"""The official JavaScript SDK's client: one Node process, one JSON line a call."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from . import strict
from .caller import Caller
from .feed import Feed
from .lines import Lines
from .operations import OPERATIONS
from .process import HERE

SCRIPT = HERE / "js" / "client.mjs"


class JsSdk(Caller):
    """Drives js/client.mjs, which makes its client from the served card.

    With `version` it has only the interfaces of that version to choose from.
    """

    def __init__(
        self,
        url: str,
        binding: str,
        log: Path,
        headers: dict | None = None,
        version: str = "1.0",
    ):
        self.name = f"js-{binding}"
        self.binding = binding
        self._headers = headers or {}
        self._lines = Lines(["node", SCRIPT, url, binding, version], log)

    def close(self) -> None:
        self._lines.close()

    def _parameters(self, headers: dict | None) -> dict:
        return {**self._headers, **(headers or {})}

    def call(self, operation, request=None, *, headers=None) -> dict:
        result = self._lines.call(operation, request or {}, self._parameters(headers))
        if result:
            strict.read(result, OPERATIONS[operation].response)
        return result or {}

    def open(self, operation, request=None, *, headers=None) -> Feed:
        stream = self._lines.open(operation, request or {}, self._parameters(headers))

        def events() -> Iterator[dict]:
            for event in stream:
                strict.read(event, OPERATIONS[operation].response)
                yield event

        return Feed(events(), stream.drop)
