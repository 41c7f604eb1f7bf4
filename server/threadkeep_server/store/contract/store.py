"""The Store contract. Every implementation passes tests/store/suite.py; `memory.MemoryStore` is the reference.

Rules that hold for every method:
- `tenant` comes from the credential and bounds everything that is read or written.
- A bare ref (neither app nor user_id) is looked up by session_id alone: SessionNotFound if none, AmbiguousSession if several.
- Errors are those of `domain.errors`. StoreUnavailable: nothing was changed, or (append) a retry with the same ids tells.
- Cancelling a call that has not started stops it; a commit that has started is completed and its result dropped.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from ...domain.context import ContextSpec
from ...domain.filters import ALL, EventFilter
from ...domain.model import Compaction, Counters, EventDraft, NewSession, Session, SessionChange, SessionRef, StoredEvent
from ...domain.search import Texts, Words
from .compaction import Compacted, CompactionPage, CompactionRequest, ContextPage, StoredPolicy, WindowRead
from .consumers import ConsumerStore
from .feed import FeedStore
from .maintenance import EXPIRED, Expired, UpkeepStore
from .memories import MemoriesStore
from .search import RecallStore


class Codec(Protocol):
    """What a store needs to know of an event's bytes without parsing them itself."""

    @property
    def words_version(self) -> int:
        """Changes when the same bytes give other words, so that what was derived from them is derived again."""
        ...

    def seal(self, draft: EventDraft, seq: int, record_time: int) -> bytes:
        """The bytes to store: the draft's body, unchanged, followed by what the server adds (seq, record time, sizes)."""
        ...

    def text(self, body: bytes) -> str:
        """The message text of sealed bytes: text parts joined by a line feed. Not folded."""
        ...

    def texts(self, body: bytes) -> Texts:
        """The searchable texts of sealed bytes. Not folded."""
        ...

    def words(self, body: bytes, time: int) -> Words:
        """What of sealed bytes goes into an index of words; `time` is the event's."""
        ...

    def memory_words(self, content: bytes, time: int) -> Words:
        """The same of a memory's content, the encoding of a message."""
        ...

    def reading(self, body: bytes) -> Reading:
        """What planners want to know of sealed bytes beyond the columns."""
        ...

    def ties(self, body: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The ids of the tool calls that sealed bytes make, and of those that they answer."""
        ...


class Reading(NamedTuple):
    """See WindowEvent."""

    prompt_text: str
    content_bytes: int
    calls: tuple[str, ...]
    results: tuple[str, ...]


@dataclass(slots=True)  # not frozen: one for each append
class AppendRequest:
    """One atomic append. At most one of the two expectations is set. Ids differ within `drafts`."""

    tenant: str
    ref: SessionRef
    drafts: Sequence[EventDraft]
    now: int
    expected_log_version: int | None = None
    expected_last_event_id: str | None = None
    ignore_existing: bool = False
    create: NewSession | None = None

    @property
    def size(self) -> int:
        return sum(len(draft.body) for draft in self.drafts)


@dataclass(slots=True)  # not frozen: one for each event appended
class AppendedEvent:
    event_id: str
    seq: int
    replayed: bool


@dataclass(slots=True)
class Appended:
    """What an append did; counters as after it."""

    events: Sequence[AppendedEvent]
    log_version: int
    last_seq: int
    window: Counters
    session_created: bool = False


Listener = Callable[[AppendRequest, Appended], None]
"""Told of an append."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a list of events goes on: beyond `position`, and not past `stop`, which a window has fixed."""

    position: int
    stop: int | None = None


@dataclass(frozen=True, slots=True)
class EventQuery:
    """Which events, how many at most, in which direction. `cursor` replaces the filter's window."""

    filter: EventFilter = ALL
    descending: bool = False
    limit: int = 100
    max_bytes: int = 1 << 62
    cursor: Cursor | None = None


@dataclass(frozen=True, slots=True)
class EventPage:
    """`cursor` is set when more of what was asked for (of the window, if there is one) remains."""

    events: Sequence[StoredEvent]
    cursor: Cursor | None = None
    log_version: int = 0
    last_seq: int = 0


@dataclass(frozen=True, slots=True)
class SessionQuery:
    """By create_time, newest first; of the same time, the last that was made first. `cursor` is opaque: the one of the previous
    page."""

    app: str | None = None
    user_id: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    limit: int = 100
    cursor: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class SessionPage:
    sessions: Sequence[Session]
    cursor: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class UserScope:
    """A user's sessions, of one app or (None) of all."""

    user_id: str
    app: str | None = None


@dataclass(frozen=True, slots=True)
class AppScope:
    """The sessions of an app, of every user."""

    app: str


EventScope = SessionRef | UserScope | AppScope
"""Where events are searched."""


@dataclass(frozen=True, slots=True)
class SearchCursor:
    """Beyond this hit, in the order (time, session, position). `left`: hits that remain of a numbered page."""

    time: int
    session: int
    position: int
    left: int | None = None

    @classmethod
    def after(cls, time: int, session: int, position: int, *, query: SearchQuery, taken: int) -> SearchCursor | None:
        """Where `query` goes on after `taken` hits more; None if its numbered page is complete."""
        window = query.filter.page_size if query.cursor is None else query.cursor.left
        left = None if window is None else window - taken
        return None if left == 0 else cls(time, session, position, left)


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What to look for: `filter` has at least one text condition; of windows it may hold a numbered page, not last_n."""

    scope: EventScope
    filter: EventFilter
    limit: int = 10
    max_bytes: int = 1 << 62
    cursor: SearchCursor | None = None

    @property
    def most(self) -> int:
        """Hits that this call may return."""
        window = self.filter.page_size if self.cursor is None else self.cursor.left
        return self.limit if window is None else min(self.limit, window)


@dataclass(frozen=True, slots=True)
class SearchHit:
    ref: SessionRef
    event: StoredEvent


@dataclass(frozen=True, slots=True)
class SearchPage:
    hits: Sequence[SearchHit]
    cursor: SearchCursor | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    sessions: int
    events: int


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """What the store is. `index_lag` counts committed change batches that the search index does not hold yet."""

    store_id: str
    engine: str
    durability: str
    schema_version: int
    indexed: bool
    index_lag: int
    totals: Totals | None = None


class Store(FeedStore, ConsumerStore, RecallStore, MemoriesStore, UpkeepStore, Protocol):
    """Durable, ordered, atomic storage of sessions and their logs, the feed of their changes, who follows it by name, what
    searches rank, and long-term memory."""

    async def create_session(self, tenant: str, new: NewSession, *, return_existing: bool) -> tuple[Session, bool]:
        """Creates the session; the flag says whether it did. Of concurrent creators of one ref exactly one wins.

        Raises SessionAlreadyExists unless return_existing, which returns the stored session unchanged.
        """
        ...

    async def get_session(self, tenant: str, ref: SessionRef) -> Session:
        """The session, expired or not. Raises SessionNotFound, AmbiguousSession."""
        ...

    async def list_sessions(self, tenant: str, query: SessionQuery) -> SessionPage:
        """Sessions that satisfy app, user and every label, in the order of SessionQuery."""
        ...

    async def update_session(self, tenant: str, ref: SessionRef, change: SessionChange) -> Session:
        """Sets the named fields; never touches events, versions or create_time. Raises SessionNotFound, AmbiguousSession."""
        ...

    async def delete_session(self, tenant: str, ref: SessionRef) -> int | None:
        """Deletes the session and its log; the number of events, or None if there was nothing. Raises AmbiguousSession."""
        ...

    async def delete_expired(self, tenant: str | None, now: int, limit: int, which: Expired = EXPIRED) -> int:
        """Deletes up to `limit` of these sessions whose expire_time <= now (tenant None: of all); how many. A session that is
        extended meanwhile survives; several servers may sweep at once."""
        ...

    def append(self, request: AppendRequest) -> Awaitable[Appended]:
        """Appends all drafts or none, durably. What it returns is to be awaited; requests are taken in the order of the calls.
        seq is last_seq+1.. without gaps, in commit order.

        A draft whose id is stored with the same body is a replay: nothing is stored, its seq is returned; with another body
        EventIdConflict, unless ignore_existing; a conflict is told before a mismatch. A request of replays only bumps no
        version and ignores expectations. Raises SessionNotFound (unless `create`), AmbiguousSession, VersionMismatch,
        EventIdConflict, RateLimited, StoreUnavailable. A failed request never affects another.
        """
        ...

    async def get_event(self, tenant: str, ref: SessionRef, event_id: str) -> StoredEvent:
        """Raises SessionNotFound, AmbiguousSession, EventNotFound."""
        ...

    async def list_events(self, tenant: str, ref: SessionRef, query: EventQuery) -> EventPage:
        """What `domain.filters.select` selects, in window order (or the reverse). An unknown session gives an empty page.

        A page ends early rather than exceed max_bytes (of the bodies as they were sent), but holds at least one event if any
        is left.
        """
        ...

    async def get_context(self, tenant: str, ref: SessionRef, spec: ContextSpec, default_bytes: int) -> ContextPage:
        """What `domain.windows.select_context` selects of the active events; the cost does not grow with the log, nor with what
        is archived. A spec without max_bytes has the session's context_bytes, or else `default_bytes`. An unknown session gives
        an empty page. Raises AmbiguousSession."""
        ...

    async def read_window(self, tenant: str, ref: SessionRef) -> WindowRead:
        """Every active event. Raises SessionNotFound, AmbiguousSession."""
        ...

    async def compact(self, request: CompactionRequest) -> Compacted:
        """Archives events and inserts others, all or nothing; the cost depends on these, not on the log. Archiving changes no
        position, seq or body; inserted events get the next seqs. Both versions grow by one. A dry run checks everything, says
        what the record would be, and changes nothing.

        A compaction_id that the session has is a replay: its record is returned, whatever else the request says. Raises
        SessionNotFound, AmbiguousSession, VersionMismatch, NothingToCompact, EventNotFound for an event to archive or to insert
        before that is not active (or is to be archived), EventIdConflict for the id of a stored event, StoreUnavailable.
        """
        ...

    async def get_compaction(self, tenant: str, ref: SessionRef, compaction_id: str) -> Compaction | None:
        """Its record; None if the session has no such compaction. Raises SessionNotFound, AmbiguousSession."""
        ...

    async def list_compactions(self, tenant: str, ref: SessionRef, limit: int, cursor: int | None) -> CompactionPage:
        """Newest first; `cursor` is the previous page's. Raises SessionNotFound, AmbiguousSession."""
        ...

    async def put_policy(self, policy: StoredPolicy) -> None:
        """Sets or (no body) removes a policy. A session's policy goes with the session. Raises SessionNotFound for one."""
        ...

    async def policies(self, since: int) -> Sequence[StoredPolicy]:
        """Policies of every tenant that were set or removed at or after `since`, removed ones as such."""
        ...

    async def lease(self, tenant: str, ref: SessionRef, owner: str, now: int, until: int) -> bool:
        """Takes or extends the lease on compacting a session; False while another owner's has not run out. Raises
        SessionNotFound, AmbiguousSession."""
        ...

    async def release(self, tenant: str, ref: SessionRef, owner: str) -> None:
        """Gives the lease back; nothing happens if it is not the owner's."""
        ...

    def listen(self, listener: Listener) -> None:
        """From now on the listener is called after each append of this server, once it is committed and before its caller is
        answered. An append that was a replay as a whole may be told too. It must be quick and must not raise."""
        ...

    async def search(self, tenant: str, query: SearchQuery) -> SearchPage:
        """Events of the scope that match, everything committed before the call included. One session: in window order; a
        user's or an app's: by (time, session creation, position). Raises SessionNotFound, AmbiguousSession for a session
        scope."""
        ...

    async def info(self, tenant: str, *, totals: bool) -> StoreInfo:
        """Facts; counting totals costs a scan of the tenant's sessions."""
        ...

    async def ping(self) -> None:
        """Raises StoreUnavailable if the database does not answer."""
        ...

    async def aclose(self) -> None:
        """Completes what was accepted, then releases everything."""
        ...
