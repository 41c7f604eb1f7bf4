"""What a store promises of long-term memory: part of the Store contract."""

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
    """Memories, by (tenant, app, user): no call reaches beyond its scope. They do not go with the sessions they are from."""

    async def add_memories(
        self, tenant: str, scope: MemoryScope, drafts: Sequence[MemoryDraft], now: int, *, ingesting: bool
    ) -> Sequence[MemoryOutcome]:
        """Adds all or none; ids differ within `drafts`. An id that is there is left as it is. `ingesting`: drafts are events;
        an id that was deleted stays so, and content is not compared. Otherwise a deleted id is added again, and other content,
        author, time, session, event or metadata under an id that is there raises MemoryIdConflict with the draft's index in its
        field."""
        ...

    async def list_memories(
        self, tenant: str, scope: MemoryScope, wanted: MemoryFilter, limit: int, cursor: int | None
    ) -> MemoryPage:
        """The last added first; `cursor` is the previous page's."""
        ...

    async def memories_by_key(
        self, tenant: str, scope: MemoryScope, keys: Sequence[int], wanted: MemoryFilter = ALL_MEMORIES
    ) -> Sequence[Memory]:
        """Those that are (still) in the scope and satisfy the filter, in the order of the keys given."""
        ...

    async def memories_holding(
        self, tenant: str, scope: MemoryScope, folded: str, wanted: MemoryFilter, limit: int
    ) -> Sequence[Memory]:
        """Those whose folded text holds the term, newest (by Memory.time, then key) first."""
        ...

    async def memory_candidates(
        self, tenant: str, scope: MemoryScope, query: WordQuery, wanted: MemoryFilter = ALL_MEMORIES
    ) -> Candidates:
        """Like RecallStore.word_candidates; a Candidate's session, position and role are 0."""
        ...

    async def forget(self, tenant: str, scope: MemoryScope, what: Forget, now: int) -> Forgotten:
        """Deletes for good, with embeddings and whatever is derived; remembers ids only, of entries from events, so that they
        are not ingested again. Large scopes go by parts, so that others can write meanwhile; if it fails, some may be gone."""
        ...


def is_replay(draft: MemoryDraft, stored: MemoryDraft) -> bool:
    """Whether a draft says again what is stored under its id. Its text follows from its content."""
    return replace(draft, text=stored.text) == stored


def leaves_tombstone(event_id: str) -> bool:
    """Whether an entry, once deleted, might be ingested again. `event_id`: the event that it is from."""
    return bool(event_id)
