"""Changes of a subscription, by kind."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from ..v1 import event_removal_pb2 as rm
from ..v1 import subscription_pb2 as su
from ..v1.compaction_pb2 import Compaction
from ..v1.session_pb2 import Session
from .events import Event
from .wrapper import Wrapper


class Change(Wrapper[su.Change]):
    """One change: Appended, Compacted, Removed, SessionCreated, SessionUpdated, SessionDeleted, SessionExpired,
    SessionMovedOut, SessionMovedIn, StateChanged or CheckpointReached.

    Fields of the protobuf Change, such as `session` and `versions`, are attributes too.
    """

    __slots__ = ()

    @property
    def resume_token(self) -> str:
        """Where a subscription resumes after this change."""
        return self.pb.resume_token

    @property
    def session_id(self) -> str:
        """The id of the session; empty for a checkpoint."""
        return self.pb.session.session_id

    @property
    def time(self) -> datetime | None:
        """The server's time of the change, in UTC; None for a checkpoint."""
        return self.pb.change_time.ToDatetime(UTC) if self.pb.HasField("change_time") else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.session_id!r})"


class Appended(Change):
    """One append."""

    __slots__ = ()
    __match_args__ = ("events",)

    @property
    def events(self) -> list[Event]:
        """The events, without those that the filter excludes."""
        return [Event(event) for event in self.pb.batch.events]

    @property
    def state(self) -> su.StateChange | None:
        """What the append changed in the state of the session; None if nothing."""
        return self.pb.batch.state if self.pb.batch.HasField("state") else None

    def __repr__(self) -> str:
        return f"Appended({self.session_id!r}, {self.events!r})"


class Compacted(Change):
    """One compaction."""

    __slots__ = ()
    __match_args__ = ("record",)

    @property
    def record(self) -> Compaction:
        """The record of the compaction."""
        return self.pb.compaction.compaction

    @property
    def inserted(self) -> list[Event]:
        """The events that the compaction inserted, without those that the filter excludes."""
        return [Event(event) for event in self.pb.compaction.inserted]


class Removed(Change):
    """Events left the active window: popped, cleared, erased or replaced."""

    __slots__ = ()
    __match_args__ = ("event_ids",)

    @property
    def kind(self) -> rm.RemovalKind.ValueType:
        """What the removal did."""
        return self.pb.removal.kind

    @property
    def erased(self) -> bool:
        """Whether the content of the events was erased."""
        return self.pb.removal.erased

    @property
    def event_ids(self) -> list[str]:
        """The ids of the events that left, the first 1,000; empty after a clear: everything left."""
        return list(self.pb.removal.event_ids)

    @property
    def inserted(self) -> list[Event]:
        """The events that the change added, without those that the filter excludes."""
        return [Event(event) for event in self.pb.removal.inserted]


class _SessionChanged(Change):
    __slots__ = ()
    __match_args__ = ("current",)

    @property
    def current(self) -> Session:
        """The session after the change. A session that is gone has its ref, uid and labels only."""
        return self.pb.session_change.session


class SessionCreated(_SessionChanged):
    """A session was created."""

    __slots__ = ()


class SessionUpdated(_SessionChanged):
    """The metadata, labels, expiry or context size of a session were set."""

    __slots__ = ()


class SessionDeleted(_SessionChanged):
    """A session was deleted with its events."""

    __slots__ = ()


class SessionExpired(SessionDeleted):
    """A session passed its expire time and was deleted with its events."""

    __slots__ = ()


class SessionMovedOut(_SessionChanged):
    """A session left its owner for another user. The change has the name that it had."""

    __slots__ = ()


class SessionMovedIn(_SessionChanged):
    """A session came to its owner from another user. Its events before that are read with `events`."""

    __slots__ = ()


class StateChanged(Change):
    """The state of a session, a user or an app was changed without events. `session` has no session_id unless it is that of
    a session."""

    __slots__ = ()
    __match_args__ = ("state",)

    @property
    def state(self) -> su.StateChange:
        """The values that were set, as JSON text, and the keys that were removed."""
        return self.pb.state


class CheckpointReached(Change):
    """A place in the feed, without a change. Delivered with `checkpoints=True` only."""

    __slots__ = ()
    __match_args__ = ("kind",)

    @property
    def kind(self) -> su.CheckpointKind.ValueType:
        """Why the server sent it."""
        return self.pb.checkpoint.kind


_KINDS: Final = {
    "batch": Appended,
    "compaction": Compacted,
    "removal": Removed,
    "checkpoint": CheckpointReached,
    "state": StateChanged,
}
_OF_SESSION: Final = {
    su.SESSION_CHANGE_KIND_CREATED: SessionCreated,
    su.SESSION_CHANGE_KIND_UPDATED: SessionUpdated,
    su.SESSION_CHANGE_KIND_EXPIRED: SessionExpired,
    su.SESSION_CHANGE_KIND_DELETED: SessionDeleted,
    su.SESSION_CHANGE_KIND_MOVED_OUT: SessionMovedOut,
    su.SESSION_CHANGE_KIND_MOVED_IN: SessionMovedIn,
}


def typed(change: su.Change) -> Change:
    """The change as a value of its kind; a plain Change for a kind that this version does not know."""
    kind = change.WhichOneof("kind") or ""
    if kind == "session_change":
        return _OF_SESSION.get(change.session_change.kind, Change)(change)
    return _KINDS.get(kind, Change)(change)
