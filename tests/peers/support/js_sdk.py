"""The official JavaScript SDK's client: one Node process, one JSON line a call."""

from __future__ import annotations

import itertools
import json
import queue
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

from . import strict
from .caller import Caller
from .failure import Failure
from .feed import Feed
from .operations import OPERATIONS
from .process import HERE

SCRIPT = HERE / "js" / "client.mjs"


class JsSdk(Caller):
    """Drives js/client.mjs, which makes its client from the served card."""

    def __init__(self, url: str, binding: str, log: Path, headers: dict | None = None):
        self.name = f"js-{binding}"
        self.binding = binding
        self._headers = headers or {}
        self._ids = itertools.count(1)
        self._answers: dict[int, queue.Queue] = {}
        self._log = log.open("ab")
        self._process = subprocess.Popen(
            ["node", str(SCRIPT), url, binding],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            bufsize=1,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            answer = json.loads(line)
            self._answers[answer["call"]].put(answer)
        for waiting in self._answers.values():
            waiting.put({"error": {"name": "ProcessEnded", "message": "the client died"}})

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._log.close()

    def _ask(self, operation: str, request: dict | None, headers: dict | None) -> int:
        call = next(self._ids)
        self._answers[call] = queue.Queue()
        self._tell(
            call=call,
            operation=operation,
            request=request or {},
            parameters={**self._headers, **(headers or {})},
        )
        return call

    def _tell(self, **line) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()

    def _answer(self, call: int, timeout: float = 60) -> dict:
        answer = self._answers[call].get(timeout=timeout)
        if "error" in answer:
            error = answer["error"]
            raise Failure(error["name"], error.get("code"), error["message"], [])
        return answer

    def call(self, operation, request=None, *, headers=None) -> dict:
        answer = self._answer(self._ask(operation, request, headers))
        result = answer["result"]
        if result:
            strict.read(result, OPERATIONS[operation].response)
        return result or {}

    def open(self, operation, request=None, *, headers=None) -> Feed:
        call = self._ask(operation, request, headers)
        first = self._answer(call)

        def events() -> Iterator[dict]:
            answer = first
            while "event" in answer:
                strict.read(answer["event"], OPERATIONS[operation].response)
                yield answer["event"]
                answer = self._answer(call)

        return Feed(events(), lambda: self._tell(drop=call))
