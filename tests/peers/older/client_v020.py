"""The client of a2a-sdk 0.2.4, of 0.2.0: `client_v020.py ORIGIN BINDING HEADERS`, see lines.py.

It knows one path of the card, no extended card, and no list of webhooks.
"""

from __future__ import annotations

import asyncio
import json
import sys
import uuid

import httpx
from a2a import types
from a2a.client import A2ACardResolver, A2AClient
from httpx_sse import aconnect_sse

import lines


class Client:
    def __init__(self, http: httpx.AsyncClient, card: types.AgentCard):
        self.http = http
        self.client = A2AClient(http, agent_card=card)
        self.methods = {
            "message/send": (self.client.send_message, types.SendMessageRequest),
            "tasks/get": (self.client.get_task, types.GetTaskRequest),
            "tasks/cancel": (self.client.cancel_task, types.CancelTaskRequest),
            "tasks/pushNotificationConfig/set": (
                self.client.set_task_callback,
                types.SetTaskPushNotificationConfigRequest,
            ),
            "tasks/pushNotificationConfig/get": (
                self.client.get_task_callback,
                types.GetTaskPushNotificationConfigRequest,
            ),
        }

    def __call__(self, operation: str, params: dict):
        match operation:
            case "message/stream":
                return self.stream(params)
            case "tasks/resubscribe":
                return self.resubscribe(params)
        method, kind = self.methods[operation]
        return self.unary(method, kind(id=str(uuid.uuid4()), params=params))

    async def unary(self, method, request):
        return lines.result(await method(request))

    async def stream(self, params: dict):
        request = types.SendStreamingMessageRequest(id=str(uuid.uuid4()), params=params)
        async for response in self.client.send_message_streaming(request):
            yield lines.result(response)

    async def resubscribe(self, params: dict):
        """The client has no method for it, only its types."""
        request = types.TaskResubscriptionRequest(id=str(uuid.uuid4()), params=params)
        body = request.model_dump(mode="json", exclude_none=True)
        async with aconnect_sse(self.http, "POST", self.client.url, json=body) as source:
            async for event in source.aiter_sse():
                yield lines.result(types.SendStreamingMessageResponse.model_validate_json(event.data))


async def main(origin: str, _binding: str, headers: str) -> None:
    http = httpx.AsyncClient(timeout=30, headers=json.loads(headers), trust_env=False)
    card = await A2ACardResolver(http, origin).get_agent_card()
    client = Client(http, card)

    def call(operation: str, params: dict):
        return asyncio.sleep(0, card) if operation == "card" else client(operation, params)

    await lines.run(call)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
