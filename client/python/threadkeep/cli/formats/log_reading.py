"""Reads Threadkeep's own export: yields its sessions, events, changes of windows and states. Schema: docs/import-export.md."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from typing import Any

from google.protobuf.message import DecodeError
from google.protobuf.timestamp_pb2 import Timestamp

from ...formats.openai import shown
from ...v1 import event_pb2, session_pb2
from ...v1.state_pb2 import STATE_SCOPE_APP, STATE_SCOPE_SESSION, STATE_SCOPE_USER
from .conversations import guarded
from .items import (
    WINDOW_CHANGES,
    EventItem,
    FieldError,
    Item,
    Malformed,
    Origin,
    Placed,
    SessionStart,
    StateItem,
    WindowChange,
    WindowItem,
)
from .log import KIND, OUTPUT_ONLY, VERSION
from .log_steps import steps_of
from .records import Record

KNOWN_VERSIONS = range(1, VERSION + 1)
_ONE_CALL_EACH = 3
"""The first version whose window lines are one call each."""
_SCOPES = {"session": STATE_SCOPE_SESSION, "user": STATE_SCOPE_USER, "app": STATE_SCOPE_APP}
_TOMBSTONE = "(erased {})"
"""The text of an event, with its seq, while it is imported, until it is erased again. Versions of an event must differ."""
_MOST = (1 << 63) - 1


def read_log(records: Iterable[Record | Malformed]) -> Iterator[Item]:
    """Yields the sessions and events of an export, and the problem if it is truncated."""
    reader = _Reader()
    ended = False
    last = Origin("", 0)
    for record in records:
        last = record.origin
        if isinstance(record, Malformed):
            yield record
            continue
        kind = record.value.get("type") if isinstance(record.value, dict) else None
        if kind == "end":
            ended = True
        elif kind == KIND:
            if record.value.get("version") not in KNOWN_VERSIONS:
                version = shown(record.value.get("version"))
                problem = f"must be at most {VERSION}; it is {version}: a newer threadkeep can read it"
                yield Malformed(record.origin, "version", problem, fatal=True)
                return
            reader.version = record.value["version"]
        else:
            yield from reader.items(record, kind)
    if not ended:
        yield Malformed(last, "", "the export has no end line: it is truncated; its sessions were read", fatal=True)


class _Reader:
    """Reads lines. A line of an event or a change follows the line of its session."""

    def __init__(self) -> None:
        self.version = VERSION
        self._begin(None)

    def _begin(self, session_id: str | None) -> None:
        self._session_id = session_id
        self._seq = self._changes = 0
        self._late: set[str] = set()

    def items(self, record: Record, kind: object) -> list[Item]:
        """Returns the items of a line, or its problem."""
        readers = {"session": self._session, "event": self._event, "window": self._window, "state": _state}
        read = readers.get(kind) if isinstance(kind, str) else None
        if read is None:
            problem = f"must be {KIND}, session, event, window, state or end; it is {shown(kind)}"
            return [Malformed(record.origin, "type", problem)]
        if kind == "session":
            self._begin(None)  # nothing follows an unreadable one
        return guarded(record, read)

    def _session(self, record: Record) -> Iterator[Item]:
        start = _session(record)
        self._begin(start.session.ref.session_id)
        yield start

    def _event(self, record: Record) -> Iterator[Item]:
        self._check_session(record)
        item = _event(record, self._seq)
        self._seq = item.seq
        yield item

    def _window(self, record: Record) -> Iterator[Item]:
        self._check_session(record)
        change = _window(record, self._changes)
        self._changes += 1
        steps = [change] if self.version >= _ONE_CALL_EACH else steps_of(change, self._late)
        yield from (WindowItem(record.origin, step) for step in steps)

    def _check_session(self, record: Record) -> None:
        of = _text(record.value, "session", required=True)
        if of != self._session_id:
            raise FieldError("session", f"is {of!r}, but the line follows no line of that session")


def _session(record: Record) -> SessionStart:
    value = record.value
    labels = value.get("labels") or {}
    if not isinstance(labels, dict) or not all(isinstance(each, str) for each in labels.values()):
        raise FieldError("labels", f"must be an object of texts; it is {shown(labels)}")
    session = session_pb2.Session(
        ref=session_pb2.SessionRef(
            app=_text(value, "app"), user_id=_text(value, "user_id"), session_id=_text(value, "session_id", required=True)
        ),
        labels=labels,
        metadata_json=_text(value, "metadata_json"),
        context_bytes=_number(value, "context_bytes", default=0),
    )
    expires = value.get("expire_time")
    if expires is not None:
        session.expire_time.CopyFrom(_time("expire_time", expires))
    if value.get("create_time") is not None:
        session.create_time.CopyFrom(_time("create_time", value["create_time"]))
    if value.get("forked_from") is not None:
        session.parent.CopyFrom(_parent(value["forked_from"]))
    changed = bool(value.get("window_version"))
    return SessionStart(record.origin, session, never_expires=expires is None, restore=True, window_changed=changed)


def _parent(value: object) -> session_pb2.SessionParent:
    if not isinstance(value, dict):
        raise FieldError("forked_from", f"must be an object, or null; it is {shown(value)}")
    session_id, uid = (_text(value, name, required=True, within="forked_from.") for name in ("session_id", "uid"))
    at_seq, at_log_version = (_number(value, name, within="forked_from.") for name in ("at_seq", "at_log_version"))
    named = session_pb2.SessionRef(session_id=session_id)
    return session_pb2.SessionParent(session=named, uid=uid, at_seq=at_seq, at_log_version=at_log_version)


def _event(record: Record, previous: int) -> EventItem:
    value = record.value
    seq = value.get("seq")
    if isinstance(seq, bool) or not isinstance(seq, int) or seq != previous + 1:
        raise FieldError("seq", f"must be {previous + 1}, the next of its session; it is {shown(seq)}")
    try:
        raw = base64.b64decode(_text(value, "event", required=True), validate=True)
        event = event_pb2.SessionEvent.FromString(raw)
    except (binascii.Error, ValueError):
        raise FieldError("event", "not valid base64") from None
    except DecodeError:
        raise FieldError("event", "not the bytes of a SessionEvent") from None
    if not event.event_id:
        raise FieldError("event", "the event has no event_id")
    for name in OUTPUT_ONLY:
        event.ClearField(name)  # type: ignore[arg-type]
    if value.get("erased"):
        event.message.parts.add().text = _TOMBSTONE.format(seq)
    return EventItem(record.origin, event, seq, placed=bool(value.get("placed")), recorded=_text(value, "record_time"))


def _window(record: Record, before: int) -> WindowChange:
    """`before`: the number of changes before it."""
    value = record.value
    how = _text(value, "how", required=True)
    if how not in WINDOW_CHANGES:
        raise FieldError("how", f"must be one of {', '.join(WINDOW_CHANGES)}; it is {how!r}")
    placed = value.get("placed") or []
    if not isinstance(placed, list) or not all(isinstance(each, dict) for each in placed):
        raise FieldError("placed", f"must be an array of objects; it is {shown(placed)}")
    is_rewind = how == "rewind"
    return WindowChange(
        how=how,
        archived=_texts(value, "archived"),
        erased=_texts(value, "erased"),
        placed=tuple(Placed(_text(each, "event_id", required=True), _text(each, "before", null=True)) for each in placed),
        branch=None if value.get("branch") is None else _text(value, "branch"),
        strategy=_text(value, "strategy"),
        actor=_text(value, "actor"),
        erase=bool(value.get("erase")),
        changes=_number(value, "changes", most=before) if is_rewind else 0,
        through_seq=_number(value, "through_seq") if is_rewind else 0,
    )


def _state(record: Record) -> Iterator[Item]:
    value = record.value
    scope, values = _SCOPES.get(_text(value, "scope")), value.get("values")
    if scope is None:
        raise FieldError("scope", f"must be session, user or app; it is {shown(value.get('scope'))}")
    if not isinstance(values, dict) or not all(isinstance(each, str) for each in values.values()):
        raise FieldError("values", "must be an object of JSON texts")
    names = {name: _text(value, name) for name in ("app", "user_id", "session_id")}
    yield StateItem(record.origin, scope, session_pb2.SessionRef(**names), values)


def _texts(value: dict[str, Any], key: str) -> tuple[str, ...]:
    found = value.get(key) or []
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise FieldError(key, f"must be an array of texts; it is {shown(found)}")
    return tuple(found)


def _text(value: dict[str, Any], key: str, *, required: bool = False, null: bool = False, within: str = "") -> str:
    """`within`: the prefix of the key in messages."""
    found = value.get(key, "")
    if found is None and null:
        return ""
    if not isinstance(found, str) or (required and not found):
        raise FieldError(within + key, f"must be text; it is {shown(value.get(key))}")
    return found


def _number(value: dict[str, Any], key: str, *, default: int | None = None, most: int = _MOST, within: str = "") -> int:
    """`default`: of an absent one; None: it is required."""
    found = value.get(key, default)
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= most:
        raise FieldError(within + key, f"must be a number from 0 to {most:,}; it is {shown(found)}")
    return found


def _time(key: str, value: object) -> Timestamp:
    time = Timestamp()
    try:
        time.FromJsonString(value if isinstance(value, str) else "")
    except ValueError:
        raise FieldError(key, f"must be a time such as 2026-01-31T12:00:00Z, or null; it is {shown(value)}") from None
    return time
