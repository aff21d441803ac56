"""An agent on the official Python SDK: JSON-RPC, HTTP+JSON and gRPC.

`python_agent.py 0.3` speaks 0.3 instead of 1.0, through the SDK's own compatibility mode.
Its behaviour is chosen by the first word of the message, as in the demo agent.
It prints the URL of its card and serves until it is killed.
"""

from __future__ import annotations

import asyncio
import socket
import sys

import grpc.aio
import httpx
import uvicorn
from a2a.compat.v0_3 import a2a_v0_3_pb2_grpc
from a2a.compat.v0_3.grpc_handler import CompatGrpcHandler
from a2a.helpers.proto_helpers import (
    get_message_text,
    new_data_part,
    new_raw_part,
    new_task_from_user_message,
    new_text_message,
    new_text_part,
    new_url_part,
)
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import (
    create_agent_card_routes,
    create_jsonrpc_routes,
    create_rest_routes,
)
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import a2a_pb2 as pb
from a2a.types import a2a_pb2_grpc
from starlette.applications import Starlette


class Scripted(AgentExecutor):
    """The demo agent's scripts, as far as the client tests need them."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = get_message_text(context.message)
        word, _, rest = text.partition(" ")
        if word == "message":
            await event_queue.enqueue_event(
                new_text_message(
                    f"message: {rest}", context_id=context.context_id, role=pb.ROLE_AGENT
                )
            )
            return
        task = context.current_task
        if task is None:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)

        def say(words: str) -> pb.Message:
            return updater.new_agent_message([new_text_part(words)])

        if context.current_task is not None:
            await updater.complete(say(f"got: {text}"))
        elif word == "stream":
            count = int(rest)
            await updater.start_work()
            for number in range(1, count + 1):
                await updater.add_artifact(
                    [new_text_part(f"chunk {number}\n")],
                    artifact_id="stream-1",
                    append=number > 1,
                    last_chunk=number == count,
                )
            await updater.complete()
        elif word == "input":
            await updater.requires_input(say("what else?"))
        elif word == "auth":
            await updater.requires_auth(say("please sign in"))
        elif word == "slow":
            await updater.start_work()
            await asyncio.sleep(float(rest))
            await updater.complete()
        elif word == "fail":
            await updater.start_work()
            await updater.failed(say("it broke"))
        elif word == "reject":
            await updater.reject(say("not with me"))
        elif word == "parts":
            await updater.start_work()
            for name, part in parts().items():
                await updater.add_artifact([part], artifact_id=name)
            await updater.complete()
        else:
            echo = rest if word == "echo" else text
            await updater.start_work()
            await updater.add_artifact([new_text_part(echo)], artifact_id="echo-1")
            await updater.complete(say(f"echo: {echo}"))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def parts() -> dict[str, pb.Part]:
    return {
        "a-text": new_text_part("héllo ✓"),
        "a-raw": new_raw_part(
            bytes(range(256)), media_type="application/octet-stream", filename="all.bin"
        ),
        "a-url": new_url_part(
            "https://example.com/o.txt", media_type="text/plain", filename="o.txt"
        ),
        "a-data": new_data_part({"k": [1, 2.5, None, True, "x"]}),
    }


def card(http: str, grpc_address: str, version: str) -> pb.AgentCard:
    def interface(url: str, binding: str) -> pb.AgentInterface:
        return pb.AgentInterface(url=url, protocol_binding=binding, protocol_version=version)

    modes = ["text/plain", "application/json", "application/octet-stream"]
    return pb.AgentCard(
        name="Python peer",
        description="Scripted agent on the official Python SDK",
        version="1.0.0",
        supported_interfaces=[
            interface(f"{http}/rpc", "JSONRPC"),
            interface(f"{http}/rest", "HTTP+JSON"),
            interface(grpc_address, "GRPC"),
        ],
        capabilities=pb.AgentCapabilities(
            streaming=True, push_notifications=True, extended_agent_card=True
        ),
        default_input_modes=modes,
        default_output_modes=modes,
        skills=[pb.AgentSkill(id="echo", name="Echo", description="Says it again", tags=["test"])],
    )


def extended(public: pb.AgentCard) -> pb.AgentCard:
    """The card for callers who are known, with one skill more."""
    whole = pb.AgentCard()
    whole.CopyFrom(public)
    whole.skills.append(
        pb.AgentSkill(id="secret", name="Secret", description="Not for everybody", tags=["test"])
    )
    return whole


async def main(version: str) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    http = f"http://127.0.0.1:{listener.getsockname()[1]}"
    grpc_server = grpc.aio.server()
    grpc_address = f"127.0.0.1:{grpc_server.add_insecure_port('127.0.0.1:0')}"
    agent_card = card(http, grpc_address, version)
    compat = version != "1.0"
    configs = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        Scripted(),
        InMemoryTaskStore(),
        agent_card,
        extended_agent_card=extended(agent_card),
        push_config_store=configs,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), configs),
    )
    if compat:
        service = CompatGrpcHandler(handler)
        a2a_v0_3_pb2_grpc.add_A2AServiceServicer_to_server(service, grpc_server)
    else:
        a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), grpc_server)
    await grpc_server.start()
    app = Starlette(
        routes=[
            *create_agent_card_routes(agent_card),
            *create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=compat),
            *create_rest_routes(handler, path_prefix="/rest", enable_v0_3_compat=compat),
        ]
    )
    print(f"{http}/.well-known/agent-card.json", flush=True)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    await server.serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:] or ["1.0"]))
