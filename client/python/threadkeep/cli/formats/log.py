"""Writes Threadkeep's own export: JSON lines that restore sessions and events byte for byte. Schema: docs/import-export.md."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping

from ...v1 import event_pb2, message_pb2, session_pb2
from .items import WindowChange

KIND = "threadkeep.export"
VERSION = 3
OUTPUT_ONLY = ("seq", "record_time", "archived", "token_estimate", "size_bytes", "token_counter", "erased")


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
            "window_version": session.window_version,
            **({"context_bytes": session.context_bytes} if session.context_bytes else {}),
            **({"forked_from": _parent_value(session.parent)} if session.HasField("parent") else {}),
        }
    )


def _parent_value(parent: session_pb2.SessionParent) -> dict[str, object]:
    """Returns the origin of a fork, which has the app and the user of its fork."""
    point = {"at_seq": parent.at_seq, "at_log_version": parent.at_log_version}
    return {"session_id": parent.session.session_id, "uid": parent.uid, **point}


def event_line(session_id: str, event: event_pb2.SessionEvent, *, placed: bool = False) -> str:
    """The line of an event: its bytes, and fields that make the line readable. `placed`: the next window line inserts it."""
    marks = {"erased": event.erased, "placed": placed}
    return _line(
        {
            "type": "event",
            "session": session_id,
            "seq": event.seq,
            "event_id": event.event_id,
            "role": message_pb2.Role.Name(event.message.role).removeprefix("ROLE_").lower(),
            "record_time": event.record_time.ToJsonString(),
            **{name: True for name, marked in marks.items() if marked},
            "event": base64.b64encode(event_bytes(event)).decode("ascii"),
        }
    )


def window_line(session_id: str, change: WindowChange) -> str:
    """The line of a change of a session's window, after the events before it and those that it inserts."""
    placed = [{"event_id": each.event_id, "before": each.before or None} for each in change.placed]
    point = {"changes": change.changes, "through_seq": change.through_seq} if change.how == "rewind" else {}
    optional = {
        "erased": change.erased or None,
        "erase": change.erase or None,
        "branch": change.branch,
        "strategy": change.strategy or None,
        "actor": change.actor or None,
    }
    return _line(
        {
            "type": "window",
            "session": session_id,
            "how": change.how,
            "archived": change.archived,
            "placed": placed,
            **point,
            **{name: value for name, value in optional.items() if value is not None},
        }
    )


def state_line(scope: str, ref: session_pb2.SessionRef, version: int, values: Mapping[str, str]) -> str:
    """The line of the state of a session, a user or an app; values are JSON text."""
    names = {"app": ref.app, "user_id": ref.user_id, "session_id": ref.session_id}
    return _line({"type": "state", "scope": scope, **names, "version": version, "values": dict(values)})


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


def _line(value: dict[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
