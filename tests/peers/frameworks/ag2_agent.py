"""An agent on AG2, served by its `A2AServer`: `ag2_agent.py jsonrpc|rest`."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from ag2 import Agent
from ag2.a2a import A2AServer
from ag2.events import ModelMessage, ModelMessageChunk, ModelRequest, ModelResponse

import serving


class Client:
    async def __call__(self, messages, context, **options) -> ModelResponse:
        texts = [part.content for event in messages if isinstance(event, ModelRequest) for part in event.parts]
        said = serving.words(texts[-1], len(texts))
        for word in said:
            await context.send(ModelMessageChunk(word))
        message = ModelMessage("".join(said))
        await context.send(message)
        return ModelResponse(message)


@dataclass
class Fake:
    provider: str = "fake"
    model: str = "fake"

    def copy(self):
        return self

    def create(self) -> Client:
        return Client()


bound, url = serving.listener()
server = A2AServer(Agent("peer", config=Fake()))
build = {"jsonrpc": server.build_jsonrpc, "rest": server.build_rest}[sys.argv[1]]
serving.serve(build(url=url), bound, url)
