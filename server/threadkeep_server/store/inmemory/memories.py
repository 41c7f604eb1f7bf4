"""Long-term memory in RAM: a list of entries in the order in which they were added."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ...domain import errors
from ...domain.memories import (
    ALL_MEMORIES,
    Forget,
    Forgotten,
    Memory,
    MemoryDraft,
    MemoryFilter,
    MemoryOutcome,
    MemoryScope,
    admits,
    expiry_of,
)
from ...domain.memory.namespaces import NamespaceQuery, is_within, path_of
from ...domain.memory.writes import MemoryWrite, WriteOutcome, Written, is_replay, outcomes_of
from ...domain.search import Candidate, Candidates, WordQuery
from ...domain.text import fold
from ..contract.codec import Codec
from ..contract.memories import MemoryPage, NamedMemories, NamespacePage, leaves_tombstone
from ..contract.terms import as_text, choose, memory_place
from ..contract.vectors import Floats
from .logs import InMemoryLogs


@dataclass(slots=True)
class Remembered:
    """An entry, its terms, and its embedding: `model` is 0 while it waits for one, `vector` None if it needs none."""

    tenant: str
    memory: Memory
    words: str
    model: int = 0
    vector: Floats | None = None


class InMemoryMemories(InMemoryLogs):
    """MemoriesStore in memory."""

    def __init__(self, codec: Codec, clock: Callable[[], int] = time.time_ns) -> None:
        super().__init__(codec, clock)
        self._memories: list[Remembered] = []
        self._tombstones: set[tuple[str, MemoryScope, str]] = set()
        self._memory_count = 0

    async def add_memories(
        self, tenant: str, scope: MemoryScope, drafts: Sequence[MemoryDraft], now: int, *, ingesting: bool
    ) -> Sequence[MemoryOutcome]:
        self._drop_expired(tenant, scope, {draft.name for draft in drafts}, now)
        known = self._by_name(tenant, scope)
        if not ingesting:
            for index, draft in enumerate(drafts):
                if draft.name in known and not is_replay(draft, known[draft.name].draft):
                    raise errors.MemoryIdConflict(draft.id, f"memories[{index}].id")
        return [self._remember(tenant, scope, draft, now, known, ingesting=ingesting) for draft in drafts]

    async def write_memories(
        self, tenant: str, scope: MemoryScope, writes: Sequence[MemoryWrite], now: int, *, replacing: bool
    ) -> Sequence[Written]:
        self._drop_expired(tenant, scope, {write.draft.name for write in writes}, now)
        known = self._by_name(tenant, scope)
        decided = outcomes_of(writes, known, replacing=replacing)
        return [self._write(tenant, scope, write.draft, outcome, known, now) for write, outcome in decided]

    def _write(
        self,
        tenant: str,
        scope: MemoryScope,
        draft: MemoryDraft,
        outcome: WriteOutcome,
        known: Mapping[str, Memory],
        now: int,
    ) -> Written:
        if outcome is WriteOutcome.KEPT:
            return Written(outcome, known[draft.name])
        if outcome is WriteOutcome.UNCHANGED:
            return Written(outcome, self._postponed(known[draft.name], now))
        if outcome is WriteOutcome.REPLACED:
            self._drop_memories([known[draft.name].key])
        before = known.get(draft.name)
        self._tombstones.discard((tenant, scope, draft.name))
        return Written(outcome, self._store(tenant, scope, draft, now if before is None else before.record_time, now))

    def _remember(
        self,
        tenant: str,
        scope: MemoryScope,
        draft: MemoryDraft,
        now: int,
        known: Mapping[str, Memory],
        *,
        ingesting: bool,
    ) -> MemoryOutcome:
        if draft.name in known:
            return MemoryOutcome.EXISTS
        tombstone = (tenant, scope, draft.name)
        if ingesting and tombstone in self._tombstones:
            return MemoryOutcome.DELETED
        self._tombstones.discard(tombstone)
        self._store(tenant, scope, draft, now, now)
        return MemoryOutcome.ADDED

    def _store(self, tenant: str, scope: MemoryScope, draft: MemoryDraft, record_time: int, now: int) -> Memory:
        self._memory_count += 1
        memory = Memory(self._memory_count, scope, draft, record_time, now, expiry_of(draft.ttl, now))
        terms = as_text(self._codec.memory_words(draft.content, memory.time, draft.author))
        self._memories.append(Remembered(tenant, memory, terms))
        return memory

    def _postponed(self, memory: Memory, now: int) -> Memory:
        """Returns the entry after its expiry was postponed."""
        later = expiry_of(memory.draft.ttl, now)
        if later is None or memory.expire_time is None or later <= memory.expire_time:
            return memory
        each = next(each for each in self._memories if each.memory.key == memory.key)
        each.memory = replace(memory, expire_time=later)
        return each.memory

    async def list_memories(
        self, tenant: str, scope: MemoryScope, wanted: MemoryFilter, limit: int, cursor: int | None
    ) -> MemoryPage:
        found = [memory for memory in reversed(self._wanted(tenant, scope, wanted)) if cursor is None or memory.key < cursor]
        page = found[:limit]
        return MemoryPage(page, page[-1].key if len(page) < len(found) else None)

    async def memories_by_key(
        self, tenant: str, scope: MemoryScope, keys: Sequence[int], wanted: MemoryFilter = ALL_MEMORIES
    ) -> Sequence[Memory]:
        found = {memory.key: memory for memory in self._wanted(tenant, scope, wanted)}
        return [found[key] for key in keys if key in found]

    async def memories_holding(
        self, tenant: str, scope: MemoryScope, folded: str, wanted: MemoryFilter, limit: int
    ) -> Sequence[Memory]:
        found = [memory for memory in self._wanted(tenant, scope, wanted) if folded in fold(memory.draft.text)]
        return sorted(found, key=lambda memory: (memory.time, memory.key), reverse=True)[:limit]

    async def memory_candidates(
        self, tenant: str, scope: MemoryScope, query: WordQuery, wanted: MemoryFilter = ALL_MEMORIES
    ) -> Candidates:
        inside = self._remembered(tenant, scope)
        return choose(((_candidate(each), admits(each.memory, wanted)) for each in inside), len(inside), query)

    async def forget(self, tenant: str, scope: MemoryScope, what: Forget, now: int) -> Forgotten:
        chosen = [each for each in self._remembered(tenant, scope) if _is_meant(each.memory.draft, what)]
        self._bury(chosen)
        embeddings = sum(each.vector is not None for each in chosen)
        missing = 0 if what.names is None else len(set(what.names)) - len(chosen)
        return Forgotten(len(chosen), embeddings, missing)

    def _bury(self, gone: Sequence[Remembered]) -> None:
        """Deletes entries. Those from events are not ingested again."""
        self._drop_memories([each.memory.key for each in gone])
        self._tombstones |= {
            (each.tenant, each.memory.scope, each.memory.draft.name)
            for each in gone
            if leaves_tombstone(each.memory.draft.event_id)
        }

    def _drop_memories(self, keys: Collection[int]) -> None:
        self._memories = [each for each in self._memories if each.memory.key not in keys]

    def _drop_expired(self, tenant: str, scope: MemoryScope, names: Collection[str], now: int) -> None:
        mine = self._remembered(tenant, scope)
        self._bury([each for each in mine if each.memory.is_expired(now) and each.memory.draft.name in names])

    # --- by name, namespaces, expiry

    async def memories_by_name(
        self, tenant: str, scope: MemoryScope, names: Sequence[str], now: int, max_bytes: int
    ) -> NamedMemories:
        stored = self._by_name(tenant, scope)
        live = [stored[name] for name in dict.fromkeys(names) if name in stored and not stored[name].is_expired(now)]
        found: dict[str, Memory] = {}
        for memory in live:
            max_bytes -= len(memory.draft.content) + len(memory.draft.metadata_json.encode())
            if found and max_bytes < 0:
                break
            found[memory.draft.name] = memory
        return NamedMemories(found, {memory.draft.name for memory in live} - found.keys())

    async def refresh_memories(self, tenant: str, scope: MemoryScope, keys: Sequence[int], now: int) -> Mapping[int, int]:
        mine = [each.memory for each in self._remembered(tenant, scope) if each.memory.key in keys]
        later = [self._postponed(memory, now) for memory in mine if not memory.is_expired(now)]
        return {memory.key: memory.expire_time for memory in later if memory.expire_time is not None}

    async def memory_namespaces(
        self, tenant: str, scope: MemoryScope, wanted: NamespaceQuery, limit: int, cursor: str | None, now: int
    ) -> NamespacePage:
        live = {each.memory.draft.namespace for each in self._remembered(tenant, scope) if not each.memory.is_expired(now)}
        left = (namespace for namespace in live if path_of(namespace) >= (cursor or ""))
        shown = sorted({wanted.shown(namespace) for namespace in left if wanted.matches(namespace)})
        return NamespacePage(shown[:limit], wanted.after(shown[limit - 1]) if len(shown) > limit else None)

    async def sweep_memories(self, now: int) -> int:
        gone = [each for each in self._memories if each.memory.is_expired(now)]
        self._bury(gone)
        return len(gone)

    async def count_expired_memories(self, now: int, most: int) -> int:
        return min(most, sum(each.memory.is_expired(now) for each in self._memories))

    def _by_name(self, tenant: str, scope: MemoryScope) -> dict[str, Memory]:
        return {each.memory.draft.name: each.memory for each in self._remembered(tenant, scope)}

    def _remembered(self, tenant: str, scope: MemoryScope) -> list[Remembered]:
        """Returns the entries of the scope."""
        return [each for each in self._memories if (each.tenant, each.memory.scope) == (tenant, scope)]

    def _wanted(self, tenant: str, scope: MemoryScope, wanted: MemoryFilter) -> list[Memory]:
        return [each.memory for each in self._remembered(tenant, scope) if admits(each.memory, wanted)]


def _is_meant(draft: MemoryDraft, what: Forget) -> bool:
    if what.names is not None:
        return draft.name in what.names
    if what.session_id is not None:
        return draft.session_id == what.session_id
    return is_within(draft.namespace, what.namespace)


def _candidate(each: Remembered) -> Candidate:
    memory = each.memory
    place = memory_place(memory.key, memory.draft.session_id)
    return Candidate(memory.key, *place, memory.time, 0, memory.draft.author, each.words)
