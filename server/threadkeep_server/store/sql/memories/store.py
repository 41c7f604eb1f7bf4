"""Long-term memory of the SQL store. Each method is one unit of work, or a read before one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import Connection

from ....domain.memories import ALL_MEMORIES, Forget, Forgotten, Memory, MemoryDraft, MemoryFilter, MemoryOutcome, MemoryScope
from ....domain.memory.namespaces import NamespaceQuery
from ....domain.memory.writes import MemoryWrite, WriteOutcome, Written
from ....domain.search import Candidates, WordQuery
from ...contract.memories import MemoryPage, NamedMemories, NamespacePage
from ..engine.base import Engine
from ..log.unit_runner import UnitRunner, translate_errors
from ..scan_budget import ScanBudget, ScanLimits
from ..schema import versions
from ..search.common_terms import CommonTerms
from ..search.derivation import terms_text
from ..search.term_index import TermIndex
from . import memory_queries, search, write_queries
from .namespace_queries import namespaces_page
from .rows import memories_of_keys

_log = logging.getLogger(__name__)

WORDS_TABLE = "memory_words"

_RENEWED_AT_ONCE = 64
_REST_S = 0.05
_POLL_S = 60.0
_RETRY_S = 5.0


class SqlMemories:
    """MemoriesStore on a database. `index`: the search index of the entries; None: searches scan the entries of a scope.
    `limits`: what one search analyzes of entries whose terms are outdated. `deleted`: called after deletions."""

    def __init__(
        self, units: UnitRunner, index: TermIndex | None, limits: ScanLimits, deleted: Sequence[Callable[[], None]]
    ) -> None:
        self._units = units
        self._limits = limits
        self._index = index
        self._common = CommonTerms()
        self._after_deletions = deleted

    async def add_memories(
        self, tenant: str, scope: MemoryScope, drafts: Sequence[MemoryDraft], now: int, *, ingesting: bool
    ) -> Sequence[MemoryOutcome]:
        # Read first: most entries of a repeated ingestion exist, and analysis costs more than a query.
        expected = await self._units.of(tenant).read(
            lambda connection: memory_queries.outcomes(
                connection, self._units.codec, tenant, scope, drafts, now, ingesting=ingesting
            ),
            snapshot=True,
        )
        if MemoryOutcome.ADDED not in expected:
            return expected
        fresh = [draft for draft, outcome in zip(drafts, expected, strict=True) if outcome is MemoryOutcome.ADDED]
        words = await self._words(tenant, fresh, now)
        return await self._units.of(tenant).write(
            lambda connection: memory_queries.add(
                connection, self._units.engine, self._units.codec, words, tenant, scope, drafts, now, ingesting=ingesting
            )
        )

    async def write_memories(
        self, tenant: str, scope: MemoryScope, writes: Sequence[MemoryWrite], now: int, *, replacing: bool
    ) -> Sequence[Written]:
        words = await self._words(tenant, [write.draft for write in writes], now)
        written = await self._units.of(tenant).write(
            lambda connection: write_queries.write(
                connection, self._units.engine, self._units.codec, words, tenant, scope, writes, now, replacing=replacing
            )
        )
        self._hint(any(each.outcome is WriteOutcome.REPLACED for each in written))
        return written

    async def _words(self, tenant: str, drafts: Sequence[MemoryDraft], now: int) -> memory_queries.Words:
        await translate_errors(self._units.engine, self._units.codec.ready(tenant))
        # Not in the transaction: on SQLite it would block all writers.
        made = await asyncio.to_thread(lambda: {draft.name: self._words_of(draft, now) for draft in drafts})

        def of(draft: MemoryDraft) -> str:
            # An entry that existed a moment ago may have been deleted.
            return made[draft.name] if draft.name in made else self._words_of(draft, now)

        return memory_queries.Words(self._index, self._units.codec.words_version, of)

    def _words_of(self, draft: MemoryDraft, now: int) -> str:
        time = now if draft.event_time is None else draft.event_time
        return terms_text(self._units.codec.memory_words(draft.content, time, draft.author))

    async def list_memories(
        self, tenant: str, scope: MemoryScope, wanted: MemoryFilter, limit: int, cursor: int | None
    ) -> MemoryPage:
        return await self._units.of(tenant).read(
            lambda connection: memory_queries.list_page(connection, self._units.codec, tenant, scope, wanted, limit, cursor),
            snapshot=True,
            replica=True,
        )

    async def memories_by_key(
        self, tenant: str, scope: MemoryScope, keys: Sequence[int], wanted: MemoryFilter = ALL_MEMORIES
    ) -> Sequence[Memory]:
        return await self._units.of(tenant).read(
            lambda connection: list(memories_of_keys(connection, self._units.codec, tenant, scope, keys, wanted)),
            snapshot=True,
            replica=True,
        )

    async def memories_holding(
        self, tenant: str, scope: MemoryScope, folded: str, wanted: MemoryFilter, limit: int
    ) -> Sequence[Memory]:
        codec, engine = self._units.codec, self._units.engine
        scans = codec.scans(tenant)

        def unit(connection: Connection) -> Sequence[Memory]:
            if scans:
                budget = ScanBudget(self._limits)
                return memory_queries.holding_encrypted(connection, codec, tenant, scope, folded, wanted, limit, budget)
            return memory_queries.holding(connection, engine, codec, tenant, scope, folded, wanted, limit)

        return await self._units.of(tenant).read(unit, snapshot=True, replica=True)

    async def memory_candidates(
        self, tenant: str, scope: MemoryScope, query: WordQuery, wanted: MemoryFilter = ALL_MEMORIES
    ) -> Candidates:
        index = None if self._units.codec.scans(tenant) else self._index
        return await self._units.of(tenant).scan(
            lambda scanner: search.candidates(
                scanner, index, self._common, tenant, scope, query, wanted, ScanBudget(self._limits)
            ),
            snapshot=True,
            replica=True,
        )

    async def forget(self, tenant: str, scope: MemoryScope, what: Forget, now: int) -> Forgotten:
        # Later entries are kept; otherwise fast writers could keep this running.
        units = self._units.of(tenant)
        newest = await units.read(lambda connection: memory_queries.newest_key(connection, tenant, scope))

        def some(connection: Connection) -> memory_queries.Gone:
            memory_queries.take_turn(connection, self._units.engine, tenant, scope)
            return memory_queries.forget_some(connection, self._index, tenant, scope, what, newest, now)

        deleted = embeddings = 0
        while (gone := await units.write(some)).names:
            deleted, embeddings = deleted + len(gone.names), embeddings + gone.embeddings
        self._hint(deleted > 0)
        missing = 0 if what.names is None else len(set(what.names)) - deleted
        return Forgotten(deleted, embeddings, missing)

    def _hint(self, deleted: bool) -> None:
        for hint in self._after_deletions if deleted else ():
            hint()

    # --- by name, namespaces, expiry

    async def memories_by_name(
        self, tenant: str, scope: MemoryScope, names: Sequence[str], now: int, max_bytes: int
    ) -> NamedMemories:
        return await self._units.of(tenant).read(
            lambda connection: write_queries.named(connection, self._units.codec, tenant, scope, names, now, max_bytes),
            snapshot=True,
        )

    async def refresh_memories(self, tenant: str, scope: MemoryScope, keys: Sequence[int], now: int) -> Mapping[int, int]:
        return await self._units.of(tenant).write(
            lambda connection: write_queries.refresh(connection, tenant, scope, keys, now)
        )

    async def memory_namespaces(
        self, tenant: str, scope: MemoryScope, wanted: NamespaceQuery, limit: int, cursor: str | None, now: int
    ) -> NamespacePage:
        return await self._units.of(tenant).read(
            lambda connection: namespaces_page(connection, tenant, scope, wanted, limit, cursor, now), snapshot=True
        )

    async def sweep_memories(self, now: int) -> int:
        owner = await self._units.read(lambda connection: write_queries.expired_scope(connection, now))
        if owner is None:
            return 0
        tenant, scope = owner
        engine, index = self._units.engine, self._index
        deleted = await self._units.of(tenant).write(
            lambda connection: write_queries.sweep(connection, engine, index, tenant, scope, now)
        )
        self._hint(deleted > 0)
        return max(1, deleted)  # a refresh, or another server, may have been faster

    async def count_expired_memories(self, now: int, most: int) -> int:
        return await self._units.read(lambda connection: write_queries.count_expired(connection, now, most))

    async def keep_index(self) -> None:
        """Analyzes entries that the index does not have in this version, until canceled. Several servers may do it at the same
        time: entries that another one has changed are skipped."""
        while self._index is not None:
            try:
                rest = _REST_S if await self.renew_terms() else _POLL_S
            except Exception as exc:  # a full disk, a lost database, a defect: searches scan the outdated entries
                _log.warning(
                    "indexing memories failed (%s); searches scan them; retrying in %g s", type(exc).__name__, _RETRY_S
                )
                rest = _RETRY_S
            await asyncio.sleep(rest)

    async def renew_terms(self) -> int:
        """Analyzes one batch in one transaction. Returns its size."""
        index = self._index
        if index is None:
            return 0
        renewed = await self._units.scan(lambda scanner: search.renewals(scanner, _RENEWED_AT_ONCE), snapshot=True)
        if renewed:
            version = self._units.codec.words_version
            await self._units.write(lambda connection: search.renew(connection, index, renewed, version))
        return len(renewed)


async def open_memory_index(engine: Engine, kind: TermIndex | None) -> TermIndex | None:
    """Returns the index of the entries' terms, of the same kind as that of events; creates it if there is none. The index of
    events is optional, because it costs appends something; this one costs them nothing."""
    if kind is None:
        return None
    index = kind.for_log(WORDS_TABLE)
    await engine.write(versions.alone(engine, lambda connection: search.prepare(connection, index, WORDS_TABLE)))
    return index
