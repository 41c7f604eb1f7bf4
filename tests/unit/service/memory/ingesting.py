"""A server that remembers sessions by itself, in simulated time, for the tests of when it does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.support.codec import CODEC, draft
from tests.support.sessions import TENANT, append, create, ref
from tests.support.simulated import clock
from tests.unit.service.search.searching import ANYONE, SCOPE
from threadkeep_server.domain.memories import MemoryFilter
from threadkeep_server.domain.model import SECOND_NS, SessionRef
from threadkeep_server.domain.validation import Limits
from threadkeep_server.service.memory.ingestion import AutoIngestion
from threadkeep_server.service.memory.memories import TEXT_ONLY, Ingested, IngestOptions, MemoryService
from threadkeep_server.service.sessions import SessionService
from threadkeep_server.store.inmemory import InMemoryStore
from threadkeep_server.transport.wire.memory_text import MemoryTextReader


class Faulty(MemoryService):
    """Memory that fails for some sessions."""

    fails: dict[str, Exception]
    ingested: list[str]

    async def ingest(self, tenant: str, ref: SessionRef, what: IngestOptions = TEXT_ONLY) -> Ingested:
        self.ingested.append(ref.session_id)
        if ref.session_id in self.fails:
            raise self.fails[ref.session_id]
        return await super().ingest(tenant, ref, what)


class Server:
    """One server's ingestion on a store."""

    def __init__(self, store: InMemoryStore | None = None, owner: str = "me", **policies: Any) -> None:
        self.store = store or InMemoryStore(CODEC, clock)
        self.memory = Faulty(self.store, Limits(), MemoryTextReader(), None, clock)
        self.memory.fails, self.memory.ingested = {}, []
        self.ingestion = AutoIngestion(self.store, self.memory, clock, owner, **policies)
        self.sessions = SessionService(self.store, Limits(), clock, lambda: "id", self.ingestion.before_delete)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.ingestion.run())
        try:
            yield
            assert not task.done(), task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def say(self, session_id: str, *texts: str, expires_in: int | None = None) -> None:
        session = ref(session_id)
        if (TENANT, session) not in self.store._logs:
            expire_time = None if expires_in is None else clock() + expires_in * SECOND_NS
            await create(self.store, session_id, create_time=clock(), expire_time=expire_time)
        if texts:
            await append(self.store, *(draft(text, event_id=text) for text in texts), to=session, now=clock())

    async def remembered(self) -> list[str]:
        page = await self.memory.list(ANYONE, SCOPE, MemoryFilter(), 1000, None)
        return sorted(memory.draft.text for memory in page.memories)
