"""An embedding endpoint with random vectors, a server that uses it, and data that exists before a fault."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import threadkeep
from tests.support.models.embedding_endpoint import EmbeddingEndpoint, Vector
from tests.support.models.vectors import vector
from threadkeep.v1.event_pb2 import SessionEvent

from .facts import fact

DIMENSION = 16
BATCH = 4
EMBEDDED = "openai:small"


class Embeddings(EmbeddingEndpoint):
    """An endpoint that can be stopped and started on the same port."""

    def __init__(self) -> None:
        super().__init__("openai")
        self.does(self.embeds(chance))
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    @property
    def listening(self) -> bool:
        return self._server is not None

    async def listen(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def refuse(self) -> None:
        """Rejects connections and closes open ones."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
            await self._drop()
            await server.wait_closed()

    async def _drop(self) -> None:
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self.serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    def request_counts(self) -> Counter[str]:
        """Returns how often each text was requested."""
        return Counter(text for request in self.requests for text in self.texts(request))


def chance(text: str) -> Vector:
    return [float(number) for number in vector(text, dimension=DIMENSION)]


@asynccontextmanager
async def embeddings() -> AsyncIterator[Embeddings]:
    endpoint = Embeddings()
    await endpoint.listen()
    try:
        yield endpoint
    finally:
        await endpoint.refuse()


def embedding_with(endpoint: Embeddings, timeout: str = "30s") -> Mapping[str, object]:
    """The settings of a server."""
    named = {"embedder": "openai", "embedder_model": "small", "embedder_base_url": endpoint.url, "embedder_api_key": "key"}
    return named | {"embedder_batch": BATCH, "embedder_timeout": timeout}


async def append_facts(client: threadkeep.AsyncClient, session: str, count: int) -> list[SessionEvent]:
    """Appends this number of facts to a new session."""
    events = [threadkeep.user(fact(f"{session}/e{n}"), event_id=f"e{n}") for n in range(count)]
    await client.append(session, *events, create_if_missing={"never_expires": True})
    return events


async def remember(client: threadkeep.AsyncClient, name: str, count: int) -> list[str]:
    """Adds this number of memories and returns their texts."""
    entries = [threadkeep.memory_entry(fact(f"{name}-{n}"), id=f"{name}-{n}") for n in range(count)]
    await client.memory().add(*entries)
    return [fact(f"{name}-{n}") for n in range(count)]
