"""Units of work that store and read embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Row, Select, Table

from ....domain.memories import MemoryScope
from ....domain.model import SessionRef
from ....domain.scopes import AppScope, EventScope
from ...contract.vectors import Embedded, Floats, check_dimension, check_vectors
from ..log.markers import memory_marker
from ..log.rows import require
from ..schema.encryption import NO_MODEL
from ..schema.memories import memories, memory_vectors, vector_models
from ..schema.tables import event_text, events, sessions
from .queue import present_model
from .tables import event_vectors, marker, scope_arrivals


def declare(connection: Connection, name: str, dimension: int) -> int:
    """See VectorStore.vector_model; runs alone (versions.alone)."""
    known = {row.name: row for row in connection.execute(sa.select(vector_models).with_for_update())}
    mine = known.get(name)
    check_dimension(name, dimension, None if mine is None else mine.dimension)
    latest = max((row.called for row in known.values()), default=0)
    if mine is None:
        values = {"name": name, "dimension": dimension, "called": latest + 1}
        made = connection.execute(vector_models.insert().values(values).returning(vector_models.c.number))
        return int(made.scalar_one())
    if mine.called != latest:
        connection.execute(vector_models.update().where(vector_models.c.number == mine.number).values(called=latest + 1))
    return int(mine.number)


# --- storing


def put_events(connection: Connection, model: int, keys: Sequence[int], vectors: Floats | None) -> Sequence[int]:
    """Returns the stored keys."""
    if not _may_put(connection, model, keys, vectors):
        return []
    # On PostgreSQL this locks the texts: a transaction that deletes them (TextIndex.remove) waits, and then finds the vectors
    # as well. Texts that are being deleted are skipped.
    columns = (events.c.id, events.c.session, events.c.time, sessions.c.tenant, sessions.c.app, sessions.c.user_id)
    joined = sa.join(events, sessions, events.c.session == sessions.c.id).join(event_text, event_text.c.id == events.c.id)
    query = sa.select(*columns).select_from(joined).where(events.c.id.in_(keys))
    there: Sequence[Any] = connection.execute(
        query.with_for_update(read=True, key_share=True, skip_locked=True, of=event_text)
    ).all()
    done = sa.select(event_vectors.c.id).where(event_vectors.c.id.in_(keys), event_vectors.c.model == model)
    known = set(connection.execute(done).scalars())
    blobs = _blobs(keys, vectors)
    rows = [_event_row(row, model, blobs) for row in there if row.id not in known]
    ids = [row["id"] for row in rows]
    if rows:
        connection.execute(event_vectors.delete().where(event_vectors.c.id.in_(ids)))
        connection.execute(event_vectors.insert(), rows)
    return ids


def _event_row(row: Row[Any], model: int, blobs: Mapping[int, bytes | None]) -> dict[str, Any]:
    return {
        "id": row.id,
        "scope": marker(row.tenant, row.user_id),
        "app": marker(row.tenant, row.app),
        "session": row.session,
        "time": row.time,
        "model": model,
        "vector": blobs[row.id],
    }


def put_memories(connection: Connection, model: int, keys: Sequence[int], vectors: Floats | None) -> Sequence[int]:
    """Returns the stored keys."""
    if not _may_put(connection, model, keys, vectors):
        return []
    # A concurrent deletion comes first, and they do not exist, or waits for this and then finds the vectors.
    waits = (memories.c.id.in_(keys), memories.c.vector_model.not_in((model, NO_MODEL)))
    owner = (memories.c.tenant, memories.c.app, memories.c.user_id)
    marked = memories.update().where(*waits).values(vector_model=model).returning(memories.c.id, *owner)
    there = connection.execute(marked).all()
    ids = [row.id for row in there]
    connection.execute(memory_vectors.delete().where(memory_vectors.c.id.in_(ids)))
    if vectors is not None and there:
        blobs = _blobs(keys, vectors)
        scopes = {row.id: memory_marker(row.tenant, MemoryScope(row.app, row.user_id)) for row in there}
        rows = [{"id": id_, "scope": scopes[id_], "session": 0, "model": model, "vector": blobs[id_]} for id_ in ids]
        connection.execute(memory_vectors.insert(), rows)
    return ids


def _may_put(connection: Connection, model: int, keys: Sequence[int], vectors: Floats | None) -> bool:
    """Returns whether the model is the current one; it stays so until the transaction ends."""
    present = present_model(connection, lock=True)
    if present is None or present.number != model:
        return False
    if vectors is not None:
        check_vectors(vectors, len(keys), present.dimension)
    return bool(keys)


def _blobs(keys: Sequence[int], vectors: Floats | None) -> Mapping[int, bytes | None]:
    if vectors is None:
        return dict.fromkeys(keys)
    return {key: row.tobytes() for key, row in zip(keys, np.asarray(vectors, "<f4"), strict=True)}


# --- reading


def read_events(connection: Connection, tenant: str, scope: EventScope, model: int, after: int, limit: int) -> Embedded:
    v = event_vectors.c
    column, value = place_of(connection, tenant, scope)
    within = (v[column] == value, *inside(tenant, scope, event_vectors))
    query = sa.select(v.id, v.session, v.vector).where(*within, v.id > after, v.model == model, v.vector.is_not(None))
    arrivals = 0
    if column == "scope":
        number = sa.select(scope_arrivals.c.number).where(scope_arrivals.c.scope == value)
        arrivals = connection.execute(number).scalar() or 0
    return _embedded(connection, model, query.order_by(v.id).limit(limit))._replace(arrivals=arrivals)


def place_of(connection: Connection, tenant: str, scope: EventScope) -> tuple[str, int]:
    """Returns the column that selects a scope's vectors, and its value. Raises SessionNotFound, AmbiguousSession."""
    if isinstance(scope, SessionRef):
        return "session", int(require(connection, tenant, scope, columns=sa.select(sessions.c.id, sessions.c.session_id)).id)
    return ("app", marker(tenant, scope.app)) if isinstance(scope, AppScope) else ("scope", marker(tenant, scope.user_id))


def inside(tenant: str, scope: EventScope, table: Table) -> Sequence[ColumnElement[bool]]:
    """Returns the other conditions: their session exists and is in the scope."""
    if isinstance(scope, SessionRef):
        return ()
    names = {"app": scope.app} if isinstance(scope, AppScope) else {"user_id": scope.user_id, "app": scope.app}
    owned = [sessions.c[name] == value for name, value in names.items() if value is not None]
    return (sa.exists().where(sessions.c.id == table.c.session, sessions.c.tenant == tenant, *owned),)


def read_memories(connection: Connection, tenant: str, scope: MemoryScope, model: int, after: int, limit: int) -> Embedded:
    v = memory_vectors.c
    within = (v.scope == memory_marker(tenant, scope), v.model == model, v.id > after)
    return _embedded(connection, model, sa.select(v.id, v.session, v.vector).where(*within).order_by(v.id).limit(limit))


def _embedded(connection: Connection, model: int, query: Select[Any]) -> Embedded:
    rows = connection.execute(query).all()
    known = sa.select(vector_models.c.dimension).where(vector_models.c.number == model)
    dimension = connection.execute(known).scalar() or 1
    keys, numbers = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
    vectors = np.frombuffer(b"".join([row.vector for row in rows]), "<f4").astype(np.float32, copy=False)
    return Embedded(keys, numbers, vectors.reshape(len(rows), dimension))
