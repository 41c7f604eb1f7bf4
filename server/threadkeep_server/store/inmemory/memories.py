"""Long-term memory in RAM: a list of entries in the order in which they were added."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

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
)
from ...domain.search import Candidate, Candidates, WordQuery
from ...domain.text import fold
from ..contract.codec import Codec
from ..contract.memories import MemoryPage, is_replay, leaves_tombstone
from ..contract.terms import as_text, choose
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
        known = {each.memory.draft.id: each.memory.draft for each in self._remembered(tenant, scope)}
        if not ingesting:
            for index, draft in enumerate(drafts):
                if draft.id in known and not is_replay(draft, known[draft.id]):
                    raise errors.MemoryIdConflict(draft.id, f"memories[{index}].id")
        return [self._remember(tenant, scope, draft, now, known, ingesting=ingesting) for draft in drafts]

    def _remember(
        self,
        tenant: str,
        scope: MemoryScope,
        draft: MemoryDraft,
        now: int,
        known: Mapping[str, MemoryDraft],
        *,
        ingesting: bool,
    ) -> MemoryOutcome:
        if draft.id in known:
            return MemoryOutcome.EXISTS
        tombstone = (tenant, scope, draft.id)
        if ingesting and tombstone in self._tombstones:
            return MemoryOutcome.DELETED
        self._tombstones.discard(tombstone)
        self._memory_count += 1
        memory = Memory(self._memory_count, scope, draft, now)
        terms = as_text(self._codec.memory_words(draft.content, memory.time))
        self._memories.append(Remembered(tenant, memory, terms))
        return MemoryOutcome.ADDED

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
        gone = {each.memory.key for each in chosen}
        self._memories = [each for each in self._memories if each.memory.key not in gone]
        self._tombstones |= {
            (tenant, scope, each.memory.draft.id) for each in chosen if leaves_tombstone(each.memory.draft.event_id)
        }
        embeddings = sum(each.vector is not None for each in chosen)
        missing = 0 if what.ids is None else len(set(what.ids)) - len(chosen)
        return Forgotten(len(chosen), embeddings, missing)

    def _remembered(self, tenant: str, scope: MemoryScope) -> list[Remembered]:
        """Returns the entries of the scope."""
        return [each for each in self._memories if (each.tenant, each.memory.scope) == (tenant, scope)]

    def _wanted(self, tenant: str, scope: MemoryScope, wanted: MemoryFilter) -> list[Memory]:
        return [each.memory for each in self._remembered(tenant, scope) if admits(each.memory, wanted)]


def _is_meant(draft: MemoryDraft, what: Forget) -> bool:
    if what.ids is not None:
        return draft.id in what.ids
    return what.session_id is None or draft.session_id == what.session_id


def _candidate(each: Remembered) -> Candidate:
    return Candidate(each.memory.key, 0, 0, each.memory.time, 0, each.memory.draft.author, each.words)
