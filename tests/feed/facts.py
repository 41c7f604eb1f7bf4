"""Complete changes in a comparable form, and the form in which they are delivered later."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from threadkeep.v1 import subscription_pb2 as pb
from threadkeep.v1.event_pb2 import SessionEvent

Ref = tuple[str, str, str]

GONE = (pb.SESSION_CHANGE_KIND_DELETED, pb.SESSION_CHANGE_KIND_EXPIRED)


@dataclass(frozen=True)
class Fact:
    """A complete change without its resume token and without everything that depends on the time of reading."""

    change: pb.Change

    @cached_property
    def _bytes(self) -> bytes:
        return self.change.SerializeToString(deterministic=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fact) and self._bytes == other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __str__(self) -> str:
        kind = str(self.change.WhichOneof("kind"))
        if self.kind:
            kind = pb.SessionChangeKind.Name(self.change.session_change.kind)[len("SESSION_CHANGE_KIND_") :]
        seqs = [event.seq for event in self.events]
        return f"{'/'.join(self.ref)} {kind} v{self.version} {seqs}"

    __repr__ = __str__

    @cached_property
    def ref(self) -> Ref:
        session = self.change.session
        return session.app, session.user_id, session.session_id

    @property
    def version(self) -> int:
        """The log_version after it; 0 for a change of the session itself or of state alone."""
        return self.change.versions.log_version

    @property
    def events(self) -> Sequence[SessionEvent]:
        change = self.change
        if change.HasField("batch"):
            return change.batch.events
        return change.removal.inserted if change.HasField("removal") else change.compaction.inserted

    @property
    def state(self) -> pb.StateChange | None:
        """What it changed in a scope of state."""
        if self.change.HasField("batch") and self.change.batch.HasField("state"):
            return self.change.batch.state
        return self.change.state if self.change.HasField("state") else None

    @property
    def kind(self) -> pb.SessionChangeKind.ValueType:
        """The kind of a change of the session itself; 0 for others."""
        return self.change.session_change.kind

    @property
    def is_gone(self) -> bool:
        return self.kind in GONE

    def keeping(self, seqs: Container[int]) -> Fact | None:
        """Returns the fact with only these events; None for a batch without any, unless it changes state."""
        if not self.events:
            return self
        kept = [event for event in self.events if event.seq in seqs]
        if not kept and self.change.HasField("batch") and self.state is None:
            return None
        return _with_events(self.change, kept)

    def after(self, seq: int) -> Fact:
        """Returns the fact without its events up to a seq."""
        return _with_events(self.change, [event for event in self.events if event.seq > seq])


@dataclass(frozen=True)
class Bookmark:
    """A resume token, and the number of complete changes before it."""

    token: str
    changes: int


@dataclass(frozen=True)
class Transcript:
    """The facts that a subscriber received, and all of its tokens."""

    facts: Sequence[Fact]
    bookmarks: Sequence[Bookmark]

    def rest(self, mark: Bookmark) -> list[Fact]:
        """Returns what a resume at this bookmark delivers. Changes of deleted sessions are not delivered any more."""
        gone = {fact.ref: place for place, fact in enumerate(self.facts) if fact.is_gone}
        later = enumerate(self.facts[mark.changes :], mark.changes)
        return [fact for place, fact in later if fact.is_gone or place > gone.get(fact.ref, -1)]

    @property
    def lasting(self) -> list[Fact]:
        return self.rest(Bookmark("", 0))


def transcript(read: Iterable[pb.Change]) -> Transcript:
    """Joins the parts of changes. The token of a part before the last must lead back to before the change."""
    facts: list[Fact] = []
    bookmarks: list[Bookmark] = []
    parts: list[pb.Change] = []
    for change in read:
        if not change.HasField("checkpoint"):
            parts.append(change)
            if not _continues(change):
                facts.append(_joined(parts))
                parts = []
        else:
            assert not parts, "a checkpoint in the middle of a change"
        bookmarks.append(Bookmark(change.resume_token, len(facts)))
    assert not parts, "half a change"
    return Transcript(facts, bookmarks)


def facts_of(read: Iterable[pb.Change]) -> list[Fact]:
    return list(transcript(read).facts)


def last_lives(facts: Sequence[Fact]) -> Iterator[tuple[Ref, list[Fact]]]:
    """The changes of every session since the last deletion of one with its name."""
    lives: dict[Ref, list[Fact]] = {}
    for fact in facts:
        if fact.is_gone:
            lives.pop(fact.ref, None)
        elif fact.ref[2]:
            lives.setdefault(fact.ref, []).append(fact)
    yield from lives.items()


def _continues(change: pb.Change) -> bool:
    return change.batch.continues or change.compaction.continues or change.removal.continues


def _joined(parts: Sequence[pb.Change]) -> Fact:
    first, last = parts[0], parts[-1]
    for part in parts:
        assert part.session == first.session, "another change between the parts of one"
        assert part.versions == first.versions
        assert part.change_time == first.change_time
        assert part.compaction.compaction == first.compaction.compaction
    return _with_events(last, [event for part in parts for event in Fact(part).events])


def _with_events(change: pb.Change, events: Sequence[SessionEvent]) -> Fact:
    copy = pb.Change()
    copy.CopyFrom(change)
    copy.ClearField("resume_token")
    kept = []
    for event in events:
        one = SessionEvent()
        one.CopyFrom(event)
        one.ClearField("archived")  # depends on the time of reading
        kept.append(one)
    if copy.HasField("batch"):
        copy.batch.ClearField("events")
        copy.batch.events.extend(kept)
    elif copy.HasField("compaction"):
        copy.compaction.ClearField("inserted")
        copy.compaction.inserted.extend(kept)
    elif copy.HasField("removal"):
        copy.removal.ClearField("inserted")
        copy.removal.inserted.extend(kept)
    return Fact(copy)
