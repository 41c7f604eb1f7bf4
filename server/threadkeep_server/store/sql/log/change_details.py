"""The state of a session in change rows: the columns of its versions and counters, and `changes.detail`, the JSON of the
rest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from ....domain.model import Counters, Parent, Session, SessionRef, Usage, Versions
from ....domain.removals import Removal, RemovalKind
from ...contract.feed import change_snapshot
from ..schema.tables import COUNTED, USED


@dataclass(frozen=True, slots=True)
class Detail:
    """The detail of a change. `compaction` is the row of its record, `inserted` the number of events that it inserted."""

    after: Session | None = None
    labels_before: Mapping[str, str] | None = None
    expired: bool = False
    moved: bool = False
    compaction: int | None = None
    inserted: int = 0
    removal: Removal | None = None


def state_columns(versions: Versions) -> dict[str, int]:
    """Returns the columns of a session's versions and counters after a change."""
    columns = {"log_version": versions.log_version, "window_version": versions.window_version, "last_seq": versions.last_seq}
    return columns | {f"window_{what}": getattr(versions.window, what) for what in COUNTED}


def session_change(kind: int, session: int, time: int, after: Session, detail: bytes) -> dict[str, Any]:
    """Returns the columns of a change of a session itself. `session` is the id of its row."""
    row = {"kind": kind, "session": session, "time": time, "first": 0, "last": 0, "detail": detail}
    return row | state_columns(after.versions)


def created(after: Session) -> bytes:
    return _dump({"after": _snapshot(change_snapshot(after))})


def updated(after: Session, before: Session) -> bytes:
    detail: dict[str, Any] = {"after": _snapshot(change_snapshot(after))}
    if before.labels != after.labels:
        detail["before"] = dict(before.labels)
    return _dump(detail)


def deleted(last: Session, *, expired: bool, moved: bool = False) -> bytes:
    """Without metadata: deleted data must not remain."""
    detail = {"after": _snapshot(last) | {"metadata_json": ""}, "expired": expired}
    return _dump(detail | {"moved": True} if moved else detail)


def compacted(compaction: int, inserted: int) -> bytes:
    return _dump({"compaction": compaction, "inserted": inserted})


def removed(removal: Removal) -> bytes:
    return _dump({"removal": asdict(removal), "inserted": removal.inserted})


def copied(events: int) -> bytes:
    return _dump({"inserted": events})


def read(detail: bytes | None) -> Detail:
    """Appends have no detail, and neither have changes of the first schemas."""
    if detail is None:
        return Detail()
    data = json.loads(detail)
    after = data.get("after")
    return Detail(
        after=None if after is None else _session(after),
        labels_before=data.get("before"),
        expired=data.get("expired", False),
        moved=data.get("moved", False),
        compaction=data.get("compaction"),
        inserted=data.get("inserted", 0),
        removal=removal_of(data["removal"]) if "removal" in data else None,
    )


def removal_of(data: Mapping[str, Any]) -> Removal:
    """Returns a removal from its fields as they are stored."""
    lists = {"kind": RemovalKind(data["kind"]), "event_ids": tuple(data["event_ids"]), "seqs": tuple(data["seqs"])}
    return Removal(**{**data, **lists})


# Stored as they are; the other fields of a session have their own encoding.
_PLAIN = tuple(each.name for each in fields(Session) if each.name not in ("ref", "labels", "window", "usage", "parent"))


def _snapshot(session: Session) -> dict[str, Any]:
    nouns = {
        "ref": list(session.ref),
        "labels": dict(session.labels),
        "window": [getattr(session.window, what) for what in COUNTED],
        "usage": [getattr(session.usage, kind) for kind in USED],
    }
    if session.parent is not None:
        nouns["parent"] = asdict(session.parent)
    return {name: getattr(session, name) for name in _PLAIN} | nouns


def _session(data: Mapping[str, Any]) -> Session:
    return Session(
        ref=SessionRef(*data["ref"]),
        labels=data["labels"],
        window=Counters(*data["window"]),
        usage=Usage(*data["usage"]),
        parent=Parent(**data["parent"]) if "parent" in data else None,
        # Records of an older server lack fields that sessions did not have then.
        **{name: data[name] for name in _PLAIN if name in data},
    )


def _dump(detail: dict[str, Any]) -> bytes:
    return json.dumps(detail, ensure_ascii=False, separators=(",", ":")).encode()
