"""Long-term memory: ingestion, addition, search, listing and deletion."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from ...domain.errors import BatchTooLarge, EventTooLarge, InvalidField, MemoryNotConfigured, SessionNotFound
from ...domain.memories import Forget, MemoryDraft, MemoryFilter, MemoryOutcome, MemoryScope
from ...domain.memory.namespaces import NamespaceQuery
from ...domain.memory.writes import MemoryWrite, Written
from ...domain.model import Caller, Role, Session, SessionRef, StoredEvent
from ...domain.search import Texts
from ...domain.validation import Limits
from ...providers.rerankers.base import Reranker
from ...store.contract.events import EventQuery, EventStore
from ...store.contract.memories import MemoriesStore, MemoryPage, NamedMemories, NamespacePage
from ...store.contract.sessions import SessionStore
from ..access import own_memories, own_ref
from ..run_in_thread import MOST_EVENTS, run_in_thread
from ..search.search_slots import UNLIMITED, SearchSlots
from ..search.vector_search import VectorSearch
from .memory_search import FoundMemories, MemoryQuery, MemorySearch, fitting_memories
from .refreshing import check_refresh, refreshed

MOST_IDS = 1_000
_EVENTS_AT_ONCE = 500
# Half a millisecond each on SQLite, where nobody else writes meanwhile.
_ADDED_AT_ONCE = 64
# Bytes of events that are read and added at once: on SQLite all writers wait while they are indexed.
_BYTES_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class RememberedEvent:
    """The ingested part of an event: `content`, an encoded ChatMessage, and its `text`, not blank."""

    event_id: str
    content: bytes
    text: str
    author: str
    time: int
    """The event time, otherwise the record time."""
    synthetic: bool = False


@dataclass(frozen=True, slots=True)
class ShownEvent:
    """An event in a tool result. `text`: its text parts, otherwise its other texts, joined by line feeds."""

    event_id: str
    seq: int
    role: Role
    author: str
    time: int
    text: str


class EventReader(Protocol):
    """Reads events and memories in the encoding of the transport."""

    def remember(self, body: bytes, *, include_tools: bool, include_reasoning: bool) -> RememberedEvent | None:
        """Returns the ingested part of a sealed event: its text parts, optionally tool calls and results, and reasoning. None
        if that is blank."""
        ...

    def show(self, body: bytes) -> ShownEvent:
        """Returns a sealed event as a tool result shows it."""
        ...

    def memory_texts(self, content: bytes) -> Texts:
        """Returns the searchable texts of a memory's content, not folded."""
        ...


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """What of a session to ingest. Empty `event_ids`: all events. `metadata_json` is set on every added entry."""

    event_ids: Sequence[str] = ()
    include_tools: bool = False
    include_reasoning: bool = False
    include_synthetic: bool = False
    metadata_json: str = ""


TEXT_ONLY = IngestOptions()


@dataclass(frozen=True, slots=True)
class Ingested:
    """The result of an ingestion: entries added, existing entries, events without text, and events whose entries were deleted
    before."""

    added: int = 0
    existing: int = 0
    skipped: int = 0
    deleted: int = 0

    def __add__(self, other: Ingested) -> Ingested:
        return Ingested(
            self.added + other.added,
            self.existing + other.existing,
            self.skipped + other.skipped,
            self.deleted + other.deleted,
        )


class AddedMemory(NamedTuple):
    """`replayed`: the entry existed with the same content."""

    id: str
    replayed: bool


class Receipt(NamedTuple):
    """The result of a deletion and its time. `not_found`: ids without a memory in the scope."""

    deleted: int
    embeddings: int
    not_found: int
    time: int


class MemoryServiceStore(SessionStore, EventStore, MemoriesStore, Protocol):
    """The part of the store that long-term memory uses."""


class MemoryService:
    """Use cases of memory. Each raises MemoryNotConfigured unless `enabled`, InvalidField for a scope without a user, and
    PermissionDenied for the scope of another user. SEMANTIC and HYBRID require `vectors`. `added` is called when new entries
    wait for their embedding; it must be fast. `slots`: the searches that may run at a time."""

    def __init__(
        self,
        store: MemoryServiceStore,
        limits: Limits,
        reader: EventReader,
        vectors: VectorSearch | None,
        clock: Callable[[], int],
        *,
        enabled: bool = True,
        added: Callable[[], None] = lambda: None,
        slots: SearchSlots = UNLIMITED,
        reranker: Reranker | None = None,
    ) -> None:
        self._store = store
        self._limits = limits
        self._reader = reader
        self._search = MemorySearch(store, limits, reader.memory_texts, vectors, clock, slots, reranker)
        self._clock = clock
        self._enabled = enabled
        self._added = added

    @property
    def enabled(self) -> bool:
        return self._enabled

    # --- adding

    async def add_session(self, caller: Caller, ref: SessionRef, what: IngestOptions = TEXT_ONLY) -> Ingested:
        """Ingests a session. Existing entries are unchanged, deleted ones stay deleted. Raises SessionNotFound,
        AmbiguousSession, EventNotFound for an id of `event_ids`."""
        self._check_enabled()
        if len(what.event_ids) > MOST_IDS:
            raise InvalidField("event_ids", f"must have at most {MOST_IDS:,} entries")
        return await self.ingest(caller.tenant, own_ref(caller, ref), what)

    async def ingest(self, tenant: str, ref: SessionRef, what: IngestOptions = TEXT_ONLY) -> Ingested:
        """Like `add_session`, without authorization. Not atomic: a further call completes an interrupted one."""
        session = await self._store.get_session(tenant, ref)
        total = Ingested()
        async for events in self._events(tenant, session.ref, what.event_ids):
            # The session may have been deleted and created again: under the old uid, its events would be added twice.
            if (await self._store.get_session(tenant, session.ref)).uid != session.uid:
                raise SessionNotFound(session.ref)
            drafts = await run_in_thread(len(events), MOST_EVENTS, self._drafts, session, events, what)
            total = total + Ingested(skipped=len(events) - len(drafts))
            scope = MemoryScope(session.ref.app, session.ref.user_id)
            for start in range(0, len(drafts), _ADDED_AT_ONCE):
                some = drafts[start : start + _ADDED_AT_ONCE]
                outcomes = Counter(await self._store.add_memories(tenant, scope, some, self._clock(), ingesting=True))
                added, existing = outcomes[MemoryOutcome.ADDED], outcomes[MemoryOutcome.EXISTS]
                total = total + Ingested(added, existing, 0, outcomes[MemoryOutcome.DELETED])
        if total.added:
            self._added()
        return total

    async def _events(self, tenant: str, ref: SessionRef, event_ids: Sequence[str]) -> AsyncIterator[Sequence[StoredEvent]]:
        """Yields batches of the events with these ids, or of all events, including archived ones."""
        if event_ids:
            wanted = [await self._store.get_event(tenant, ref, event_id) for event_id in dict.fromkeys(event_ids)]
            for start in range(0, len(wanted), _EVENTS_AT_ONCE):
                yield wanted[start : start + _EVENTS_AT_ONCE]
            return
        query = EventQuery(limit=_EVENTS_AT_ONCE, max_bytes=_BYTES_AT_ONCE)
        while True:
            page = await self._store.list_events(tenant, ref, query)
            if page.events:
                yield page.events
            if page.cursor is None:
                return
            query = replace(query, cursor=page.cursor)

    def _drafts(self, session: Session, events: Sequence[StoredEvent], what: IngestOptions) -> Sequence[MemoryDraft]:
        drafts = []
        for event in events:
            read = self._reader.remember(event.body, include_tools=what.include_tools, include_reasoning=what.include_reasoning)
            if read is not None and (what.include_synthetic or not read.synthetic):
                drafts.append(
                    MemoryDraft(
                        id=entry_id(session.uid, read.event_id),
                        content=read.content,
                        text=read.text,
                        author=read.author,
                        event_time=read.time,
                        session_id=session.ref.session_id,
                        event_id=read.event_id,
                        metadata_json=what.metadata_json,
                    )
                )
        return drafts

    async def add(self, caller: Caller, scope: MemoryScope, drafts: Sequence[MemoryDraft]) -> Sequence[AddedMemory]:
        """Adds all entries or none. Raises InvalidField, BatchTooLarge, EventTooLarge, MemoryIdConflict."""
        self._check_enabled()
        scope = own_memories(caller, scope)
        self._check_batch(drafts)
        outcomes = await self._store.add_memories(caller.tenant, scope, drafts, self._clock(), ingesting=False)
        self._added()
        pairs = zip(drafts, outcomes, strict=True)
        return [AddedMemory(draft.id, outcome is MemoryOutcome.EXISTS) for draft, outcome in pairs]

    async def upsert(
        self, caller: Caller, scope: MemoryScope, writes: Sequence[MemoryWrite], *, replacing: bool = True
    ) -> Sequence[Written]:
        """Writes all entries or none. Raises InvalidField, BatchTooLarge, EventTooLarge, MemoryVersionMismatch."""
        self._check_enabled()
        scope = own_memories(caller, scope)
        self._check_batch([write.draft for write in writes], "writes", ".memory")
        written = await self._store.write_memories(caller.tenant, scope, writes, self._clock(), replacing=replacing)
        self._added()
        return written

    def check_count(self, entries: int, field: str = "memories") -> None:
        """Raises BatchTooLarge. For callers that convert entries before they add them."""
        if entries > self._limits.max_batch_events:
            raise BatchTooLarge(field, entries, self._limits.max_batch_events, "entries")

    def _check_batch(self, drafts: Sequence[MemoryDraft], field: str = "memories", part: str = "") -> None:
        """`part`: the path from an item of the field to its entry."""
        if not drafts:
            raise InvalidField(field, "must not be empty")
        self.check_count(len(drafts), field)
        seen: set[str] = set()
        size = 0
        for index, draft in enumerate(drafts):
            at = f"{field}[{index}]{part}"
            bytes_ = len(draft.content) + len(draft.metadata_json.encode())
            if bytes_ > self._limits.max_event_bytes:
                raise EventTooLarge(at, bytes_, self._limits.max_event_bytes)
            if not draft.text.strip():
                raise InvalidField(f"{at}.content", "must have text that is not blank")
            if draft.name in seen:
                raise InvalidField(f"{at}.id", "occurs twice in the batch")
            seen.add(draft.name)
            size += bytes_
        if size > self._limits.max_batch_bytes:
            raise BatchTooLarge(field, size, self._limits.max_batch_bytes, "bytes")

    # --- reading

    async def get(self, caller: Caller, scope: MemoryScope, names: Sequence[str], *, refresh: bool = False) -> NamedMemories:
        """Returns entries by stored name. Raises InvalidField, PermissionDenied."""
        self._check_enabled()
        if not names:
            raise InvalidField("names", "must not be empty")
        if len(names) > MOST_IDS:
            raise InvalidField("names", f"must have at most {MOST_IDS:,} entries")
        check_refresh(caller, wanted=refresh)
        scope, now = own_memories(caller, scope), self._clock()
        read = await self._store.memories_by_name(caller.tenant, scope, names, now, self._limits.max_response_bytes)
        if not refresh:
            return read
        later = await refreshed(self._store, caller.tenant, scope, list(read.found.values()), now)
        return read._replace(found={memory.draft.name: memory for memory in later})

    async def namespaces(
        self, caller: Caller, scope: MemoryScope, wanted: NamespaceQuery, limit: int, cursor: str | None
    ) -> NamespacePage:
        self._check_enabled()
        limit = min(limit, self._limits.max_page_size)
        scope = own_memories(caller, scope)
        return await self._store.memory_namespaces(caller.tenant, scope, wanted, limit, cursor, self._clock())

    # --- searching

    async def search(self, caller: Caller, query: MemoryQuery) -> FoundMemories:
        """A blank query finds nothing. Raises InvalidField, EmbedderNotConfigured, EmbedderFailed."""
        self._check_enabled()
        return await self._search.search(caller, query)

    async def list(
        self,
        caller: Caller,
        scope: MemoryScope,
        wanted: MemoryFilter,
        limit: int,
        cursor: int | None,
        *,
        refresh: bool = False,
    ) -> MemoryPage:
        """Returns a page, last written first; it ends early before it exceeds max_response_bytes."""
        self._check_enabled()
        check_refresh(caller, wanted=refresh)
        limit = min(limit, self._limits.max_page_size)
        scope, now = own_memories(caller, scope), self._clock()
        page = await self._store.list_memories(caller.tenant, scope, replace(wanted, live_at=now), limit, cursor)
        fit = fitting_memories(page.memories, self._limits.max_response_bytes)
        if fit < len(page.memories):
            page = MemoryPage(page.memories[:fit], page.memories[fit - 1].key)
        if not refresh:
            return page
        return replace(page, memories=await refreshed(self._store, caller.tenant, scope, page.memories, now))

    # --- deleting

    async def forget(self, caller: Caller, scope: MemoryScope, what: Forget, field: str = "ids.ids") -> Receipt:
        """Deletes permanently. `field`: that of the names, for errors."""
        self._check_enabled()
        if what.names is not None and not what.names:
            raise InvalidField(field, "must not be empty")
        if what.names is not None and len(what.names) > MOST_IDS:
            raise InvalidField(field, f"must have at most {MOST_IDS:,} entries")
        now = self._clock()
        forgotten = await self._store.forget(caller.tenant, own_memories(caller, scope), what, now)
        return Receipt(*forgotten, now)

    def _check_enabled(self) -> None:
        if not self._enabled:
            raise MemoryNotConfigured


def entry_id(session_uid: str, event_id: str) -> str:
    """Returns the id of an event's entry: the same for each ingestion, another for a new session of the same name."""
    return "m-" + hashlib.blake2b(f"{session_uid}\0{event_id}".encode(), digest_size=16).hexdigest()
