"""The model of the examples: an OpenAI-compatible endpoint, or a stand-in on loopback that follows a few rules."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.chat.reasoning import Think, Thinking
from tests.support.models.model_endpoint import served

from threadkeep.chat import AsyncOpenAIModel


@asynccontextmanager
async def a_model(think: Think) -> AsyncIterator[AsyncOpenAIModel]:
    """Yields MODEL at OPENAI_BASE_URL or at OpenAI, with OPENAI_API_KEY, if either is set; else a stand-in."""
    if os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_KEY"):
        yield AsyncOpenAIModel(os.environ.get("MODEL", "gpt-5-mini"), api_key=os.environ.get("OPENAI_API_KEY") or "none")
    else:
        async with served(Thinking(think)) as endpoint:
            yield AsyncOpenAIModel("stand-in", base_url=endpoint.url, api_key="none")
