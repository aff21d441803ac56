"""An echo agent on the official Python SDK, for `./bench peers`: JSON-RPC at `/`, tasks in memory.

A task has the same three events as the `echo` of Nuncio's demo agent. It prints its address and serves until it is
killed.
"""

from __future__ import annotations

import asyncio
import socket

import uvicorn
from a2a.helpers.proto_helpers import get_message_text, new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
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
        capabilities=pb.AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[pb.AgentSkill(id="echo", name="Echo", description="Says it again", tags=["test"])],
    )
    handler = DefaultRequestHandler(Echo(), InMemoryTaskStore(), card)
    app = Starlette(routes=create_jsonrpc_routes(handler, "/"))
    print(f"listening on {http}", flush=True)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    await server.serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main())
