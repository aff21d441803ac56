"""An agent on Strands, served by its `A2AServer`: `strands_agent.py [artifacts]`.

By default Strands streams the words of the answer as messages of the status; with `artifacts` as pieces of an artifact.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterable

from strands import Agent
from strands.models.model import Model
from strands.multiagent.a2a import A2AServer

import serving


class Fake(Model):
    def update_config(self, **config) -> None: ...

    def get_config(self) -> dict:
        return {}

    def structured_output(self, *arguments, **options):
        raise NotImplementedError

    async def stream(self, messages, *arguments, **options) -> AsyncIterable[dict]:
        texts = [
            block["text"]
            for message in messages
            if message["role"] == "user"
            for block in message["content"]
            if "text" in block
        ]
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        for word in serving.words(texts[-1], len(texts)):
            yield {"contentBlockDelta": {"delta": {"text": word}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def agent(context_id: str) -> Agent:
    return Agent(name="peer", description="Says it again", model=Fake(), callback_handler=None)


bound, url = serving.listener()
server = A2AServer(
    agent_factory=agent, http_url=f"{url}/", enable_a2a_compliant_streaming=sys.argv[1:] == ["artifacts"]
)
serving.serve(server.to_starlette_app(), bound, url)
