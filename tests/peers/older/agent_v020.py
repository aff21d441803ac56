"""An agent on a2a-sdk 0.2.4, which speaks 0.2.0.

Its behaviour is chosen by the first word of the message, as in agent.py.
It prints the URL of its card and serves until it is killed.
"""

from __future__ import annotations

import asyncio
import base64
import socket

import a2a.types as types
import httpx
import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.apps import A2AStarletteApplication
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryPushNotifier, InMemoryTaskStore, TaskUpdater
from a2a.utils import new_agent_text_message, new_task


def text_part(text: str) -> types.Part:
    return types.Part(root=types.TextPart(text=text))


class Scripted(AgentExecutor):
    """The demo agent's scripts, as far as the client tests need them."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        word, _, rest = text.partition(" ")
        if word == "message":
            reply = new_agent_text_message(f"message: {rest}", context_id=context.context_id)
            event_queue.enqueue_event(reply)
            return
        task = context.current_task
        if task is None:
            task = new_task(context.message)
            event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.contextId)

        def say(words: str) -> types.Message:
            return updater.new_agent_message([text_part(words)])

        if context.current_task is not None:
            updater.complete(say(f"got: {text}"))
        elif word == "stream":
            updater.start_work()
            self.stream(event_queue, task, int(rest))
            updater.complete()
        elif word in ("input", "auth"):
            state, words = {
                "input": (types.TaskState.input_required, "what else?"),
                "auth": (types.TaskState.auth_required, "please sign in"),
            }[word]
            updater.update_status(state, say(words), final=True)
        elif word == "slow":
            updater.start_work()
            await asyncio.sleep(float(rest))
            updater.complete()
        elif word == "fail":
            updater.start_work()
            updater.failed(say("it broke"))
        elif word == "parts":
            updater.start_work()
            for name, part in parts().items():
                updater.add_artifact([types.Part(root=part)], artifact_id=name)
            updater.complete()
        else:
            echo = rest if word == "echo" else text
            updater.start_work()
            updater.add_artifact([text_part(echo)], artifact_id="echo-1")
            updater.complete(say(f"echo: {echo}"))

    @staticmethod
    def stream(event_queue: EventQueue, task: types.Task, count: int) -> None:
        """Chunks by hand: the SDK's helper does not append."""
        for number in range(1, count + 1):
            artifact = types.Artifact(
                artifactId="stream-1", parts=[text_part(f"chunk {number}\n")]
            )
            event = types.TaskArtifactUpdateEvent(
                taskId=task.id,
                contextId=task.contextId,
                artifact=artifact,
                append=number > 1,
                lastChunk=number == count,
            )
            event_queue.enqueue_event(event)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        updater.update_status(types.TaskState.canceled, final=True)


def parts() -> dict:
    raw = base64.b64encode(bytes(range(256))).decode()
    return {
        "a-text": types.TextPart(text="héllo ✓"),
        "a-raw": types.FilePart(
            file=types.FileWithBytes(bytes=raw, mimeType="application/octet-stream", name="all.bin")
        ),
        "a-url": types.FilePart(
            file=types.FileWithUri(
                uri="https://example.com/o.txt", mimeType="text/plain", name="o.txt"
            )
        ),
        "a-data": types.DataPart(data={"k": [1, 2.5, None, True, "x"]}),
    }


def card(http: str) -> types.AgentCard:
    modes = ["text/plain", "application/json", "application/octet-stream"]
    return types.AgentCard(
        name="Oldest Python peer",
        description="Scripted agent on the oldest official Python SDK",
        version="1.0.0",
        url=f"{http}/rpc",
        capabilities=types.AgentCapabilities(streaming=True, pushNotifications=True),
        defaultInputModes=modes,
        defaultOutputModes=modes,
        skills=[
            types.AgentSkill(id="echo", name="Echo", description="Says it again", tags=["test"])
        ],
    )


async def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    http = f"http://127.0.0.1:{listener.getsockname()[1]}"
    handler = DefaultRequestHandler(
        Scripted(),
        InMemoryTaskStore(),
        push_notifier=InMemoryPushNotifier(httpx.AsyncClient()),
    )
    app = A2AStarletteApplication(card(http), handler).build(rpc_url="/rpc")
    print(f"{http}/.well-known/agent.json", flush=True)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    await server.serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main())
