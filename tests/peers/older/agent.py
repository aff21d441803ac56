"""An agent on a2a-sdk 0.3 or 0.2, whichever the environment has: every binding it offers.

Its behaviour is chosen by the first word of the message, as in the demo agent.
It prints the URL of its card and serves until it is killed.
"""

from __future__ import annotations

import asyncio
import base64
import socket

import a2a.types as types
import grpc.aio
import httpx
import uvicorn
from a2a.grpc import a2a_pb2_grpc
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.apps import A2AStarletteApplication
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.utils import new_agent_text_message, new_task
from a2a.utils.constants import AGENT_CARD_WELL_KNOWN_PATH

try:
    from a2a.server.apps import A2ARESTFastAPIApplication
except ImportError:  # 0.2 has no HTTP+JSON
    A2ARESTFastAPIApplication = None


def text_part(text: str) -> types.Part:
    return types.Part(root=types.TextPart(text=text))


class Scripted(AgentExecutor):
    """The demo agent's scripts, as far as the client tests need them."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        word, _, rest = text.partition(" ")
        if word == "message":
            reply = new_agent_text_message(f"message: {rest}", context_id=context.context_id)
            await event_queue.enqueue_event(reply)
            return
        task = context.current_task
        if task is None:
            task = new_task(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        if word == "raise":
            raise RuntimeError("the model is not there")

        def say(words: str) -> types.Message:
            return updater.new_agent_message([text_part(words)])

        if context.current_task is not None:
            await updater.complete(say(f"got: {text}"))
        elif word == "stream":
            count = int(rest)
            await updater.start_work()
            for number in range(1, count + 1):
                await updater.add_artifact(
                    [text_part(f"chunk {number}\n")],
                    artifact_id="stream-1",
                    append=number > 1,
                    last_chunk=number == count,
                )
            await updater.complete()
        elif word in ("input", "auth"):
            state, words = {
                "input": (types.TaskState.input_required, "what else?"),
                "auth": (types.TaskState.auth_required, "please sign in"),
            }[word]
            await updater.update_status(state, say(words), final=True)
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
                await updater.add_artifact([types.Part(root=part)], artifact_id=name)
            await updater.complete()
        else:
            echo = rest if word == "echo" else text
            await updater.start_work()
            await updater.add_artifact([text_part(echo)], artifact_id="echo-1")
            await updater.complete(say(f"echo: {echo}"))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.update_status(types.TaskState.canceled, final=True)


def parts() -> dict:
    raw = base64.b64encode(bytes(range(256))).decode()
    return {
        "a-text": types.TextPart(text="héllo ✓"),
        "a-raw": types.FilePart(
            file=types.FileWithBytes(
                bytes=raw, mime_type="application/octet-stream", name="all.bin"
            )
        ),
        "a-url": types.FilePart(
            file=types.FileWithUri(
                uri="https://example.com/o.txt", mime_type="text/plain", name="o.txt"
            )
        ),
        "a-data": types.DataPart(data={"k": [1, 2.5, None, True, "x"]}),
    }


def card(http: str, grpc_address: str) -> types.AgentCard:
    interfaces = [(f"{http}/rpc", "JSONRPC"), (grpc_address, "GRPC")]
    if A2ARESTFastAPIApplication:
        interfaces.append((f"{http}/rest", "HTTP+JSON"))
    modes = ["text/plain", "application/json", "application/octet-stream"]
    return types.AgentCard(
        name="Older Python peer",
        description="Scripted agent on an older official Python SDK",
        version="1.0.0",
        url=f"{http}/rpc",
        preferred_transport="JSONRPC",
        additional_interfaces=[
            types.AgentInterface(url=url, transport=transport) for url, transport in interfaces
        ],
        capabilities=types.AgentCapabilities(streaming=True, push_notifications=True),
        default_input_modes=modes,
        default_output_modes=modes,
        skills=[
            types.AgentSkill(id="echo", name="Echo", description="Says it again", tags=["test"])
        ],
        supports_authenticated_extended_card=True,
    )


async def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    http = f"http://127.0.0.1:{listener.getsockname()[1]}"
    grpc_server = grpc.aio.server()
    grpc_address = f"127.0.0.1:{grpc_server.add_insecure_port('127.0.0.1:0')}"
    agent_card = card(http, grpc_address)
    extended = agent_card.model_copy(update={"description": "The extended card"})
    configs = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        Scripted(),
        InMemoryTaskStore(),
        push_config_store=configs,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), configs),
    )
    service = GrpcHandler(agent_card, handler)
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(service, grpc_server)
    await grpc_server.start()
    application = A2AStarletteApplication(agent_card, handler, extended_agent_card=extended)
    app = application.build(rpc_url="/rpc")
    if A2ARESTFastAPIApplication:
        rest = A2ARESTFastAPIApplication(agent_card, handler, extended_agent_card=extended)
        app.mount("/rest", rest.build())
    print(f"{http}{AGENT_CARD_WELL_KNOWN_PATH}", flush=True)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    await server.serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main())
