"""A client as a filter: one call a line of stdin, its result, events, error or end on stdout.

    {"call": 1, "operation": "tasks/get", "request": {"id": "t"}}   ->   {"call": 1, "result": {...}}
    {"drop": 1}   leaves the stream of call 1
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable

from a2a.client.errors import A2AClientHTTPError

try:
    import grpc
except ImportError:  # 0.2.0 has no gRPC
    grpc = None

Answer = Callable[[str, dict], Awaitable[object] | AsyncIterator[object]]


def say(**document) -> None:
    print(json.dumps(document), flush=True)


def dump(value):
    """A document of the SDK's types as JSON."""
    if isinstance(value, list):
        return [dump(member) for member in value]
    if value is None:
        return None
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


class Refused(Exception):
    """A JSON-RPC error."""

    def __init__(self, error):
        self.code = error.code
        super().__init__(error.message)


def result(response):
    """The result of a JSON-RPC response of the SDK's types, in either form of 0.2."""
    if error := getattr(response.root, "error", None):
        raise Refused(error)
    return response.root.result


def failure(error: Exception) -> dict:
    """Whatever the SDK raised, as far as it tells: a JSON-RPC code, an HTTP status, a name."""
    if grpc and isinstance(error, grpc.RpcError):
        # The 0.x servers put the name of the error before its message.
        named = re.match(r"(\w+)Error: (.*)", error.details() or "", re.DOTALL)
        name = named[1] if named else error.code().name
        return {"name": name, "code": error.code().name, "message": error.details()}
    if isinstance(error, A2AClientHTTPError):
        return {"http": error.status_code, "message": str(error)}
    if isinstance(error, Refused):
        return {"rpc": error.code, "message": str(error)}
    if hasattr(error, "error"):
        return {"rpc": error.error.code, "message": error.error.message}
    return {"name": type(error).__name__, "message": repr(error)}


async def answer(client: Answer, call: int, operation: str, request: dict) -> None:
    try:
        answering = client(operation, request)
        if hasattr(answering, "__aiter__"):
            async for event in answering:
                say(call=call, event=dump(event))
            say(call=call, end=True)
        else:
            say(call=call, result=dump(await answering))
    except asyncio.CancelledError:
        say(call=call, end=True)
    except Exception as error:  # the other side judges it
        say(call=call, error=failure(error))


async def run(client: Answer) -> None:
    """Serves calls until stdin ends."""
    reader = asyncio.StreamReader(limit=1 << 24)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    running: dict[int, asyncio.Task] = {}
    while line := await reader.readline():
        command = json.loads(line)
        if "drop" in command:
            running[command["drop"]].cancel()
            continue
        call = command["call"]
        work = answer(client, call, command["operation"], command["request"])
        running[call] = asyncio.create_task(work)
