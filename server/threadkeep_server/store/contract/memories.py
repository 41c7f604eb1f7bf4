"""Long-term memory: part of the Store contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ...domain.memories import ALL_MEMORIES, Forget, Forgotten, Memory, MemoryDraft, MemoryFilter, MemoryOutcome, MemoryScope
from ...domain.search import Candidates, WordQuery


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """`cursor` is set when there may be more."""

    memories: Sequence[Memory]
    cursor: int | None = None


class MemoriesStore(Protocol):
    """Memories by (tenant, app, user); a call reads and writes one scope only. Memories outlive the sessions they are from."""

    async def add_memories(
        self, tenant: str, scope: MemoryScope, drafts: Sequence[MemoryDraft], now: int, *, ingesting: bool
    ) -> Sequence[MemoryOutcome]:
        """Adds all or none; ids differ within `drafts`. A stored id is left unchanged. `ingesting`: drafts are events;
        a deleted id is not added again, and content is not compared. Otherwise a deleted id is added again, and a stored id
        with another content, author, time, session, event or metadata raises MemoryIdConflict with the draft's index in its
        field."""
        ...

    async def list_memories(
        self, tenant: str, scope: MemoryScope, wanted: MemoryFilter, limit: int, cursor: int | None
    ) -> MemoryPage:
        """Returns memories, the last added first; `cursor` is the previous page's."""
        ...

    async def memories_by_key(
        self, tenant: str, scope: MemoryScope, keys: Sequence[int], wanted: MemoryFilter = ALL_MEMORIES
    ) -> Sequence[Memory]:
        """Returns the memories that are (still) in the scope and match the filter, in the order of `keys`."""
        ...

    async def memories_holding(
        self, tenant: str, scope: MemoryScope, folded: str, wanted: MemoryFilter, limit: int
    ) -> Sequence[Memory]:
        """Returns memories whose folded text contains `folded`, newest (by Memory.time, then key) first."""
        ...

    async def memory_candidates(
        self, tenant: str, scope: MemoryScope, query: WordQuery, wanted: MemoryFilter = ALL_MEMORIES
    ) -> Candidates:
        """Like SearchStore.word_candidates; a Candidate's session, position and role are 0."""
        ...

    async def forget(self, tenant: str, scope: MemoryScope, what: Forget, now: int) -> Forgotten:
        """Deletes permanently, with embeddings and derived data. Only ids of entries from events are kept, so that they are not
        ingested again. A large scope is deleted in parts, so that others can write in between; after a failure some may be
        deleted."""
        ...


def is_replay(draft: MemoryDraft, stored: MemoryDraft) -> bool:
    """Returns whether a draft equals the memory stored under its id. The text is not compared: it follows from the content."""
    return replace(draft, text=stored.text) == stored


def leaves_tombstone(event_id: str) -> bool:
    """Returns whether a deleted entry could be ingested again. `event_id`: the event that it is from."""
    return bool(event_id)
