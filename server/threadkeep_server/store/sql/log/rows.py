"""Conversions between rows and domain values, and look-ups of sessions by ref."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row, Select

from ....domain.errors import AmbiguousSession, SessionNotFound
from ....domain.model import Compaction, Counters, EventDraft, Parent, Session, SessionRef, Usage
from ..encryption.codec import StoredCodec
from ..engine.statements import Record, Statements
from ..schema.tables import COUNTED, USED, sessions


def session_of(row: Row[Any]) -> Session:
    return Session(
        ref=ref_of(row),
        uid=row.uid,
        create_time=row.create_time,
        update_time=row.update_time,
        expire_time=row.expire_time,
        metadata_json=row.metadata_json.decode(),
        labels=json.loads(row.labels_json),
        log_version=row.log_version,
        window_version=row.window_version,
        last_seq=row.last_seq,
        window=counters_of(row),
        usage=usage_of(row),
        context_bytes=row.context_bytes,
        content_bytes=row.window_content,
        parent=_parent_of(row),
        moved=row.moved_change is not None,
    )


def _parent_of(row: Row[Any]) -> Parent | None:
    session_id = row.parent_session_id
    return None if session_id is None else Parent(session_id, row.parent_uid, row.parent_seq, row.parent_log_version)


def parent_columns(parent: Parent | None) -> dict[str, str | int | None]:
    """Returns the columns that _parent_of reads."""
    return {f"parent_{name}": getattr(parent, name, None) for name in ("session_id", "uid", "seq", "log_version")}


def ref_of(row: Row[Any]) -> SessionRef:
    return SessionRef(row.app, row.user_id, row.session_id)


def counters_of(row: Row[Any] | Record) -> Counters:
    return Counters(row.window_events, row.window_turns, row.window_bytes, row.window_tokens)


def content_of(row: Row[Any] | Record) -> int:
    """Returns the content bytes of an event as windows count them; its size if they are unknown."""
    return int(row.size if row.content_bytes < 0 else row.content_bytes)


def usage_of(row: Row[Any]) -> Usage:
    return Usage(row.usage_input, row.usage_output, row.usage_total, row.usage_cached, row.usage_reasoning)


def event_row(
    codec: StoredCodec,
    tenant: str,
    draft: EventDraft,
    session: int,
    seq: int,
    now: int,
    position: int,
    version: int,
    counters: str | None = None,
) -> dict[str, Any]:
    """Returns the parameters of the statement that stores an event. `version`: the log version with it; `counters`: see
    schema.history."""
    return {
        "session": session,
        "seq": seq,
        "position": position,
        "event_id": draft.event_id,
        "time": now if draft.event_time is None else draft.event_time,
        "role": int(draft.role),
        "author": draft.author,
        "author_role": draft.author_role,
        "branch": draft.branch,
        "synthetic": draft.synthetic,
        "turn_start": draft.turn_start,
        "archived": False,
        "size": len(draft.body),
        "tokens": draft.token_estimate,
        "body": codec.event(tenant, draft, seq, now),
        "content_bytes": draft.content_bytes,
        "tools": int(draft.tools),
        "added_version": version,
        "counters": counters,
    }


_PLAIN_COMPACTION = (
    "compaction_id",
    "time",
    "strategy",
    "actor",
    "branch",
    "archived",
    "first_seq",
    "last_seq",
    "log_version",
    "window_version",
)


def compaction_row(compaction: Compaction) -> dict[str, Any]:
    """Returns the parameters of the statement that stores a compaction, without its session."""
    row: dict[str, Any] = {name: getattr(compaction, name) for name in _PLAIN_COMPACTION}
    row["inserted_json"] = json.dumps(compaction.inserted, ensure_ascii=False).encode()
    row |= {f"{when}_{what}": getattr(getattr(compaction, when), what) for when in ("before", "after") for what in COUNTED}
    return row | {f"usage_{kind}": getattr(compaction.usage, kind) for kind in USED}


def record_of(row: Row[Any]) -> Compaction:
    """Returns the compaction of a row."""
    plain: dict[str, Any] = {name: getattr(row, name) for name in _PLAIN_COMPACTION}
    counters = {when: Counters(**{what: getattr(row, f"{when}_{what}") for what in COUNTED}) for when in ("before", "after")}
    return Compaction(**plain | counters, inserted=tuple(json.loads(row.inserted_json)), usage=usage_of(row))


def labels_bytes(labels: Any) -> bytes:
    return json.dumps(dict(labels), ensure_ascii=False, sort_keys=True).encode()


def named(tenant: str, ref: SessionRef) -> sa.ColumnElement[bool]:
    """Selects the session rows of a ref: at most one; for a bare ref, all with the id."""
    known = sa.and_(sessions.c.tenant == tenant, sessions.c.session_id == ref.session_id)
    return known if ref.is_bare else sa.and_(known, sessions.c.app == ref.app, sessions.c.user_id == ref.user_id)


def find(connection: Connection, tenant: str, ref: SessionRef, *, columns: Select[Any] | None = None) -> Row[Any] | None:
    """Returns the session row, or None. Raises AmbiguousSession."""
    query = sa.select(sessions) if columns is None else columns
    found = connection.execute(query.where(named(tenant, ref)).limit(2)).all()
    if len(found) > 1:
        raise AmbiguousSession(ref.session_id)
    return found[0] if found else None


def find_id(connection: Connection, tenant: str, ref: SessionRef) -> int | None:
    """Returns the id of the session's row, or None. Raises AmbiguousSession."""
    row = find(connection, tenant, ref, columns=sa.select(sessions.c.id))
    return None if row is None else int(row.id)


def require(connection: Connection, tenant: str, ref: SessionRef, *, columns: Select[Any] | None = None) -> Row[Any]:
    """Returns the session row. Raises SessionNotFound, AmbiguousSession."""
    row = find(connection, tenant, ref, columns=columns)
    if row is None:
        raise SessionNotFound(ref)
    return row


_HEAD = ("id", "log_version", "window_version", "last_seq", "context_bytes", *(f"window_{what}" for what in COUNTED))


def find_head(connection: Connection, statements: Statements, tenant: str, ref: SessionRef) -> Record | None:
    """Like find, for the columns that every read needs."""
    return _find_prepared(connection, statements, tenant, ref, "head", _HEAD)


def require_head(connection: Connection, statements: Statements, tenant: str, ref: SessionRef) -> Record:
    """Like find_head. Raises SessionNotFound."""
    return _required(find_head(connection, statements, tenant, ref), ref)


def require_prepared(connection: Connection, statements: Statements, tenant: str, ref: SessionRef) -> Record:
    """Like require, with a prepared statement."""
    return _required(_find_prepared(connection, statements, tenant, ref, "session", sessions.c.keys()), ref)


def _required(row: Record | None, ref: SessionRef) -> Record:
    if row is None:
        raise SessionNotFound(ref)
    return row


def _find_prepared(
    connection: Connection, statements: Statements, tenant: str, ref: SessionRef, shape: str, columns: Sequence[str]
) -> Record | None:
    values = {"tenant": tenant, "session_id": ref.session_id}
    if not ref.is_bare:
        values |= {"app": ref.app, "user_id": ref.user_id}
    prepared = statements.get((shape, *values), connection, lambda: _named_query(values, columns))
    found = prepared.run(connection, values)
    if len(found) > 1:
        raise AmbiguousSession(ref.session_id)
    return found[0] if found else None


def _named_query(values: Mapping[str, str], columns: Sequence[str]) -> Select[Any]:
    conditions = [sessions.c[name] == sa.bindparam(name, type_=sa.Text) for name in values]
    return sa.select(*(sessions.c[name] for name in columns)).where(*conditions).limit(sa.literal_column("2"))
