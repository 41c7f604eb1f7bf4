"""Searches, memory and tools over the store in memory, with an embedder that knows a few words' meanings."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.support.clock import Clock
from tests.support.codec import CODEC, draft
from tests.support.sessions import TENANT, append, create, ref
from threadkeep_server.domain.memories import MemoryScope
from threadkeep_server.domain.model import SECOND_NS, Caller, EventDraft, Role, SessionRef
from threadkeep_server.domain.search import SearchMode
from threadkeep_server.domain.validation import Limits
from threadkeep_server.providers.embedders.base import EmbedFailed, Vectors
from threadkeep_server.search.vectors import MatrixCache, normalize
from threadkeep_server.service.memory.memories import MemoryService
from threadkeep_server.service.memory.memory_search import FoundMemories, MemoryQuery
from threadkeep_server.service.search.embedding import EmbeddingWorker
from threadkeep_server.service.search.embedding_backlog import EmbeddingBacklog
from threadkeep_server.service.search.literal_search import LiteralSearch
from threadkeep_server.service.search.ranked_search import RankedPage, RankedQuery, RankedSearch
from threadkeep_server.service.search.search_slots import UNLIMITED, SearchSlots
from threadkeep_server.service.search.vector_cache import VectorCache
from threadkeep_server.service.search.vector_model import VectorModel
from threadkeep_server.service.search.vector_search import VectorSearch
from threadkeep_server.service.tools.tools import RecallTools
from threadkeep_server.store.contract.events import Appended
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.contract.vectors import Source
from threadkeep_server.store.inmemory import InMemoryStore
from threadkeep_server.transport.wire.memory_text import MemoryTextReader

ANYONE = Caller(TENANT)
ALICE = Caller(TENANT, "alice")
SCOPE = MemoryScope("shop", "alice")

MEANINGS = ({"car", "automobile", "vehicle"}, {"boat", "ship", "vessel"}, {"cat", "kitten", "feline"}, {"tea", "infusion"})
_OTHERS = 64
DIMENSION = len(MEANINGS) + _OTHERS


def meaning(text: str) -> Vectors:
    """How much of each meaning a text has; any other word is a little of a meaning of its own."""
    found = np.zeros(DIMENSION, np.float32)
    for word in re.findall(r"\w+", text.lower()):
        known = [number for number, group in enumerate(MEANINGS) if word in group]
        found[known or [len(MEANINGS) + zlib.crc32(word.encode()) % _OTHERS]] += 1.0 if known else 0.1
    return normalize(found)


class Meanings:
    """An Embedder. `fails` is raised by every call, `refused` selects the texts that it refuses; `known` False: the dimension
    is known from the first answer on."""

    def __init__(self, model: str = "meanings", *, known: bool = True) -> None:
        self.model = model
        self.dimension = DIMENSION if known else 0
        self.fails: EmbedFailed | None = None
        self.refused: Callable[[str], bool] = lambda text: False
        self.requested: list[list[str]] = []
        self.questions: list[str] = []

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        if query:
            self.questions += texts
        else:
            self.requested.append(list(texts))
        if self.fails is not None:
            raise self.fails
        if any(self.refused(text) for text in texts):
            raise EmbedFailed("the text is refused")
        self.dimension = DIMENSION
        return np.array([meaning(text) for text in texts], np.float32).reshape(len(texts), DIMENSION)

    async def aclose(self) -> None:
        """There is nothing to close."""


class SearchServices:
    """The use cases on one store. `embedder` None: without vectors."""

    def __init__(
        self,
        embedder: Meanings | None = None,
        *,
        limits: Limits | None = None,
        memory: bool = True,
        cache_bytes: int = 1 << 20,
        store: Store | None = None,
        slots: SearchSlots = UNLIMITED,
    ) -> None:
        self.clock = Clock()
        self.store: Store = store or InMemoryStore(CODEC, self.clock)
        self.limits = limits or Limits()
        self.embedder = embedder
        self.vectors: VectorSearch | None = None
        self.worker: EmbeddingWorker | None = None
        if embedder is not None:
            self.model = VectorModel(self.store, embedder)
            self.cache = MatrixCache(cache_bytes)
            self.waiting = EmbeddingBacklog(self.store, embedder.model, lambda: self.clock.now / SECOND_NS)
            self.vectors = VectorSearch(self.store, self.model, VectorCache(self.cache, self.clock), self.waiting)
            self.worker = EmbeddingWorker(self.store, self.model, sources=list(Source), batch=4)
        self.reader = MemoryTextReader()
        self.ranked = RankedSearch(self.store, self.limits, CODEC.texts, self.vectors, self.clock, slots)
        self.literal = LiteralSearch(self.store, self.limits, CODEC.texts, slots)
        self.memory = MemoryService(self.store, self.limits, self.reader, self.vectors, self.clock, enabled=memory, slots=slots)
        self.tools = RecallTools(self.store, self.literal, self.ranked, self.memory, self.reader)

    # --- saying

    async def session(self, session_id: str = "s1", *said: str | EventDraft, **fields: Any) -> SessionRef:
        """A session in which these are said, user and assistant by turns; an event's id is the session's and a number."""
        session = await create(self.store, session_id, **fields)
        await self.say(session.ref, *said)
        return session.ref

    async def say(self, to: SessionRef, *said: str | EventDraft) -> Appended | None:
        start = (await self.store.get_session(TENANT, to)).last_seq
        drafts = [
            each
            if isinstance(each, EventDraft)
            else draft(
                each,
                event_id=f"{to.session_id}-{start + number}",
                role=Role.ASSISTANT if (start + number) % 2 == 0 else Role.USER,
                time=self.clock.now,
            )
            for number, each in enumerate(said, 1)
        ]
        return await append(self.store, *drafts, to=to, now=self.clock.now) if drafts else None

    async def embed_all(self) -> None:
        """What waits is embedded."""
        assert self.worker is not None
        while await self.worker._step():
            pass

    # --- finding

    async def find(self, text: str, scope: Any = None, mode: SearchMode = SearchMode.RANKED, **query: Any) -> RankedPage:
        return await self.ranked.search(query.pop("caller", ANYONE), RankedQuery(scope or ref(), text, mode, **query))

    async def remembered(self, text: str, mode: SearchMode = SearchMode.AUTO, **query: Any) -> FoundMemories:
        return await self.memory.search(query.pop("caller", ANYONE), MemoryQuery(SCOPE, text, mode, **query))


def said(page: RankedPage) -> list[str]:
    return [CODEC.text(hit.found.event.body) for hit in page.hits]


def texts_of(found: FoundMemories) -> list[str]:
    return [entry.memory.draft.text for entry in found.entries]
