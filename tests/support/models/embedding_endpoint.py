"""An embeddings endpoint on loopback: answers like OpenAI or Gemini, or misbehaves as a `ModelEndpoint` does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from .model_endpoint import Behaviour, ModelEndpoint, Request, replies, served

Vector = list[object]


def vector(text: str) -> Vector:
    """Of four numbers, and of length 1: what a text is told by in the tests."""
    return [0.5, -0.5, 0.5, 0.5 if len(text) % 2 else -0.5]


class EmbeddingEndpoint(ModelEndpoint):
    """Embeds the texts of each request with `vector`, unless it is told something else."""

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
        """A vector `of` each text. `order` changes the list of them before it is sent."""

        def behave(writer: asyncio.StreamWriter) -> Awaitable[None]:
            # Read now, when it is called: the last request may be another's by the time that this is awaited.
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
