"""The types of the domain. Times are integer nanoseconds since the Unix epoch, UTC."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import NamedTuple

from . import roles as access

SECOND_NS = 1_000_000_000
POSITION_STEP = 1 << 20
"""Distance of the window positions of appended events. Compactions insert events between them."""


class Role(IntEnum):
    """The role of a message; the numbers are those of threadkeep.v1.Role."""

    USER = 1
    ASSISTANT = 2
    SYSTEM = 3
    TOOL = 4


ROLES = {int(role): role for role in Role}
"""Roles by number; the lookup of an enum takes ten times as long, and each event requires one."""


class Tools(IntFlag):
    """Whether an event has tool calls or tool results. UNKNOWN: it may have either. ERASED: nothing of its content is left."""

    NONE = 0
    CALLS = 1
    RESULTS = 2
    UNKNOWN = 4
    ERASED = 8


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of the credential. user_id None: not bound to a user, may act for all users of the tenant; app None: not
    bound to an app. roles: as `granted` returns them. expires_at: seconds since the epoch, None without an expiry; another
    token of the same user is the same caller."""

    tenant: str
    user_id: str | None = None
    roles: frozenset[str] = access.DATA
    app: str | None = None
    expires_at: float | None = field(default=None, compare=False)

    @property
    def is_bound(self) -> bool:
        """Whether the caller reaches a part of the tenant only."""
        return self.user_id is not None or self.app is not None

    @property
    def owner(self) -> str:
        """The owner of the caller's named consumers; empty for a caller that is not bound. No user's id has a control
        character."""
        user_id = self.user_id or ""
        return user_id if self.app is None else f"\x1f{self.app}\x1f{user_id}"


class SessionRef(NamedTuple):
    """Identifies a session within a tenant. Without app and user_id, only the session_id is compared."""

    app: str
    user_id: str
    session_id: str

    @property
    def is_bare(self) -> bool:
        return not self.app and not self.user_id


@dataclass(frozen=True, slots=True)
class Usage:
    """Token usage as a provider reported it."""

    input: int = 0
    output: int = 0
    total: int = 0
    cached: int = 0
    reasoning: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.total + other.total,
            self.cached + other.cached,
            self.reasoning + other.reasoning,
        )


NO_USAGE = Usage()


# Not frozen: see EventDraft.
@dataclass(slots=True, unsafe_hash=True)
class Counters:
    """Counts over the active window."""

    events: int = 0
    turns: int = 0
    bytes: int = 0
    tokens: int = 0

    def __add__(self, other: Counters) -> Counters:
        return Counters(
            self.events + other.events, self.turns + other.turns, self.bytes + other.bytes, self.tokens + other.tokens
        )

    def __sub__(self, other: Counters) -> Counters:
        return Counters(
            self.events - other.events, self.turns - other.turns, self.bytes - other.bytes, self.tokens - other.tokens
        )


NO_COUNTERS = Counters()


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of a session, for preconditions of appends and compactions. Zeros if the session does not exist."""

    log_version: int = 0
    window_version: int = 0
    last_seq: int = 0
    window: Counters = NO_COUNTERS


NOWHERE = Versions()


# Not frozen: see EventDraft.
@dataclass(slots=True, unsafe_hash=True)
class NewSession:
    """A session to create. The service sets `uid` and times, not the store. `began`: the creation time of an imported session;
    None: now. `state`: its first values, as JSON text by key. `parent`: of an imported fork."""

    ref: SessionRef
    uid: str
    now: int
    expire_time: int | None
    metadata_json: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    context_bytes: int = 0
    began: int | None = None
    state: Mapping[str, str] = field(default_factory=dict)
    parent: Parent | None = None

    @property
    def create_time(self) -> int:
        return self.now if self.began is None else self.began

    @property
    def update_time(self) -> int:
        return max(self.now, self.create_time)


@dataclass(frozen=True, slots=True)
class Parent:
    """The session that a fork was copied from, with the fork's app and first owner: its id and uid, the seq of the last copied
    event, and the log version whose window and state the fork began with."""

    session_id: str
    uid: str
    seq: int
    log_version: int


@dataclass(frozen=True, slots=True)
class Session:
    """A session without its events. `parent`: of a fork. `moved`: it has had another owner."""

    ref: SessionRef
    uid: str
    create_time: int
    update_time: int
    expire_time: int | None
    metadata_json: str
    labels: Mapping[str, str]
    log_version: int = 0
    window_version: int = 0
    last_seq: int = 0
    window: Counters = NO_COUNTERS
    usage: Usage = NO_USAGE
    context_bytes: int = 0
    """The size of contexts without a size of their own; 0 is the server's default."""
    content_bytes: int = 0
    """Of the active window, in the measure of context_bytes."""
    parent: Parent | None = None
    moved: bool = False

    @property
    def versions(self) -> Versions:
        return Versions(self.log_version, self.window_version, self.last_seq, self.window)


@dataclass(frozen=True, slots=True)
class SessionChange:
    """An update of a session. `fields` are the names of the update mask: "expiry", "metadata_json", "labels", "context_bytes".
    The metadata and the labels are replaced, changed by the patch or by the fields after it, or unchanged. `etag`: that of the
    session to update; empty means any."""

    fields: frozenset[str]
    update_time: int
    expire_time: int | None = None
    metadata_json: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    context_bytes: int = 0
    metadata_patch_json: str = ""
    set_labels: Mapping[str, str] = field(default_factory=dict)
    remove_labels: frozenset[str] = frozenset()
    etag: str = ""


# Not frozen, since one is created per event, and a frozen dataclass costs three times as much to create.
@dataclass(slots=True)
class EventDraft:
    """An event to append: the caller's protobuf bytes, verbatim, and the fields read from them. Never changed.

    `event_id` is never empty; `generated_id`: the server created it, so it cannot be a replay. `content_bytes`: see
    WindowEvent.
    """

    event_id: str
    body: bytes
    role: Role
    generated_id: bool = False
    author: str = ""
    author_role: str = ""
    branch: str = ""
    event_time: int | None = None
    synthetic: bool = False
    token_estimate: int = 0
    usage: Usage = NO_USAGE
    content_bytes: int = 0
    tools: Tools = Tools.NONE

    @property
    def turn_start(self) -> bool:
        """Whether the event starts a turn: a USER event on the root branch that is not synthetic."""
        return self.role is Role.USER and not self.synthetic and not self.branch

    @property
    def counters(self) -> Counters:
        return Counters(1, int(self.turn_start), len(self.body), self.token_estimate)


class BodyFacts(NamedTuple):
    """What filters compare of an event's body: it has no column. `text`: the message's text, not folded."""

    text: str = ""
    invocation_id: str = ""
    native_format: str = ""
    metadata_json: str = ""


NO_FACTS = BodyFacts()


@dataclass(slots=True)
class EventFacts:
    """The fields that filters compare; never changed. `time` is the event time, otherwise the record time. The last four: see
    BodyFacts."""

    seq: int
    time: int
    role: Role
    author: str = ""
    author_role: str = ""
    branch: str = ""
    synthetic: bool = False
    archived: bool = False
    text: str = ""
    invocation_id: str = ""
    native_format: str = ""
    metadata_json: str = ""

    @property
    def turn_start(self) -> bool:
        return self.role is Role.USER and not self.synthetic and not self.branch


@dataclass(slots=True)
class StoredEvent:
    """An event as returned to readers; never changed. `body` is the sealed event (see Codec) without `archived`."""

    seq: int
    body: bytes
    archived: bool


@dataclass(slots=True, kw_only=True)
class WindowEvent(EventFacts):
    """An active event for context selection and compaction. `position` is its place in the order of the window.

    `content_bytes`: UTF-8 bytes of the content for a model; `size`: bytes as sent, in protobuf encoding. `calls` and `results`
    are the ids of its tool calls and tool results, `result_names` the tools of the results. `prompt_text` is the event as a
    prompt line, the text for token counts.
    """

    event_id: str
    position: int = 0
    tokens: int = 0
    size: int = 0
    content_bytes: int = 0
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    result_names: tuple[str, ...] = ()
    prompt_text: str = ""

    @property
    def summary(self) -> bool:
        """Whether the event is synthetic and not the stub of a tool result."""
        return self.synthetic and self.role is not Role.TOOL

    @property
    def counters(self) -> Counters:
        return Counters(1, int(self.turn_start), self.size, self.tokens)


class ContextEvent(NamedTuple):
    """An active event for the selection of contexts: the fields of a WindowEvent that this needs, and of its StoredEvent. A
    tuple, since one is created per row read. `body` is None if it is large; `tools`: see Tools; `lead`: see context.is_lead;
    `author` and `author_role` are empty unless the spec selects by them."""

    seq: int
    position: int
    size: int
    body: bytes | None
    role: int
    branch: str
    synthetic: bool
    turn_start: bool
    tokens: int
    content_bytes: int
    tools: int
    lead: bool
    author: str = ""
    author_role: str = ""
    archived: bool = False
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()

    @property
    def summary(self) -> bool:
        return self.synthetic and self.role != Role.TOOL


Selectable = WindowEvent | ContextEvent


def counted(events: Collection[Selectable]) -> Counters:
    """Returns the counters of all events."""
    return Counters(
        len(events),
        sum([event.turn_start for event in events]),
        sum([event.size for event in events]),
        sum([event.tokens for event in events]),
    )


@dataclass(frozen=True, slots=True)
class Compaction:
    """The record of a compaction. `first_seq` and `last_seq` are the lowest and the highest seq archived, 0 if none was."""

    compaction_id: str
    time: int
    strategy: str
    actor: str
    branch: str
    archived: int
    first_seq: int
    last_seq: int
    inserted: tuple[str, ...]
    before: Counters
    after: Counters
    log_version: int
    window_version: int
    usage: Usage = NO_USAGE
