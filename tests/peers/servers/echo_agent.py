"""An echo agent on the official Python SDK, for `./bench peers`: JSON-RPC at `/`, tasks in memory, webhooks, 1.0 and 0.3.

An `echo` has the same three events as that of Nuncio's demo agent; `stream N every=200` writes N chunks, one every 200 ms. It
prints its address and serves until it is killed.
"""

from __future__ import annotations

import asyncio
import socket

import httpx
import uvicorn
from a2a.helpers.proto_helpers import get_message_text, new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import a2a_pb2 as pb
from starlette.applications import Starlette


class Echo(AgentExecutor):
    """Says the message again."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        text = get_message_text(context.message).removeprefix("echo ")
        await updater.start_work()
        if text.startswith("stream "):
            for number in range(int(text.split()[1])):
                await asyncio.sleep(0.2)
                await updater.add_artifact(
                    [new_text_part(f"chunk {number + 1}\n")], artifact_id="stream-1", append=number > 0
                )
            await updater.complete()
            return
        await updater.add_artifact([new_text_part(text)], artifact_id="echo-1", last_chunk=True)
        await updater.complete(updater.new_agent_message([new_text_part(f"echo: {text}")]))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


async def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    http = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    card = pb.AgentCard(
        name="Echo",
        description="Says it again",
        version="1.0.0",
        supported_interfaces=[
            pb.AgentInterface(url=http, protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        capabilities=pb.AgentCapabilities(streaming=True, push_notifications=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[pb.AgentSkill(id="echo", name="Echo", description="Says it again", tags=["test"])],
    )
    configs = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        Echo(),
        InMemoryTaskStore(),
        card,
        push_config_store=configs,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), configs),
    )
    app = Starlette(routes=create_jsonrpc_routes(handler, "/", enable_v0_3_compat=True))
    print(f"listening on {http}", flush=True)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    await server.serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main())
