"""A pydantic-ai agent, served by fasta2a."""

from __future__ import annotations

from fasta2a.pydantic_ai import agent_to_a2a
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

import serving


def said(messages: list[ModelMessage]) -> list[str]:
    texts = [
        part.content if isinstance(part.content, str) else part.content[-1]
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]
    return serving.words(texts[-1], len(texts))


def answer(messages: list[ModelMessage], info) -> ModelResponse:
    return ModelResponse(parts=[TextPart("".join(said(messages)))])


async def stream(messages: list[ModelMessage], info):
    for word in said(messages):
        yield word


bound, url = serving.listener()
agent = Agent(FunctionModel(answer, stream_function=stream), name="peer")
serving.serve(agent_to_a2a(agent, url=url), bound, url)
