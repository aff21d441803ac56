"""The clients of a2a-sdk 0.2: `client_v02.py ORIGIN BINDING HEADERS`, see lines.py."""

from __future__ import annotations

import asyncio
import json
import sys
import uuid

import grpc.aio
import httpx
from a2a import types
from a2a.client import A2ACardResolver, A2AClient, A2AGrpcClient
from a2a.grpc import a2a_pb2, a2a_pb2_grpc
from a2a.utils import proto_utils
from a2a.utils.constants import EXTENDED_AGENT_CARD_PATH
from httpx_sse import aconnect_sse

import lines


class JsonRpc:
    def __init__(self, http: httpx.AsyncClient, card: types.AgentCard):
        self.http = http
        self.client = A2AClient(http, agent_card=card)

    def __call__(self, operation: str, request: dict):
        client, posted = self.client, self.client._send_request
        match operation:
            case "message/stream":
                return self.stream(types.SendStreamingMessageRequest, request)
            case "tasks/resubscribe":
                return self.resubscribe(request)
            case "message/send":
                return self.unary(client.send_message, types.SendMessageRequest, request)
            case "tasks/get":
                return self.unary(client.get_task, types.GetTaskRequest, request)
            case "tasks/cancel":
                return self.unary(client.cancel_task, types.CancelTaskRequest, request)
            case "tasks/pushNotificationConfig/set":
                kind = types.SetTaskPushNotificationConfigRequest
                return self.unary(client.set_task_callback, kind, request)
            case "tasks/pushNotificationConfig/get":
                kind = types.GetTaskPushNotificationConfigRequest
                return self.unary(client.get_task_callback, kind, request)
            # The client has no methods for these, only its types.
            case "tasks/pushNotificationConfig/list":
                kind = types.ListTaskPushNotificationConfigRequest
                read = types.ListTaskPushNotificationConfigResponse
                return self.unary(posted, kind, request, read)
            case "tasks/pushNotificationConfig/delete":
                kind = types.DeleteTaskPushNotificationConfigRequest
                read = types.DeleteTaskPushNotificationConfigResponse
                return self.unary(posted, kind, request, read)
        raise ValueError(operation)

    async def unary(self, method, kind, params: dict, read=None):
        request = kind(id=str(uuid.uuid4()), params=params)
        if read:
            posted = await method(request.model_dump(mode="json", exclude_none=True))
            return lines.result(read.model_validate(posted))
        return lines.result(await method(request))

    async def stream(self, kind, params: dict):
        request = kind(id=str(uuid.uuid4()), params=params)
        async for response in self.client.send_message_streaming(request):
            yield lines.result(response)

    async def resubscribe(self, params: dict):
        request = types.TaskResubscriptionRequest(id=str(uuid.uuid4()), params=params)
        body = request.model_dump(mode="json", exclude_none=True)
        async with aconnect_sse(self.http, "POST", self.client.url, json=body) as source:
            async for event in source.aiter_sse():
                yield lines.result(types.SendStreamingMessageResponse.model_validate_json(event.data))


class Grpc:
    def __init__(self, card: types.AgentCard):
        interfaces = {i.transport: i.url for i in card.additional_interfaces or []}
        self.stub = a2a_pb2_grpc.A2AServiceStub(grpc.aio.insecure_channel(interfaces["GRPC"]))
        self.client = A2AGrpcClient(self.stub, card)

    def __call__(self, operation: str, request: dict):
        match operation:
            case "message/send":
                return self.client.send_message(types.MessageSendParams(**request))
            case "message/stream":
                return self.client.send_message_streaming(types.MessageSendParams(**request))
            case "tasks/get":
                return self.client.get_task(types.TaskQueryParams(**request))
            case "tasks/cancel":
                return self.client.cancel_task(types.TaskIdParams(**request))
            case "tasks/pushNotificationConfig/set":
                config = types.TaskPushNotificationConfig(**request)
                return self.client.set_task_callback(config)
            case "tasks/pushNotificationConfig/get":
                return self.client.get_task_callback(types.TaskIdParams(id=request["id"]))
            case "tasks/resubscribe":
                return self.resubscribe(request)
        raise ValueError(operation)

    async def resubscribe(self, request: dict):
        name = f"tasks/{request['id']}"
        async for event in self.stub.TaskSubscription(
            a2a_pb2.TaskSubscriptionRequest(name=name)
        ):
            kind = event.WhichOneof("payload")
            read = {
                "msg": proto_utils.FromProto.message,
                "task": proto_utils.FromProto.task,
                "status_update": proto_utils.FromProto.task_status_update_event,
                "artifact_update": proto_utils.FromProto.task_artifact_update_event,
            }[kind]
            yield read(getattr(event, kind))


async def main(origin: str, binding: str, headers: str) -> None:
    http = httpx.AsyncClient(timeout=30, headers=json.loads(headers), trust_env=False)
    resolver = A2ACardResolver(http, origin)
    card = await resolver.get_agent_card()
    client = JsonRpc(http, card) if binding == "jsonrpc" else Grpc(card)

    def call(operation: str, request: dict):
        if operation == "card":
            return asyncio.sleep(0, card)
        if operation == "agent/getAuthenticatedExtendedCard":
            return resolver.get_agent_card(relative_card_path=EXTENDED_AGENT_CARD_PATH)
        return client(operation, request)

    await lines.run(call)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
