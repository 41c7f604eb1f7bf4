"""Long-term memory: remembering sessions and facts, finding and forgetting them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ..domain.memories import ALL_MEMORIES, Forget, Memory, MemoryDraft, MemoryFilter, MemoryScope
from ..domain.model import Caller, Role, SessionRef
from ..domain.recall import SearchMode, Texts
from ..domain.rules import Limits
from ..store.base import Store
from ..store.memories import MemoryPage
from .searches import Highlights, Recency
from .semantic import VectorSearch


@dataclass(frozen=True, slots=True)
class RememberedEvent:
    """What of an event is remembered: `content`, a ChatMessage with that alone, and its `text`, not blank."""

    event_id: str
    content: bytes
    text: str
    author: str
    time: int
    """The event time, or else the record time."""
    synthetic: bool = False


@dataclass(frozen=True, slots=True)
class ShownEvent:
    """An event as a tool's result shows it. `text`: its text parts, or else its other texts, joined by a line feed."""

    event_id: str
    seq: int
    role: Role
    author: str
    time: int
    text: str


class EventReader(Protocol):
    """Reads what the transport has encoded."""

    def remember(self, body: bytes, *, include_tools: bool, include_reasoning: bool) -> RememberedEvent | None:
        """What of an event's sealed bytes is to be remembered: its text parts, and tool calls and results or reasoning if
        asked. None if that is blank."""
        ...

    def show(self, body: bytes) -> ShownEvent:
        """What of an event's sealed bytes a model is shown."""
        ...

    def memory_texts(self, content: bytes) -> Texts:
        """The searchable texts of a memory's content, not folded."""
        ...


@dataclass(frozen=True, slots=True)
class Remembering:
    """What of a session is remembered. `event_ids` empty: of all its events. `metadata_json` goes to every entry that is added."""

    event_ids: Sequence[str] = ()
    include_tools: bool = False
    include_reasoning: bool = False
    include_synthetic: bool = False
    metadata_json: str = ""


TEXT_ONLY = Remembering()


class Ingested(NamedTuple):
    """What became of a session's events: entries added, those that were there, events with nothing to remember, and those whose
    entries had been deleted."""

    added: int = 0
    existing: int = 0
    skipped: int = 0
    deleted: int = 0


class AddedMemory(NamedTuple):
    """`replayed`: it was there already, with the same content."""

    id: str
    replayed: bool


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """A search of memories. `mode` None: HYBRID with an embedder, else RANKED. `top_k` 0: 5 with SEMANTIC, else 10; more than
    the server's page size is coerced to it. `reference_time` None: now."""

    scope: MemoryScope
    text: str
    mode: SearchMode | None = None
    top_k: int = 0
    min_score: float | None = None
    filter: MemoryFilter = ALL_MEMORIES
    recency: Recency | None = None
    reference_time: int | None = None


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """An entry that answers. SUBSTRING scores 0."""

    memory: Memory
    score: float = 0.0
    highlights: Highlights = ()


@dataclass(frozen=True, slots=True)
class FoundMemories:
    """Best first, or (SUBSTRING) newest first. `mode`: how the query was understood. `semantic_lag`: memories that wait for
    their embedding (0 with SUBSTRING and RANKED)."""

    entries: Sequence[FoundMemory]
    mode: SearchMode
    semantic_lag: int = 0


class Receipt(NamedTuple):
    """Of what was forgotten, and when. `not_found`: ids that named no memory of the scope."""

    deleted: int
    embeddings: int
    not_found: int
    time: int


class MemoryService:
    """Use cases of memory. Each raises MemoryNotConfigured where `enabled` is False, InvalidField for a scope without a user, and
    PermissionDenied for another user's. Without `vectors` there is neither SEMANTIC nor HYBRID."""

    def __init__(
        self,
        store: Store,
        limits: Limits,
        reader: EventReader,
        vectors: VectorSearch | None,
        clock: Callable[[], int],
        *,
        enabled: bool = True,
    ) -> None:
        self._store = store
        self._limits = limits
        self._reader = reader
        self._vectors = vectors
        self._clock = clock
        self._enabled = enabled

    @property
    def enabled(self) -> bool:
        return self._enabled

    async def add_session(self, caller: Caller, ref: SessionRef, what: Remembering = TEXT_ONLY) -> Ingested:
        """Remembers a session; what is remembered is left as it is, what was deleted stays deleted. Raises SessionNotFound,
        AmbiguousSession, EventNotFound for an id of `event_ids`."""
        raise NotImplementedError

    async def add(self, caller: Caller, scope: MemoryScope, drafts: Sequence[MemoryDraft]) -> Sequence[AddedMemory]:
        """Remembers entries, all or none. Raises InvalidField, BatchTooLarge, EventTooLarge, MemoryIdConflict."""
        raise NotImplementedError

    async def search(self, caller: Caller, query: MemoryQuery) -> FoundMemories:
        """A blank query finds nothing. Raises InvalidField, EmbedderNotConfigured, EmbedderFailed."""
        raise NotImplementedError

    async def list(
        self, caller: Caller, scope: MemoryScope, wanted: MemoryFilter, limit: int, cursor: int | None
    ) -> MemoryPage:
        """The last added first; ends early rather than exceed max_response_bytes."""
        raise NotImplementedError

    async def forget(self, caller: Caller, scope: MemoryScope, what: Forget) -> Receipt:
        """Deletes for good."""
        raise NotImplementedError
