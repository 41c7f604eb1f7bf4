"""Long-term memory: part of the Store contract."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ...domain.memories import ALL_MEMORIES, Forget, Forgotten, Memory, MemoryDraft, MemoryFilter, MemoryOutcome, MemoryScope
from ...domain.memory.namespaces import Namespace, NamespaceQuery
from ...domain.memory.writes import MemoryWrite, Written
from ...domain.search import Candidates, WordQuery


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """`cursor` is set when there may be more."""

    memories: Sequence[Memory]
    cursor: int | None = None


class NamedMemories(NamedTuple):
    """Memories by name, and the names of those that did not fit."""

    found: Mapping[str, Memory]
    omitted: Collection[str] = ()


class NamespacePage(NamedTuple):
    """`cursor`, the path at which the next page begins, is set when there may be more."""

    namespaces: Sequence[Namespace]
    cursor: str | None = None


class MemoriesStore(Protocol):
    """Memories by (tenant, app, user); a call reads and writes one scope only. Memories outlive the sessions they are from.

    An entry that has expired is absent for every write, and for every read that says the time (MemoryFilter.live_at)."""

    async def add_memories(
        self, tenant: str, scope: MemoryScope, drafts: Sequence[MemoryDraft], now: int, *, ingesting: bool
    ) -> Sequence[MemoryOutcome]:
        """Adds all or none; names differ within `drafts`. A stored name is left unchanged. `ingesting`: drafts are events;
        a deleted one is not added again, and content is not compared. Otherwise a deleted one is added again, and a stored one
        with another content, author, time, session, event, metadata or ttl raises MemoryIdConflict with the draft's index in
        its field."""
        ...

    async def write_memories(
        self, tenant: str, scope: MemoryScope, writes: Sequence[MemoryWrite], now: int, *, replacing: bool
    ) -> Sequence[Written]:
        """Writes all or none, as memory.writes.outcomes_of says; names differ within `writes`. A replaced entry gets a new key
        and update time, and keeps its record time; nothing is found by its old content from then on. One that is unchanged
        expires one ttl from now. Raises MemoryVersionMismatch."""
        ...

    async def memories_by_name(
        self, tenant: str, scope: MemoryScope, names: Sequence[str], now: int, max_bytes: int
    ) -> NamedMemories:
        """Returns the memories with these names that have not expired: in the order of `names`, as many as have `max_bytes` of
        content and metadata, at least one."""
        ...

    async def refresh_memories(self, tenant: str, scope: MemoryScope, keys: Sequence[int], now: int) -> Mapping[int, int]:
        """Postpones the expiry of those of these memories that have a ttl, and have not expired, to one ttl from now, never to
        an earlier time. Returns their new times, by key."""
        ...

    async def memory_namespaces(
        self, tenant: str, scope: MemoryScope, wanted: NamespaceQuery, limit: int, cursor: str | None, now: int
    ) -> NamespacePage:
        """Returns namespaces that have entries which have not expired, in their order; `cursor` is the previous page's. A page
        may end early, after many that do not match."""
        ...

    async def sweep_memories(self, now: int) -> int:
        """Deletes some expired entries of all tenants, as `forget` does. Returns their number; 0 if none is left."""
        ...

    async def count_expired_memories(self, now: int, most: int) -> int:
        """Returns the number of expired entries of all tenants, up to `most`."""
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
        """Like SearchStore.word_candidates; a Candidate's role is 0, its session and position are those of
        `terms.memory_place`."""
        ...

    async def forget(self, tenant: str, scope: MemoryScope, what: Forget, now: int) -> Forgotten:
        """Deletes permanently, with embeddings and derived data. Only ids of entries from events are kept, so that they are not
        ingested again. A large scope is deleted in parts, so that others can write in between; after a failure some may be
        deleted."""
        ...


def leaves_tombstone(event_id: str) -> bool:
    """Returns whether a deleted entry could be ingested again. `event_id`: the event that it is from."""
    return bool(event_id)
