"""Google ADK's `RemoteA2aAgent` behind its runner: `adk_client.py ORIGIN`, see calls.py."""

from __future__ import annotations

import sys
import warnings

import httpx
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

import calls

warnings.simplefilter("ignore")

sessions = InMemorySessionService()
card = f"{sys.argv[1]}/.well-known/agent-card.json"
http = httpx.AsyncClient(headers=calls.HEADERS) if calls.HEADERS else None
remote = RemoteA2aAgent(name="remote", agent_card=card, httpx_client=http)
runner = Runner(app_name="app", agent=remote, session_service=sessions)


async def ask(text: str, session: str) -> dict:
    name = {"app_name": "app", "user_id": "user", "session_id": session}
    if not await sessions.get_session(**name):
        await sessions.create_session(**name)
    message = types.Content(role="user", parts=[types.Part(text=text)])
    whole, pieces, error = [], [], None
    async for event in runner.run_async(user_id="user", session_id=session, new_message=message):
        parts = event.content.parts if event.content and event.content.parts else []
        # ADK marks what is not the answer itself, such as a status in between, as a thought.
        texts = [part.text for part in parts if part.text and not part.thought]
        (pieces if event.partial else whole).extend(texts)
        error = error or event.error_message
    return {"text": "".join(whole), "pieces": pieces, "error": error}


calls.run(ask)
