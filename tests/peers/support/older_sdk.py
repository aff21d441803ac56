"""Official clients of 0.3, 0.2 and 0.2.0, in their own environments, behind the calls of 1.0."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from . import strict, v03
from .caller import TERMINAL, Caller
from .events import state
from .feed import Feed
from .lines import Lines
from .operations import OPERATIONS
from .process import HERE, ROOT

ENVIRONMENTS = Path(os.environ.get("PEERS_ENVIRONMENTS", ROOT / ".test"))


def python(version: str) -> Path:
    """The Python that has `a2a-sdk` of this version."""
    return ENVIRONMENTS / f"venv-{version}" / "bin" / "python"


COMMANDS = {
    "python03": [python("0.3"), HERE / "older" / "client_v03.py"],
    "python02": [python("0.2"), HERE / "older" / "client_v02.py"],
    "python020": [python("0.2.4"), HERE / "older" / "client_v020.py"],
    "js03": ["node", HERE / "js-0.3" / "client.mjs"],
}


class OlderSdk(Caller):
    """Drives a client of `COMMANDS`, which speaks the documents of its own version."""

    def __init__(
        self, sdk: str, url: str, binding: str, log: Path, headers: dict | None = None
    ):
        self.name = f"{sdk}-{binding}"
        self.binding = binding
        self._lines = Lines([*COMMANDS[sdk], url, binding, json.dumps(headers or {})], log)

    def close(self) -> None:
        self._lines.close()

    def card(self) -> dict:
        """The card as the client read it."""
        return self._lines.call("card", {})

    def call(self, operation, request=None) -> dict:
        params = v03.request(operation, request or {})
        answer = v03.answer(operation, self._lines.call(v03.METHODS[operation], params))
        if OPERATIONS[operation].response.DESCRIPTOR.name in ("Task", "SendMessageResponse"):
            strict.read(answer, OPERATIONS[operation].response)
        return answer

    def open(self, operation, request=None) -> Feed:
        params = v03.request(operation, request or {})
        stream = self._lines.open(v03.METHODS[operation], params)
        return Feed(checked(stream), stream.drop)


def checked(stream: Iterable[dict]) -> Iterator[dict]:
    """Events in the form of 1.0; one that is final is the last, and none else is."""
    last: dict | None = None
    for document in stream:
        assert not (last and last.get("final")), f"{document} after the final {last}"
        last = document
        yield v03.event(document)
    if last and last["kind"] != "message":
        closed = last.get("final") or state(v03.event(last)) in TERMINAL
        assert closed, f"the stream ends without a final event: {last}"
