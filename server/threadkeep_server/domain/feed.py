"""The feed: every committed change of every session, in one order for all readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from .model import Compaction, EventFacts, Session, SessionRef
from .removals import Removal
from .state.state import StateRecord


class Position(NamedTuple):
    """A position in the feed: after the change that has it. With a single writer, xid is 0."""

    xid: int
    change: int


BEGINNING = Position(0, 0)


class Bookmark(NamedTuple):
    """The position to resume a subscription from."""

    position: Position
    skip_seq: int = 0
    """Events of the next append up to this seq are skipped, for a start in the middle of an append."""
    incarnation: int = 0
    """The number of the incarnation that the position was in."""


class Incarnation(NamedTuple):
    """A life of the database: it begins where the database is opened after it may have been restored or copied."""

    number: int
    """Random, above 0."""
    start: Position
    """The last change before it."""


@dataclass(frozen=True, slots=True)
class Incarnations:
    """The incarnations whose changes the feed consists of, in order. 0 is the number of what came before the first one.

    A reader that was at a position of a lost future names an incarnation that the restored database does not know, or a
    position after the end of one that it knows.
    """

    known: tuple[Incarnation, ...] = ()

    def of(self, position: Position) -> int:
        """Returns the number of the incarnation whose change has this position. Runs once per delivered change."""
        for each in reversed(self.known):
            if position > each.start:
                return each.number
        return 0

    def hold(self, number: int, position: Position) -> bool:
        """Whether the position, as a reader had it in this incarnation, is in the history of the database."""
        ends: dict[int, Position | None] = dict(
            zip((0, *(each.number for each in self.known)), (*(each.start for each in self.known), None), strict=True)
        )
        if number not in ends:
            return False
        end = ends[number]
        return end is None or position <= end


class ChangeKind(IntEnum):
    """What a change did; stored as these numbers."""

    APPENDED = 1
    DELETED = 2
    COMPACTED = 3
    CREATED = 4
    UPDATED = 5
    STATE = 6
    REMOVED = 7
    COPIED = 8
    """Events that a fork began with. Only subscriptions to the fork itself receive them: nobody appended them."""
    MOVED = 9
    """The session came to another owner. For the former one it is DELETED, with `moved`."""


# Not frozen, since one is created per change, and a frozen dataclass costs three times as much to create. Never changed.
@dataclass(slots=True)
class Change:
    """One committed change of a session, or of the state of a user or an app. Versions and counters are the session's after
    it.

    `session` is the store's key of the session, never reused; for the state of a user or an app, it is negative, and the `ref`
    has no session_id. `state`: what a STATE changed, or an APPENDED in the session's state. `labels`: the session's labels when
    the change is read, or its last ones. `labels_before`: the labels that an update replaced, otherwise None. `after`: the
    session after a CREATED, UPDATED or MOVED; for a deleted session, its ref, uid and labels. `moved`: a DELETED session has
    another owner now. `former`: the session had another owner then, who is in `ref`. `size`: bytes of its events as sent. The
    store finds the events of the change by `first` and `last`.
    """

    position: Position
    kind: ChangeKind
    tenant: str
    ref: SessionRef
    session: int
    time: int
    first: int = 0
    last: int = 0
    size: int = 0
    log_version: int = 0
    window_version: int = 0
    last_seq: int = 0
    window_events: int = 0
    window_turns: int = 0
    window_bytes: int = 0
    window_tokens: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    labels_before: Mapping[str, str] | None = None
    expired: bool = False
    moved: bool = False
    former: bool = False
    after: Session | None = None
    compaction: Compaction | None = None
    state: StateRecord | None = None
    removal: Removal | None = None

    @property
    def adds_only(self) -> bool:
        """Whether there is nothing to it but its events."""
        return self.kind in (ChangeKind.APPENDED, ChangeKind.COPIED) and self.state is None


@dataclass(slots=True)
class FeedEvent(EventFacts):
    """An event of a change: the fields of filters, and its sealed bytes. Never changed.

    `archived` is as of the read; `text` is empty unless requested.
    """

    body: bytes = b""


@dataclass(frozen=True, slots=True)
class FeedScope:
    """The sessions of a subscription. None: any. With a session_id, app and user_id are those of the session."""

    tenant: str
    app: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    """Sorted, so that equal scopes are equal."""

    @property
    def ref(self) -> SessionRef | None:
        """The session of the scope; None if it is not a single session."""
        return None if self.session_id is None else SessionRef(self.app or "", self.user_id or "", self.session_id)

    def admits(self, change: Change) -> bool:
        """Whether the scope contains the change: the executable specification for every reader of the feed.

        No user receives what was committed while the session had another owner than now: not the former owner, who cannot read
        it any more, and not the new one, for whom the session begins with its MOVED.
        """
        ref = change.ref
        return (
            change.tenant == self.tenant
            and (self.app is None or ref.app == self.app)
            and (self.user_id is None or (ref.user_id == self.user_id and not change.former))
            and (self.session_id is None or ref.session_id == self.session_id)
            and (self.session_id is not None or change.kind is not ChangeKind.COPIED)
            and (not self.labels or self.matches_labels(change))
        )

    def matches_labels(self, change: Change) -> bool:
        """Whether the session has the labels, or had them before the change."""
        return any(
            all(labels.get(key) == value for key, value in self.labels)
            for labels in (change.labels, change.labels_before)
            if labels is not None
        )


@dataclass(frozen=True, slots=True)
class ChangePage:
    """Changes in feed order. The page covers all changes up to `reached`. `more`: the page ends before the settled end of the
    feed. `unsettled`: there are changes that cannot be delivered yet, because an earlier one may still be committed."""

    changes: Sequence[Change]
    reached: Position
    more: bool = False
    unsettled: bool = False


@dataclass(frozen=True, slots=True)
class FeedState:
    """The state of the feed. `floor`: the position up to which it is trimmed. `head`: the last settled change. `unsettled`: the
    number of committed changes after it. `oldest_time`: the time of the oldest change, None without one."""

    floor: Position
    head: Position
    unsettled: int
    oldest_time: int | None


class FeedTrimmed(Exception):
    """The feed was trimmed beyond the requested position. `oldest_seq`: for a single session, the seq after which it is
    complete."""

    def __init__(self, floor: Position, oldest_seq: int | None = None) -> None:
        super().__init__(f"the feed starts after {floor}")
        self.floor = floor
        self.oldest_seq = oldest_seq
