"""An AG2 agent whose model is a remote agent: `ag2_client.py ORIGIN BINDING stream|poll`, see calls.py."""

from __future__ import annotations

import sys

from ag2 import Agent
from ag2.a2a import A2AConfig

import calls

origin, binding, mode = sys.argv[1:]
config = A2AConfig(
    card_url=origin,
    prefer=binding,
    streaming=mode == "stream",
    polling_interval=0.05,
    headers=calls.HEADERS or None,
)
agent = Agent("local", config=config)
replies: dict = {}


async def ask(text: str, session: str) -> dict:
    before = replies.get(session)
    reply = await (before.ask(text) if before else agent.ask(text))
    replies[session] = reply
    return {"text": reply.body or "", "pieces": [], "error": None}


calls.run(ask)
