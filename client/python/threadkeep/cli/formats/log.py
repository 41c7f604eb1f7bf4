"""Threadkeep's own export: JSON lines that restore sessions and events byte for byte. Schema: docs/import-export.md."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator
from typing import Any

from google.protobuf.message import DecodeError
from google.protobuf.timestamp_pb2 import Timestamp

from ...formats.openai import shown
from ...v1 import event_pb2, message_pb2, session_pb2
from .conversations import guarded
from .items import EventItem, FieldError, Item, Malformed, Origin, SessionStart
from .records import Record

KIND = "threadkeep.export"
VERSION = 1
OUTPUT_ONLY = ("seq", "record_time", "archived", "token_estimate", "size_bytes")


def header_line(**facts: object) -> str:
    """The first line of an export."""
    return _line({"type": KIND, "version": VERSION, **facts})


def session_line(session: session_pb2.Session) -> str:
    """The line of a session; its events follow it."""
    expires = session.HasField("expire_time")
    return _line(
        {
            "type": "session",
            "app": session.ref.app,
            "user_id": session.ref.user_id,
            "session_id": session.ref.session_id,
            "expire_time": session.expire_time.ToJsonString() if expires else None,
            "labels": dict(sorted(session.labels.items())),
            "metadata_json": session.metadata_json,
            "create_time": session.create_time.ToJsonString() if session.HasField("create_time") else None,
            "last_seq": session.last_seq,
        }
    )


def event_line(session_id: str, event: event_pb2.SessionEvent) -> str:
    """The line of an event: its bytes, and fields that make the line readable."""
    return _line(
        {
            "type": "event",
            "session": session_id,
            "seq": event.seq,
            "event_id": event.event_id,
            "role": message_pb2.Role.Name(event.message.role).removeprefix("ROLE_").lower(),
            "record_time": event.record_time.ToJsonString(),
            "event": base64.b64encode(event_bytes(event)).decode("ascii"),
        }
    )


def end_line(sessions: int, events: int) -> str:
    """The last line of an export: without it the file is truncated."""
    return _line({"type": "end", "sessions": sessions, "events": events})


def event_bytes(event: event_pb2.SessionEvent) -> bytes:
    """Returns the event as its writer sent it: in protobuf encoding, without the server's fields."""
    sent = event_pb2.SessionEvent()
    sent.CopyFrom(event)
    for name in OUTPUT_ONLY:
        sent.ClearField(name)  # type: ignore[arg-type]
    return sent.SerializeToString(deterministic=True)


def read_log(records: Iterable[Record | Malformed]) -> Iterator[Item]:
    """Yields the sessions and events of an export, and the problem if it is truncated."""
    session_id: str | None = None
    seq, ended = 0, False
    last = Origin("", 0)
    for record in records:
        last = record.origin
        if isinstance(record, Malformed):
            yield record
            continue
        kind = record.value.get("type") if isinstance(record.value, dict) else None
        if kind == "session":
            found = guarded(record, _session)
            yield from found
            session_id = found[0].session.ref.session_id if isinstance(found[0], SessionStart) else None
            seq = 0
        elif kind == "event":
            found = guarded(record, _event, session_id, seq)
            yield from found
            if isinstance(found[0], EventItem):
                seq = found[0].seq
        elif kind == KIND:
            if record.value.get("version") != VERSION:
                problem = f"must be {VERSION}; it is {shown(record.value.get('version'))}: a newer threadkeep can read it"
                yield Malformed(record.origin, "version", problem, fatal=True)
                return
        elif kind == "end":
            ended = True
        else:
            yield Malformed(record.origin, "type", f"must be {KIND}, session, event or end; it is {shown(kind)}")
    if not ended:
        yield Malformed(last, "", "the export has no end line: it is truncated; its sessions were read", fatal=True)


def _session(record: Record) -> Iterator[Item]:
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
    )
    expires = value.get("expire_time")
    if expires is not None:
        session.expire_time.CopyFrom(_time("expire_time", expires))
    if value.get("create_time") is not None:
        session.create_time.CopyFrom(_time("create_time", value["create_time"]))
    yield SessionStart(record.origin, session, never_expires=expires is None, restore=True)


def _event(record: Record, session_id: str | None, previous: int) -> Iterator[Item]:
    value = record.value
    of, seq = _text(value, "session", required=True), value.get("seq")
    if of != session_id:
        raise FieldError("session", f"is {of!r}, but the line follows no line of that session")
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
    yield EventItem(record.origin, event, seq)


def _text(value: dict[str, Any], key: str, *, required: bool = False) -> str:
    found = value.get(key, "")
    if not isinstance(found, str) or (required and not found):
        raise FieldError(key, f"must be text; it is {shown(value.get(key))}")
    return found


def _time(key: str, value: object) -> Timestamp:
    time = Timestamp()
    try:
        time.FromJsonString(value if isinstance(value, str) else "")
    except ValueError:
        raise FieldError(key, f"must be a time such as 2026-01-31T12:00:00Z, or null; it is {shown(value)}") from None
    return time


def _line(value: dict[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
