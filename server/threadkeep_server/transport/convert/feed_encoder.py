"""Encodes changes for subscribers and consumers from stored bytes, without parsing events.

Tests compare the result with the encoding that protobuf produces.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache

from threadkeep.v1 import event_removal_pb2 as removal_pb
from threadkeep.v1 import session_pb2
from threadkeep.v1 import subscription_pb2 as pb

from ...compaction.triggers import Trigger
from ...domain.feed import Bookmark, Change, ChangeKind, FeedEvent, FeedScope, Position
from ...domain.model import SessionRef
from ...feed.encoder import CheckpointKind
from ...feed.limits import MOST_FRAME_BYTES
from ..resume_tokens import ResumeTokens
from ..wire.codec import published
from ..wire.wire_format import delimited, repeated, single
from .compaction import compaction_to
from .removals import removal_to
from .sessions import ref_to, session_to, set_time
from .state import state_change_to
from .strategies import trigger_to

_CACHED_SESSIONS = 16_384
# WatchSessionResponse and WatchAllResponse: changes.
_CHANGES = delimited(1)
# Change.
_SESSION, _BATCH, _COMPACTION, _SESSION_CHANGE, _RESUME_TOKEN, _STATE, _REMOVAL = map(delimited, (1, 2, 3, 4, 6, 9, 10))
_COMPACTION_DUE = delimited(11)
# EventBatch and CompactionNotice.
_EVENTS, _RECORD, _INSERTED, _BATCH_STATE = delimited(1), delimited(1), delimited(2), delimited(3)
# RemovalNotice.
_ADDED = delimited(7)
_REMOVAL_CONTINUES = removal_pb.RemovalNotice(continues=True).SerializeToString()
_BATCH_CONTINUES = pb.EventBatch(continues=True).SerializeToString()
_NOTICE_CONTINUES = pb.CompactionNotice(continues=True).SerializeToString()

_WITH_EVENTS = (ChangeKind.APPENDED, ChangeKind.COMPACTED, ChangeKind.REMOVED, ChangeKind.COPIED)
_SESSION_KINDS = {
    ChangeKind.CREATED: pb.SESSION_CHANGE_KIND_CREATED,
    ChangeKind.UPDATED: pb.SESSION_CHANGE_KIND_UPDATED,
    ChangeKind.DELETED: pb.SESSION_CHANGE_KIND_DELETED,
    ChangeKind.MOVED: pb.SESSION_CHANGE_KIND_MOVED_IN,
}


class WatchEncoder:
    """Implements feed.encoder.ChangeEncoder. Encodes WatchSessionResponse, which equals WatchAllResponse."""

    def __init__(self, tokens: ResumeTokens, digest: bytes) -> None:
        self._token = tokens.maker(digest)

    def change(self, change: Change, events: Sequence[FeedEvent], before: Position, skip_seq: int = 0) -> list[bytes]:
        session = _session(change.ref)
        bodies = [published(event) for event in events]
        kind, rest = _fields(change, bodies)
        messages: list[bytes] = []
        if len(kind) + len(rest) > MOST_FRAME_BYTES:
            *parts, last = _parts(bodies)
            token = self._token(before, skip_seq)
            for part in parts:
                kind, rest = _fields(change, part, continues=True)
                messages.append(self._message(session, kind, token, rest))
            kind, rest = _fields(change, last)
        messages.append(self._message(session, kind, self._token(change.position), rest))
        return messages

    def checkpoint(self, kind: CheckpointKind, position: Position, skip_seq: int = 0) -> bytes:
        checkpoint = pb.Checkpoint(kind=pb.CheckpointKind.ValueType(kind))
        return self._message(b"", pb.Change(checkpoint=checkpoint).SerializeToString(), self._token(position, skip_seq))

    def _message(self, session: bytes, kind: bytes, token: bytes, rest: bytes = b"") -> bytes:
        change = b"".join((session, kind, _RESUME_TOKEN[len(token)], token, rest))
        return _CHANGES[len(change)] + change


class FeedEncoder:
    """Encodes the changes and tokens of subscriptions with one filter, given in its deterministic encoding."""

    def __init__(self, tokens: ResumeTokens, filter_bytes: bytes) -> None:
        self._tokens = tokens
        self._filter_bytes = filter_bytes

    def encoder(self, scope: FeedScope) -> WatchEncoder:
        return WatchEncoder(self._tokens, self._digest(scope))

    def token(self, scope: FeedScope, position: Position) -> str:
        return self._tokens.make(self._digest(scope), position)

    def read_token(self, scope: FeedScope, token: str) -> Bookmark:
        return self._tokens.read(self._digest(scope), token)

    def _digest(self, scope: FeedScope) -> bytes:
        return self._tokens.digest(scope, self._filter_bytes)


def delivery_change(change: Change, events: Sequence[FeedEvent]) -> bytes:
    """Returns an encoded threadkeep.v1.Change for consumers: one message of any size, without a resume token."""
    return b"".join((_session(change.ref), *_fields(change, [published(event) for event in events])))


def compaction_due(trigger: Trigger) -> bytes:
    """Returns the encoded field of Change that requests a compaction."""
    return single(_COMPACTION_DUE, pb.CompactionDue(trigger=trigger_to(trigger)).SerializeToString())


@lru_cache(maxsize=_CACHED_SESSIONS)
def _session(ref: SessionRef) -> bytes:
    return single(_SESSION, ref_to(ref).SerializeToString())


def _parts(bodies: Sequence[bytes]) -> list[Sequence[bytes]]:
    """Splits events into messages: each has at least one event, and at most MOST_FRAME_BYTES unless it has only one."""
    parts: list[Sequence[bytes]] = []
    part: list[bytes] = []
    size = 0
    for body in bodies:
        if part and size + len(body) > MOST_FRAME_BYTES:
            parts.append(part)
            part, size = [], 0
        part.append(body)
        size += len(body)
    parts.append(part)
    return parts


def _fields(change: Change, bodies: Sequence[bytes], *, continues: bool = False) -> tuple[bytes, bytes]:
    """Returns the fields before and after the resume token, in the order of their numbers."""
    kind = _kind(change, bodies, continues=continues)
    if change.kind in (ChangeKind.REMOVED, ChangeKind.STATE):
        return b"", _rest(change) + kind
    return kind, _rest(change)


def _kind(change: Change, bodies: Sequence[bytes], *, continues: bool = False) -> bytes:
    """Returns the encoded field of Change.kind."""
    if change.kind in (ChangeKind.APPENDED, ChangeKind.COPIED):
        rest = _BATCH_CONTINUES if continues else b"" if change.state is None else single(_BATCH_STATE, _state(change))
        return single(_BATCH, repeated(_EVENTS, bodies) + rest)
    if change.kind is ChangeKind.COMPACTED:
        compaction = change.compaction
        record = b"" if compaction is None else single(_RECORD, compaction_to(compaction).SerializeToString())
        return single(_COMPACTION, record + repeated(_INSERTED, bodies) + (_NOTICE_CONTINUES if continues else b""))
    if change.kind is ChangeKind.STATE:
        return single(_STATE, _state(change))
    if change.kind is ChangeKind.REMOVED:
        notice = b"" if change.removal is None else removal_to(change.removal).SerializeToString()
        return single(_REMOVAL, notice + repeated(_ADDED, bodies) + (_REMOVAL_CONTINUES if continues else b""))
    return single(_SESSION_CHANGE, _session_change(change).SerializeToString(deterministic=True))


def _state(change: Change) -> bytes:
    return b"" if change.state is None else state_change_to(change.state).SerializeToString(deterministic=True)


def _session_change(change: Change) -> pb.SessionChange:
    kind = _SESSION_KINDS[change.kind]
    if change.expired:
        kind = pb.SESSION_CHANGE_KIND_EXPIRED
    elif change.moved:
        kind = pb.SESSION_CHANGE_KIND_MOVED_OUT
    after = change.after
    if after is None:
        session = session_pb2.Session(ref=ref_to(change.ref), labels=change.labels)
    elif change.kind == ChangeKind.DELETED:
        session = session_pb2.Session(ref=ref_to(after.ref), uid=after.uid, labels=after.labels)
    else:
        session = session_to(after)
    return pb.SessionChange(kind=kind, session=session)


class _Rest(threading.local):
    """Encodes the fields after the resume token: versions and change_time. Reuses its messages, because creating one takes as
    long as filling and encoding it."""

    def __init__(self) -> None:
        self._timed = pb.Change()
        self._time = self._timed.change_time
        self._whole = pb.Change()
        self._whole_time = self._whole.change_time
        self._versions = self._whole.versions
        self._window = self._versions.window
        self._window.SetInParent()  # present, also where all counters are zero

    def __call__(self, change: Change) -> bytes:
        if change.kind not in _WITH_EVENTS:
            set_time(self._time, change.time)
            return self._timed.SerializeToString()
        versions, window = self._versions, self._window
        set_time(self._whole_time, change.time)
        versions.log_version = change.log_version
        versions.window_version = change.window_version
        versions.last_seq = change.last_seq
        window.events = change.window_events
        window.turns = change.window_turns
        window.bytes = change.window_bytes
        window.tokens = change.window_tokens
        return self._whole.SerializeToString()


_rest = _Rest()
