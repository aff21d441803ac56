"""`A2AAgent` of Microsoft's Agent Framework: `agent_framework_client.py ORIGIN BINDING stream|run`, see calls.py."""

from __future__ import annotations

import sys

import httpx
from a2a.client import A2ACardResolver
from agent_framework.a2a import A2AAgent

import calls

origin, binding, mode = sys.argv[1:]
made: dict = {}


async def agent() -> A2AAgent:
    if "agent" not in made:
        http = httpx.AsyncClient(headers=calls.HEADERS)
        card = await A2ACardResolver(http, origin).get_agent_card()
        made["agent"] = A2AAgent(
            name="remote", agent_card=card, http_client=http, supported_protocol_bindings=[binding]
        )
    return made["agent"]


async def ask(text: str, session: str) -> dict:
    remote = await agent()
    session = made.setdefault(("session", session), remote.create_session())
    if mode == "run":
        answer = await remote.run(text, session=session)
        return {"text": answer.text, "pieces": [], "error": None}
    pieces = [update.text async for update in remote.run(text, session=session, stream=True)]
    return {"text": "".join(pieces), "pieces": pieces, "error": None}


calls.run(ask)
