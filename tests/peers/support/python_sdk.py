"""The official Python SDK's client, behind the same calls as the wires."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future

import grpc.aio
import httpx
from a2a.client.card_resolver import A2ACardResolver
from a2a.client.client import ClientCallContext, ClientConfig
from a2a.client.client_factory import ClientFactory
from a2a.utils.errors import A2AError

from . import strict
from .caller import Caller
from .failure import Failure, by_http
from .feed import Feed
from .operations import OPERATIONS

BINDINGS = {"jsonrpc": "JSONRPC", "rest": "HTTP+JSON", "grpc": "GRPC"}
METHODS = {
    "GetTask": "get_task",
    "ListTasks": "list_tasks",
    "CancelTask": "cancel_task",
    "CreateTaskPushNotificationConfig": "create_task_push_notification_config",
    "GetTaskPushNotificationConfig": "get_task_push_notification_config",
    "ListTaskPushNotificationConfigs": "list_task_push_notification_configs",
    "DeleteTaskPushNotificationConfig": "delete_task_push_notification_config",
    "GetExtendedAgentCard": "get_extended_agent_card",
}
COARSE = ("HTTPStatusError", "MethodNotFoundError", "A2AClientError")
END = object()


class Loop:
    """One event loop in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def begin(self, coroutine) -> Future:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def run(self, coroutine, timeout: float = 30):
        return self.begin(coroutine).result(timeout)


class PythonSdk(Caller):
    """A client made by the SDK's factory from the served card.

    With `version` it has only the interfaces of that version to choose from.
    """

    def __init__(
        self,
        loop: Loop,
        url: str,
        binding: str,
        headers: dict | None = None,
        version: str = "1.0",
    ):
        self.name = f"python-{binding}"
        self.version = version
        self.binding = binding
        self._loop = loop
        self._headers = headers or {}
        self._http, self._plain, self._streaming = loop.run(self._connect(url))

    async def _connect(self, url: str):
        http = httpx.AsyncClient(timeout=30)
        self.card = await A2ACardResolver(http, url).get_agent_card()
        for interface in list(self.card.supported_interfaces):
            if not interface.protocol_version.startswith(self.version):
                self.card.supported_interfaces.remove(interface)
        clients = [
            ClientFactory(
                ClientConfig(
                    streaming=streaming,
                    httpx_client=http,
                    supported_protocol_bindings=[BINDINGS[self.binding]],
                    grpc_channel_factory=grpc.aio.insecure_channel,
                )
            ).create(self.card)
            for streaming in (False, True)
        ]
        return http, *clients

    def close(self) -> None:
        async def close() -> None:
            await self._http.aclose()
            for client in (self._plain, self._streaming):
                await client.close()

        self._loop.run(close())

    def _context(self, headers: dict | None) -> ClientCallContext:
        return ClientCallContext(
            timeout=30, service_parameters={**self._headers, **(headers or {})}
        )

    def call(self, operation, request=None, *, headers=None) -> dict:
        message = strict.request(request or {}, OPERATIONS[operation].request)
        return self._loop.run(self._call(operation, message, self._context(headers)))

    async def _call(self, operation, message, context) -> dict:
        try:
            if operation == "SendMessage":
                answers = [a async for a in self._plain.send_message(message, context=context)]
                assert len(answers) == 1
                return strict.write(strict.complete(answers[0]))
            method = getattr(self._plain, METHODS[operation])
            answer = await method(message, context=context)
            return {} if answer is None else strict.write(strict.complete(answer))
        except (A2AError, httpx.HTTPStatusError) as error:
            raise failure(error) from error

    def open(self, operation, request=None, *, headers=None) -> Feed:
        message = strict.request(request or {}, OPERATIONS[operation].request)
        context = self._context(headers)
        if operation == "SendStreamingMessage":
            events = self._streaming.send_message(message, context=context)
        else:
            events = self._streaming.subscribe(message, context=context)
        reader = Reader(self._loop, events)
        first = reader.next()
        assert first is not END, "the stream ended without an event"

        def read() -> Iterator[dict]:
            event = first
            while event is not END:
                yield event
                event = reader.next()

        return Feed(read(), reader.drop)


class Reader:
    """Reads one stream of the SDK, and can leave it in the middle of a read."""

    def __init__(self, loop: Loop, events):
        self._loop = loop
        self._events = events
        self._reading: asyncio.Task | None = None
        self._dropped = False

    def next(self):
        return self._loop.run(self._next(), timeout=60)

    async def _next(self):
        # Whoever reads may ask for the next event while the stream is being dropped.
        if self._dropped:
            return END
        self._reading = asyncio.current_task()
        try:
            return strict.write(strict.complete(await anext(self._events)))
        except StopAsyncIteration:
            return END
        except (A2AError, httpx.HTTPStatusError) as error:
            raise failure(error) from error

    def drop(self) -> None:
        self._loop.run(self._drop())

    async def _drop(self) -> None:
        self._dropped = True
        if self._reading:
            self._reading.cancel()
            await asyncio.wait([self._reading])
        await self._events.aclose()


def failure(error: Exception) -> Failure:
    # In its 0.3 mode the SDK knows no more of an error of HTTP+JSON than its status.
    http = error if isinstance(error, httpx.HTTPStatusError) else error.__cause__
    if isinstance(http, httpx.HTTPStatusError) and type(error).__name__ in COARSE:
        return by_http(http.response.status_code, str(error))
    name = type(error).__name__.removesuffix("Error")
    return Failure(name, None, str(error), [])
