"""The queue of documents that wait for an embedding.

It has no table. Events wait if they are indexed and have no vector by the model, above the id up to which all have one;
memories wait if they have another model's number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, takewhile
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Row, Select

from ....domain.model import Caller
from ...contract.vectors import Source, Unembedded
from ..encryption.codec import StoredCodec
from ..encryption.vault import is_encrypted
from ..log.slices.removals import has_event
from ..schema.memories import memories, vector_models
from ..schema.tables import event_text, events, sessions
from .tables import event_vectors, vector_progress

# Largest number of ids per look, so that finding nothing among many costs little at a time.
_IDS_AT_ONCE = 8192
_MOST_LOOKS = 4
_MOST_BYTES = 8 << 20
"""Largest total size of the bodies returned at once, unless one alone is larger."""


def present_model(connection: Connection, *, lock: bool = False) -> Row[Any] | None:
    """Returns the model that was declared last. If locked, it stays current until the transaction ends."""
    if lock:
        connection.execute(sa.select(vector_models.c.number).with_for_update()).all()
    # Read again: another server may have declared its model before the lock.
    return connection.execute(sa.select(vector_models).order_by(vector_models.c.called.desc()).limit(1)).one_or_none()


def is_present(connection: Connection, model: int) -> bool:
    found = present_model(connection)
    return found is not None and found.number == model


def next_events(connection: Connection, codec: StoredCodec, model: int, limit: int) -> Sequence[Unembedded] | None:
    """Returns the first waiting events; None: none found yet, but there are more to check. Writes derived tables."""
    if not is_present(connection, model):
        return []
    progress = connection.execute(sa.select(vector_progress).with_for_update()).one()
    reached = start = progress.upto if progress.model == model else 0
    found: list[int] = []
    more = True
    for _ in range(_MOST_LOOKS):
        first = connection.execute(sa.select(sa.func.min(event_text.c.id)).where(event_text.c.id > reached)).scalar()
        more = first is not None
        if first is None:
            break
        upto = first + _IDS_AT_ONCE - 1
        found = list(connection.execute(_waiting_ids(model, first, upto).limit(limit)).scalars())
        if found:
            reached = found[0] - 1
            break
        reached = upto
    if reached != start or progress.model != model:
        connection.execute(vector_progress.update().values(model=model, upto=reached))
    return None if more and not found else list(_events(connection, codec, found))


def _waiting_ids(model: int, first: int, upto: int) -> Select[Any]:
    """Selects waiting ids whose events exist: deleted ones leave the index soon."""
    waits = (event_text.c.id.between(first, upto), ~_done(model), has_event(event_text.c.id))
    return sa.select(event_text.c.id).where(*waits).order_by(event_text.c.id)


def _done(model: int) -> ColumnElement[bool]:
    return sa.exists().where(event_vectors.c.id == event_text.c.id, event_vectors.c.model == model)


def _events(connection: Connection, codec: StoredCodec, ids: Sequence[int]) -> Iterator[Unembedded]:
    if not ids:
        return
    sizes = connection.execute(sa.select(events.c.id, events.c.size).where(events.c.id.in_(ids)).order_by(events.c.id)).all()
    totals = accumulate(row.size for row in sizes)
    fitting = sum(1 for _ in takewhile(lambda total: total <= _MOST_BYTES, totals))
    wanted = [row.id for row in sizes[: max(1, fitting)]]
    for row in connection.execute(sa.select(events.c.id, events.c.body).where(events.c.id.in_(wanted)).order_by(events.c.id)):
        # Embeddings contain what a text says, so an encrypted one has none.
        yield Unembedded(row.id, "" if is_encrypted(row.body) else codec.texts(row.body).of())


def next_memories(connection: Connection, model: int, limit: int) -> Sequence[Unembedded]:
    if not is_present(connection, model):
        return []
    # One query per other model, so that the index serves it.
    first = sa.select(memories.c.id).order_by(memories.c.id).limit(limit)
    waits = [first.where(memories.c.vector_model == other) for other in _others(connection, model)]
    ids = sorted(id_ for query in waits for id_ in connection.execute(query).scalars())[:limit]
    texts = sa.select(memories.c.id, memories.c.text).where(memories.c.id.in_(ids)).order_by(memories.c.id)
    return [Unembedded(row.id, row.text.decode()) for row in connection.execute(texts)]


def count_lacking(connection: Connection, name: str, sources: Sequence[Source], whose: Caller | None = None) -> int:
    """Counts the documents without an embedding by the model of this name, for a moment including deleted ones. The cost grows
    with the count."""
    model = connection.execute(sa.select(vector_models.c.number).where(vector_models.c.name == name)).scalar() or 0
    count = {Source.EVENTS: _count_events, Source.MEMORIES: _count_memories}
    return sum(count[source](connection, model, whose) for source in set(sources))


def _count_events(connection: Connection, model: int, whose: Caller | None) -> int:
    progress = connection.execute(sa.select(vector_progress)).one()
    upto = progress.upto if progress.model == model else 0
    count = sa.select(sa.func.count()).select_from(event_text).where(event_text.c.id > upto, ~_done(model))
    if whose is not None:
        count = count.join(events, events.c.id == event_text.c.id).join(sessions, sessions.c.id == events.c.session)
    return int(connection.execute(count.where(*_reached(whose, sessions))).scalar_one())


def _count_memories(connection: Connection, model: int, whose: Caller | None) -> int:
    others = memories.c.vector_model.in_(_others(connection, model))
    count = sa.select(sa.func.count()).select_from(memories).where(others, *_reached(whose, memories))
    return int(connection.execute(count).scalar_one())


def _reached(whose: Caller | None, table: sa.Table) -> list[ColumnElement[bool]]:
    """Conditions on the rows of a table that the credential reaches."""
    if whose is None:
        return []
    user = [] if whose.user_id is None else [table.c.user_id == whose.user_id]
    app = [] if whose.app is None else [table.c.app == whose.app]
    return [table.c.tenant == whose.tenant, *user, *app]


def _others(connection: Connection, model: int) -> Sequence[int]:
    """Returns the model numbers of memories that the model has not embedded."""
    numbers = connection.execute(sa.select(vector_models.c.number).where(vector_models.c.number != model)).scalars()
    return [0, *numbers]
