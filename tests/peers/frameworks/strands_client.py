"""Strands' `A2AAgent`: `strands_client.py ORIGIN`, see calls.py."""

from __future__ import annotations

import sys

import httpx
from a2a.client import ClientConfig
from a2a.types import TaskArtifactUpdateEvent
from strands.agent.a2a_agent import A2AAgent

import calls

config = ClientConfig(httpx_client=httpx.AsyncClient(headers=calls.HEADERS)) if calls.HEADERS else None
agent = A2AAgent(sys.argv[1], client_config=config)


def text_of(parts) -> str:
    return "".join(part.root.text for part in parts if hasattr(part.root, "text"))


async def ask(text: str, session: str) -> dict:
    pieces, result = [], None
    async for event in agent.stream_async(text):
        if result := event.get("result"):
            break
        match event["event"]:
            case (_, TaskArtifactUpdateEvent() as update):
                pieces.append(text_of(update.artifact.parts))
    content = result.message["content"]
    state = result.state.get("a2a_task_state")
    answer = "".join(block["text"] for block in content)
    if state in ("failed", "rejected"):
        return {"text": "", "pieces": pieces, "error": f"{state}: {answer}"}
    return {"text": answer, "pieces": pieces, "error": None}


calls.run(ask)
