"""An agent on Microsoft's Agent Framework, served by its `A2AExecutor`: `agent_framework_agent.py [stream]`.

With `stream` the answer is an artifact. Without it, the default of the framework, the answer is a message of the status
while the task is working, so that only the history of the completed task has it.
"""

from __future__ import annotations

import sys

from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    Message,
    ResponseStream,
)
from agent_framework.a2a import A2AExecutor
from starlette.applications import Starlette

import serving


class Fake(BaseChatClient):
    def _inner_get_response(self, *, messages, stream, options, **others):
        texts = [message.text for message in messages if str(message.role) == "user"]

        async def updates():
            for word in serving.words(texts[-1], len(texts)):
                yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(word)])

        async def whole() -> ChatResponse:
            said = "".join(serving.words(texts[-1], len(texts)))
            return ChatResponse(messages=[Message(role="assistant", contents=[said])])

        return ResponseStream(updates(), finalizer=ChatResponse.from_updates) if stream else whole()


bound, url = serving.listener()
card = AgentCard(
    name="peer",
    description="Says it again",
    version="1.0.0",
    default_input_modes=["text"],
    default_output_modes=["text"],
    capabilities=AgentCapabilities(streaming=True),
    supported_interfaces=[
        AgentInterface(url=f"{url}/", protocol_binding="JSONRPC", protocol_version="1.0")
    ],
    skills=[AgentSkill(id="echo", name="Echo", description="Says it again", tags=["test"])],
)
executor = A2AExecutor(Agent(client=Fake(), name="peer"), stream=sys.argv[1:] == ["stream"])
handler = DefaultRequestHandler(executor, InMemoryTaskStore(), card)
routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")]
serving.serve(Starlette(routes=routes), bound, url)
