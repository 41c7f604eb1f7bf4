"""An embedder of each provider over a real endpoint."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tests.support.models.embedding_endpoint import EmbeddingEndpoint, embedding_endpoint
from threadkeep_server.providers.embedders.base import Embedder
from threadkeep_server.providers.embedders.factory import open_embedder
from threadkeep_server.providers.embedders.options import EmbedderOptions

KEY = "sk-test-0123456789"
Opened = Callable[..., contextlib.AbstractAsyncContextManager[Embedder]]


@pytest.fixture(params=["openai", "gemini"])
async def model(request: pytest.FixtureRequest) -> AsyncIterator[EmbeddingEndpoint]:
    async with embedding_endpoint(request.param) as running:
        yield running


@pytest.fixture
def opened(model: EmbeddingEndpoint) -> Opened:
    """Opens an embedder that calls the endpoint; options may be changed. Retries are fast, to keep the tests fast."""

    @contextlib.asynccontextmanager
    async def open_(*, stored_dimension: int = 0, **changes: Any) -> AsyncIterator[Embedder]:
        options: dict[str, Any] = {
            "provider": model.provider,
            "model": "embedding-small",
            "base_url": model.url,
            "api_key": KEY,
            "timeout": 60.0,
            "backoff": 0.01,
        }
        embedder = open_embedder(EmbedderOptions(**options | changes), stored_dimension=stored_dimension)
        assert embedder is not None
        try:
            yield embedder
        finally:
            await embedder.aclose()

    return open_
