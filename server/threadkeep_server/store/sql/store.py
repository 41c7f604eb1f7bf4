"""The SQL store: the contract of store.base on the engines of this package."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import sqlalchemy as sa
from sqlalchemy import Connection

from ...domain.context import ContextSpec
from ...domain.model import Compaction, NewSession, Session, SessionChange, SessionRef, StoredEvent
from ..contract.codec import Codec
from ..contract.compaction import Compacted, CompactionPage, CompactionRequest, StoredPolicy, WindowRead
from ..contract.events import Appended, AppendListener, AppendRequest, ContextPage, EventPage, EventQuery
from ..contract.maintenance import StoreInfo
from ..contract.search import SearchPage, SearchQuery
from ..contract.sessions import EXPIRED, Expired, SessionPage, SessionQuery
from .compaction import compact_queries, policy_queries
from .consumers.store import SqlConsumers
from .engine.base import Engine, SqlOptions
from .engine.factory import open_engine
from .engine.unit_runner import FEW_ROWS, explained
from .feed.store import SqlFeed
from .log import context_queries, list_queries, session_queries
from .log.append_queries import AppendUnit, Outcome
from .log.group_commit import Writer
from .log.rows import require, session_of
from .log.scan import Scanner
from .memories.store import SqlMemories, open_memory_words
from .schema import versions
from .search import literal_queries
from .search.indexer import Indexer, lag
from .search.maintenance import SqlUpkeep
from .search.store import SqlRecall
from .search.term_index import WordIndex
from .search.text_index import TextIndex
from .vectors.store import SqlVectors


class SqlStore(SqlFeed, SqlUpkeep, SqlConsumers, SqlRecall, SqlVectors, SqlMemories):
    """Store on a database. Made by `open_store`, which owns what runs beside it."""

    def __init__(
        self,
        engine: Engine,
        codec: Codec,
        clock: Callable[[], int],
        index: TextIndex | None,
        options: SqlOptions,
        store_id: str,
        memory_words: WordIndex | None,
    ) -> None:
        super().__init__(engine, codec, indexed=index is not None)
        self._clock = clock
        self._index = index
        self._memory_words = memory_words
        self._store_id = store_id
        self._append = AppendUnit(engine, codec, self._statements)
        self._writer = Writer(self._commit, engine.problem, max_pending_bytes=options.max_pending_bytes)
        self._indexer = None if index is None else Indexer(engine, index, codec, busy=self._writer.busy)
        self._listeners: list[AppendListener] = []
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks.append(asyncio.create_task(self._writer.run(), name="writer"))
        if self._indexer is not None:
            self._tasks.append(asyncio.create_task(self._indexer.run(), name="indexer"))
        self._tasks.append(asyncio.create_task(self._keep_memory_words(), name="memory words"))
        self._tasks.append(asyncio.create_task(self._keep_near_vectors(), name="near vectors"))
        self._tasks.append(asyncio.create_task(self._engine.listen(self._hear), name="listener"))

    async def aclose(self) -> None:
        self._writer.close()
        for task in reversed(self._tasks):
            if task.get_name() != "writer":
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._tasks.clear()

    # --- sessions

    async def create_session(self, tenant: str, new: NewSession, *, return_existing: bool) -> tuple[Session, bool]:
        made = await self._write(
            lambda connection: session_queries.create(connection, self._engine, tenant, new, return_existing)
        )
        self._changed()
        return made

    async def get_session(self, tenant: str, ref: SessionRef) -> Session:
        return session_of(await self._read(lambda connection: require(connection, tenant, ref)))

    async def list_sessions(self, tenant: str, query: SessionQuery) -> SessionPage:
        return await self._read(lambda connection: session_queries.list_page(connection, tenant, query))

    async def update_session(self, tenant: str, ref: SessionRef, change: SessionChange) -> Session:
        updated = await self._write(lambda connection: session_queries.update(connection, self._engine, tenant, ref, change))
        self._changed()
        return updated

    async def delete_session(self, tenant: str, ref: SessionRef) -> int | None:
        now = self._clock()
        deleted = await self._write(lambda connection: session_queries.delete(connection, self._engine, tenant, ref, now))
        self._changed()
        return deleted

    async def delete_expired(self, tenant: str | None, now: int, limit: int, which: Expired = EXPIRED) -> int:
        deleted = await self._write(
            lambda connection: session_queries.delete_expired(connection, self._engine, tenant, now, limit, which)
        )
        self._changed()
        return deleted

    async def delete_seen(self, tenant: str, seen: Session, now: int) -> bool:
        unit = partial(session_queries.delete_seen, engine=self._engine, tenant=tenant, seen=seen, now=now)
        deleted = await self._write(unit)
        self._changed()
        return deleted

    # --- events

    def append(self, request: AppendRequest) -> Awaitable[Appended]:
        return self._writer.append(request)

    async def get_event(self, tenant: str, ref: SessionRef, event_id: str) -> StoredEvent:
        return await self._scan(lambda scanner: list_queries.get_event(scanner, tenant, ref, event_id))

    async def list_events(self, tenant: str, ref: SessionRef, query: EventQuery) -> EventPage:
        streams = bool(query.filter.terms)
        short = not streams and list_queries.most_rows(query) <= FEW_ROWS
        unit = partial(list_queries.list_events, tenant=tenant, ref=ref, query=query)
        return await self._scan(unit, snapshot=streams, short=short)

    # --- windows

    async def get_context(self, tenant: str, ref: SessionRef, spec: ContextSpec, default_bytes: int) -> ContextPage:
        unit = partial(context_queries.get_context, tenant=tenant, ref=ref, spec=spec, default_bytes=default_bytes)
        return await self._scan(unit, short=spec.last_n is not None and spec.last_n <= FEW_ROWS)

    async def read_window(self, tenant: str, ref: SessionRef) -> WindowRead:
        return await self._scan(lambda scanner: context_queries.read_window(scanner, tenant, ref), snapshot=True)

    async def compact(self, request: CompactionRequest) -> Compacted:
        compacted = await self._write(
            lambda connection: compact_queries.compact(connection, self._engine, self._codec, request)
        )
        self._changed()
        return compacted

    async def get_compaction(self, tenant: str, ref: SessionRef, compaction_id: str) -> Compaction | None:
        return await self._read(lambda connection: compact_queries.get_compaction(connection, tenant, ref, compaction_id))

    async def list_compactions(self, tenant: str, ref: SessionRef, limit: int, cursor: int | None) -> CompactionPage:
        return await self._read(lambda connection: compact_queries.list_compactions(connection, tenant, ref, limit, cursor))

    async def put_policy(self, policy: StoredPolicy) -> None:
        await self._write(lambda connection: policy_queries.put_policy(connection, policy))

    async def policies(self, since: int) -> Sequence[StoredPolicy]:
        return await self._read(lambda connection: policy_queries.policies_since(connection, since))

    async def lease(self, tenant: str, ref: SessionRef, owner: str, now: int, until: int) -> bool:
        return await self._write(lambda connection: policy_queries.lease(connection, tenant, ref, owner, now, until))

    async def release(self, tenant: str, ref: SessionRef, owner: str) -> None:
        await self._write(lambda connection: policy_queries.release(connection, tenant, ref, owner))

    def on_append(self, listener: AppendListener) -> None:
        self._listeners.append(listener)

    async def search(self, tenant: str, query: SearchQuery) -> SearchPage:
        scope = query.scope

        def unit(scanner: Scanner) -> SearchPage:
            if isinstance(scope, SessionRef):
                return literal_queries.search_session(scanner, tenant, scope, query)
            return literal_queries.search_sessions(scanner, self._index, tenant, scope, query)

        return await self._scan(unit, snapshot=True)

    # --- the server's own

    async def info(self, tenant: str, *, totals: bool) -> StoreInfo:
        def unit(connection: Connection) -> StoreInfo:
            return StoreInfo(
                store_id=self._store_id,
                engine=self._engine.name,
                durability=self._engine.durability,
                schema_version=versions.versions(connection)[0],
                indexed=self._index is not None,
                index_lag=0 if self._index is None else lag(connection, self._engine),
                totals=session_queries.totals(connection, tenant) if totals else None,
            )

        return await self._read(unit)

    async def ping(self) -> None:
        await self._read(lambda connection: connection.execute(sa.select(1)).scalar())

    # --- plumbing

    async def _commit(self, requests: Sequence[AppendRequest]) -> list[Outcome]:
        short = sum(len(request.drafts) for request in requests) <= FEW_ROWS
        decided = await self._engine.write(lambda connection: self._append(connection, requests), short=short)
        self._append.remember(decided.learned)
        self._changed()
        for listener in self._listeners:
            for request, outcome in zip(requests, decided.outcomes, strict=True):
                if isinstance(outcome, Appended):
                    listener(request, outcome)
        return decided.outcomes

    def _changed(self) -> None:
        """Something was committed here."""
        self._engine.announce()
        self._hear()

    def _hear(self) -> None:
        if self._indexer is not None:
            self._indexer.hint()
        super()._hear()


@asynccontextmanager
async def open_store(
    url: str, codec: Codec, *, clock: Callable[[], int] = time.time_ns, options: SqlOptions | None = None
) -> AsyncIterator[SqlStore]:
    """The store at a URL, migrated and running.

    Raises SchemaTooNew, DatabaseInUse, StoreUnavailable, ValueError for an unknown scheme.
    """
    options = options or SqlOptions()
    async with AsyncExitStack() as stack:
        engine = open_engine(url, options)
        stack.push_async_callback(engine.aclose)
        index, memory_words, store_id = await explained(engine, _prepare(engine, options, codec.words_version))
        store = SqlStore(engine, codec, clock, index, options, store_id, memory_words)
        stack.push_async_callback(store.aclose)
        await store.open_near_vectors()
        store.start()
        yield store


async def _prepare(engine: Engine, options: SqlOptions, words_version: int) -> tuple[TextIndex | None, WordIndex | None, str]:
    """Brings the database up to date; the text index to use, if any, that of the words of memories, and the store's id."""
    await versions.prepare(engine)
    index = await engine.open_index()
    # Also where no index is wanted: text filters look into the derived tables for what an earlier server may have put there.
    await engine.index(versions.alone(engine, lambda connection: index.prepare(connection, engine, words_version)))
    memory_words = await open_memory_words(engine, index.words)
    store_id = await engine.read(lambda connection: versions.get(connection, "store_id"))
    return (index if options.search_index else None), memory_words, store_id or ""
