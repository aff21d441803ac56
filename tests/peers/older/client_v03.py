"""The client of a2a-sdk 0.3: `client_v03.py ORIGIN BINDING HEADERS`, see lines.py."""

from __future__ import annotations

import asyncio
import json
import sys
import uuid

import grpc.aio
import httpx
from a2a import types
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.grpc import a2a_pb2
from a2a.utils import proto_utils

import lines

TRANSPORTS = {"jsonrpc": "JSONRPC", "rest": "HTTP+JSON", "grpc": "GRPC"}


class Client:
    """The SDK's clients, all made from the served card."""

    def __init__(self, http: httpx.AsyncClient, card: types.AgentCard, binding: str):
        self.http = http
        self.card = card
        self.binding = binding
        self.channels: dict[str, grpc.aio.Channel] = {}
        self.plain = self.make(streaming=False)
        self.streaming = self.make(streaming=True)

    def make(self, streaming: bool, hooks: list[types.PushNotificationConfig] | None = None):
        config = ClientConfig(
            streaming=streaming,
            httpx_client=self.http,
            grpc_channel_factory=self.channel,
            supported_transports=[TRANSPORTS[self.binding]],
            push_notification_configs=hooks or [],
        )
        return ClientFactory(config).create(self.card)

    def channel(self, url: str) -> grpc.aio.Channel:
        if url not in self.channels:
            self.channels[url] = grpc.aio.insecure_channel(url)
        return self.channels[url]

    def __call__(self, operation: str, request: dict):
        match operation:
            case "message/send":
                return self.send(request)
            case "message/stream":
                return self.events(self.sending(request, streaming=True))
            case "tasks/resubscribe":
                return self.events(self.streaming.resubscribe(types.TaskIdParams(**request)))
            case "tasks/get":
                return self.plain.get_task(types.TaskQueryParams(**request))
            case "tasks/cancel":
                return self.plain.cancel_task(types.TaskIdParams(**request))
            case "tasks/pushNotificationConfig/set":
                config = types.TaskPushNotificationConfig(**request)
                return self.plain.set_task_callback(config)
            case "tasks/pushNotificationConfig/get":
                which = types.GetTaskPushNotificationConfigParams(**request)
                return self.plain.get_task_callback(which)
            case "tasks/pushNotificationConfig/list":
                return self.list_configs(request)
            case "tasks/pushNotificationConfig/delete":
                return self.delete_config(request)
            case "agent/getAuthenticatedExtendedCard":
                return self.plain.get_card()
            case "card":
                return asyncio.sleep(0, self.card)
        raise ValueError(operation)

    def sending(self, request: dict, streaming: bool):
        params = types.MessageSendParams(**request)
        configuration = params.configuration
        hook = configuration.push_notification_config
        client = self.streaming if streaming else self.plain
        if hook:
            # A client has its webhooks from the start: it spoils those of a single call.
            client = self.make(streaming, [hook])
            kept = configuration.model_dump(exclude={"push_notification_config"}, exclude_unset=True)
            configuration = types.MessageSendConfiguration(**kept)
        return client.send_message(
            params.message, configuration=configuration, request_metadata=params.metadata
        )

    async def send(self, request: dict):
        (answer,) = [answer async for answer in self.sending(request, streaming=False)]
        return answer[0] if isinstance(answer, tuple) else answer

    async def events(self, stream):
        async for event in stream:
            if isinstance(event, tuple):
                task, update = event
                yield update or task
            else:
                yield event

    # The client has no methods for these two, only its types.

    async def list_configs(self, request: dict):
        if self.binding == "grpc":
            parent = f"tasks/{request['id']}"
            answer = await self.stub.ListTaskPushNotificationConfig(
                a2a_pb2.ListTaskPushNotificationConfigRequest(parent=parent)
            )
            return [proto_utils.FromProto.task_push_notification_config(c) for c in answer.configs]
        return await self.rpc(
            types.ListTaskPushNotificationConfigRequest,
            types.ListTaskPushNotificationConfigResponse,
            request,
        )

    async def delete_config(self, request: dict):
        if self.binding == "grpc":
            config = request["pushNotificationConfigId"]
            name = f"tasks/{request['id']}/pushNotificationConfigs/{config}"
            await self.stub.DeleteTaskPushNotificationConfig(
                a2a_pb2.DeleteTaskPushNotificationConfigRequest(name=name)
            )
            return None
        return await self.rpc(
            types.DeleteTaskPushNotificationConfigRequest,
            types.DeleteTaskPushNotificationConfigResponse,
            request,
        )

    @property
    def stub(self):
        return self.plain._transport.stub

    async def rpc(self, request_type, response_type, params: dict):
        request = request_type(id=str(uuid.uuid4()), params=params)
        payload = request.model_dump(mode="json", exclude_none=True)
        response = response_type.model_validate(await self.plain._transport._send_request(payload))
        if isinstance(response.root, types.JSONRPCErrorResponse):
            raise lines.Refused(response.root.error)
        return response.root.result


async def main(origin: str, binding: str, headers: str) -> None:
    http = httpx.AsyncClient(timeout=30, headers=json.loads(headers), trust_env=False)
    card = await A2ACardResolver(http, origin).get_agent_card()
    await lines.run(Client(http, card, binding))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
