"""Subscriptions: their requests, and the state that delivers each change once and whole."""

from __future__ import annotations

from collections import OrderedDict

from .._convert import check
from ..v1.filter_pb2 import EventFilter
from ..v1.session_pb2 import SessionRef
from ..v1.subscription_pb2 import SESSION_CHANGE_KIND_UPDATED, Change
from ..v1.subscription_service_pb2 import ChangeScope, WatchAllRequest, WatchSessionRequest

SILENCE = 30.0
"""Seconds without a frame after which a stream counts as broken: two heartbeats of the server."""
REMEMBERED = 4096
"""The most sessions whose last version is kept."""

_IN_PARTS = ("batch", "compaction", "removal")
"""Kinds of changes that may arrive in parts."""

WatchRequest = WatchSessionRequest | WatchAllRequest


def watch_request(
    whose: SessionRef | ChangeScope,
    event_filter: EventFilter | None,
    *,
    resume_token: str | None,
    after_seq: int | None,
    from_beginning: bool,
) -> WatchRequest:
    """The request of a `watch` or, for a scope, a `watch_all`. Raises ValueError for several starting points."""
    if (resume_token is not None) + (after_seq is not None) + from_beginning > 1:
        raise ValueError("give at most one of resume_token, after_seq and from_beginning")
    request: WatchRequest
    if isinstance(whose, SessionRef):
        request = WatchSessionRequest(session=whose, filter=event_filter)
        if after_seq is not None or from_beginning:
            request.after_seq = 0 if after_seq is None else check(after_seq, int, "after_seq")
    else:
        request = WatchAllRequest(scope=whose, filter=event_filter)
        if from_beginning:
            request.from_beginning = True
    if resume_token is not None:
        request.resume_token = check(resume_token, str, "resume_token")
    elif request.WhichOneof("start") is None:
        request.live_only = True
    return request


class Cursor:
    """The state of a subscription: its last resume token, the parts of an incomplete change, and the last versions."""

    def __init__(self) -> None:
        self._token = ""
        self._parts: list[Change] = []
        self._versions: OrderedDict[tuple[str, str, str], int] = OrderedDict()

    def take(self, change: Change) -> Change | None:
        """Returns the change if it is complete and new. None: parts are missing, or it is a duplicate or of an unknown kind."""
        kind = change.WhichOneof("kind")
        if kind in _IN_PARTS and getattr(change, kind).continues:
            self._parts.append(change)
            return None
        if self._parts and kind in _IN_PARTS:
            change = _joined([*self._parts, change])
            self._parts.clear()
        if change.resume_token:
            self._token = change.resume_token
        return change if kind is not None and self._is_new(change) else None

    def resume(self, request: WatchRequest) -> None:
        """Sets the resume token of the request. A change that arrived in part is delivered again as a whole."""
        self._parts.clear()
        if self._token:
            request.resume_token = self._token

    def _is_new(self, change: Change) -> bool:
        """Resume tokens exclude duplicates; the versions of a session, which only increase, verify it."""
        ref = change.session
        key = (ref.app, ref.user_id, ref.session_id)
        if change.HasField("session_change") and change.session_change.kind != SESSION_CHANGE_KIND_UPDATED:
            self._versions.pop(key, None)  # versions begin again with the session
        version = change.versions.log_version
        if not version:
            return True
        if version <= self._versions.get(key, 0):
            return False
        self._versions[key] = version
        self._versions.move_to_end(key)
        if len(self._versions) > REMEMBERED:
            self._versions.popitem(last=False)
        return True


def _joined(parts: list[Change]) -> Change:
    """Joins the parts of a change: the token, time and versions of the last, the events of all."""
    whole = Change()
    whole.CopyFrom(parts[-1])
    if whole.HasField("compaction"):
        whole.compaction.compaction.CopyFrom(parts[0].compaction.compaction)
        del whole.compaction.inserted[:]
        for part in parts:
            whole.compaction.inserted.extend(part.compaction.inserted)
    elif whole.HasField("removal"):
        del whole.removal.inserted[:]
        for part in parts:
            whole.removal.inserted.extend(part.removal.inserted)
    else:
        del whole.batch.events[:]
        for part in parts:
            whole.batch.events.extend(part.batch.events)
    return whole
