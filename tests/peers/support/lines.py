"""A client in a process of its own that speaks JSON lines: one call a line, answers as they come."""

from __future__ import annotations

import itertools
import json
import os
import queue
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from .failure import BY_RPC, Failure, by_http


class Lines:
    """Answers have `call` and one of `result`, `event`, `end`, `error`."""

    def __init__(self, command: Sequence[str | Path], log: Path, environment: dict | None = None):
        self._ids = itertools.count(1)
        self._answers: dict[int, queue.Queue] = {}
        self._writing = threading.Lock()
        self._log = log.open("ab")
        self._process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            bufsize=1,
            env={**os.environ, **(environment or {})},
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

    def _tell(self, **line) -> None:
        assert self._process.stdin
        with self._writing:
            self._process.stdin.write(json.dumps(line) + "\n")
            self._process.stdin.flush()

    def _ask(self, operation: str, request: dict, parameters: dict) -> int:
        call = next(self._ids)
        self._answers[call] = queue.Queue()
        self._tell(call=call, operation=operation, request=request, parameters=parameters)
        return call

    def _answer(self, call: int, timeout: float = 60) -> dict:
        answer = self._answers[call].get(timeout=timeout)
        if "error" in answer:
            raise failure(answer["error"])
        return answer

    def call(self, operation: str, request: dict, parameters: dict | None = None):
        """The result of one call."""
        return self._answer(self._ask(operation, request, parameters or {}))["result"]

    def open(self, operation: str, request: dict, parameters: dict | None = None) -> Stream:
        """The events of one call; fails here when the first answer is a failure."""
        call = self._ask(operation, request, parameters or {})
        return Stream(self, call, self._answer(call))


class Stream:
    """The events of one call, in order."""

    def __init__(self, lines: Lines, call: int, first: dict):
        self._lines = lines
        self._call = call
        self._first = first

    def __iter__(self) -> Iterator[dict]:
        answer = self._first
        while "event" in answer:
            yield answer["event"]
            answer = self._lines._answer(self._call)

    def drop(self) -> None:
        self._lines._tell(drop=self._call)


# What older clients call a failure, or make of a bare gRPC status.
SAME = {
    "AuthenticatedExtendedCardNotConfigured": "ExtendedAgentCardNotConfigured",
    "INVALID_ARGUMENT": "InvalidParams",
    "NOT_FOUND": "TaskNotFound",
    "UNAUTHENTICATED": "Unauthenticated",
}


def failure(error: dict) -> Failure:
    """The failure by the best that the client tells: a JSON-RPC code, an HTTP status, a name."""
    if "rpc" in error:
        name = BY_RPC.get(error["rpc"], "Unknown")
        return Failure(name, error["rpc"], error["message"], [])
    if "http" in error:
        return by_http(error["http"], error["message"])
    name = SAME.get(error["name"], error["name"])
    return Failure(name, error.get("code"), error["message"], [])
