"""An agent on Google ADK, served by its `to_a2a`, with a model that does not leave this process."""

from __future__ import annotations

import warnings
from collections.abc import AsyncGenerator

from google.adk.a2a.utils.agent_to_a2a import to_a2a
from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.genai import types

import serving

warnings.simplefilter("ignore")


class Fake(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False) -> AsyncGenerator[LlmResponse]:
        texts = [
            part.text
            for content in llm_request.contents
            if content.role == "user"
            for part in content.parts or []
            if part.text
        ]
        said = serving.words(texts[-1], len(texts))

        def content(text: str) -> types.Content:
            return types.Content(role="model", parts=[types.Part(text=text)])

        if stream:
            for word in said:
                yield LlmResponse(content=content(word), partial=True)
        yield LlmResponse(content=content("".join(said)), partial=False)


bound, url = serving.listener()
agent = LlmAgent(name="peer", description="Says it again", model=Fake(model="fake"))
port = int(url.rsplit(":", 1)[1])
serving.serve(to_a2a(agent, host="127.0.0.1", port=port), bound, url)
