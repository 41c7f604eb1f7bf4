"""A summarizer of each provider over a real endpoint."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tests.support.models.model_endpoint import ModelEndpoint, endpoint
from threadkeep_server.domain.text import estimate_tokens
from threadkeep_server.providers.summarizers.base import Summarizer
from threadkeep_server.providers.summarizers.factory import open_summarizer
from threadkeep_server.providers.summarizers.options import SummarizerOptions

KEY = "sk-test-0123456789"
Opened = Callable[..., contextlib.AbstractAsyncContextManager[Summarizer]]


def count_tokens(text: str) -> int:
    return estimate_tokens(len(text))


@pytest.fixture(params=["openai", "anthropic"])
async def model(request: pytest.FixtureRequest) -> AsyncIterator[ModelEndpoint]:
    async with endpoint(request.param) as running:
        yield running


@pytest.fixture
def opened(model: ModelEndpoint) -> Opened:
    """Opens a summarizer that calls the endpoint; options may be changed. Retries are fast, to keep the tests fast."""

    @contextlib.asynccontextmanager
    async def open_(**changes: Any) -> AsyncIterator[Summarizer]:
        options: dict[str, Any] = {
            "provider": model.provider,
            "model": "small",
            "base_url": model.url,
            "api_key": KEY,
            "timeout": 60.0,
            "backoff": 0.01,
        }
        summarizer = open_summarizer(SummarizerOptions(**options | changes), count_tokens)
        try:
            yield summarizer
        finally:
            await summarizer.aclose()

    return open_
