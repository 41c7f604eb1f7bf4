"""An embeddings endpoint on loopback: responds like OpenAI or Gemini, or misbehaves as a `ModelEndpoint` does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from .model_endpoint import Behaviour, ModelEndpoint, Request, replies, served

Vector = list[object]


def vector(text: str) -> Vector:
    """Four numbers, of length 1, that identify a text in tests."""
    return [0.5, -0.5, 0.5, 0.5 if len(text) % 2 else -0.5]


class EmbeddingEndpoint(ModelEndpoint):
    """Embeds the texts of each request with `vector` by default."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider)
        self.does(self.embeds())

    def texts(self, request: Request) -> list[str]:
        if self.provider == "openai":
            found: list[str] = request.json["input"]
            return found
        return [each["content"]["parts"][0]["text"] for each in request.json["requests"]]

    def embeds(
        self, of: Callable[[str], Vector] = vector, *, order: Callable[[list[object]], list[object]] = lambda items: items
    ) -> Behaviour:
        """Returns a vector `of` each text. `order` changes the list before it is sent."""

        def behave(writer: asyncio.StreamWriter) -> Awaitable[None]:
            # Read when called: while this is awaited, another request may become the last one.
            return replies(self._answer([of(text) for text in self.texts(self.requests[-1])], order))(writer)

        return behave

    def _answer(self, vectors: list[Vector], order: Callable[[list[object]], list[object]]) -> dict[str, object]:
        items: list[object]
        if self.provider == "openai":
            items = [{"object": "embedding", "index": i, "embedding": each} for i, each in enumerate(vectors)]
            return {
                "object": "list",
                "data": order(items),
                "model": "small-2026",
                "usage": {"prompt_tokens": 5, "total_tokens": 5},
            }
        items = [{"values": each} for each in vectors]
        return {"embeddings": order(items)}


@contextlib.asynccontextmanager
async def embedding_endpoint(provider: str) -> AsyncIterator[EmbeddingEndpoint]:
    """Serves on a free port."""
    async with served(EmbeddingEndpoint(provider)) as running:
        yield running
