"""A framework's client as a filter: one message a line of stdin, what the framework made of the answer on stdout.

    {"call": 1, "operation": "ask", "request": {"text": "hi", "session": "s"}}
    ->  {"call": 1, "result": {"text": "echo: hi", "pieces": ["echo:", " hi"], "error": null}}
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable

# What each request to the agent carries, where the agent asks for a token.
HEADERS = {"Authorization": f"Bearer {os.environ['AGENT_TOKEN']}"} if "AGENT_TOKEN" in os.environ else {}


def run(ask: Callable[..., Awaitable[dict]]) -> None:
    """Answers one message after another until stdin ends."""

    async def answer_all() -> None:
        while line := await asyncio.to_thread(sys.stdin.readline):
            command = json.loads(line)
            try:
                answer = {"result": await ask(**command["request"])}
            except Exception as error:  # the test judges it
                answer = {"result": {"text": "", "pieces": [], "error": f"{type(error).__name__}: {error}"}}
            print(json.dumps({"call": command["call"], **answer}), flush=True)

    asyncio.run(answer_all())
