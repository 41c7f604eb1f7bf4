"""Maintains embeddings as the indexer follows the log: they are found, and deleted, with the events."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy import Connection

from ..log.slices.removals import has_event, is_there
from ..schema.tables import events
from .tables import event_vectors, marker, scope_arrivals, vector_progress


def prepare(connection: Connection) -> None:
    """Initializes the progress of embedding."""
    if connection.execute(sa.select(vector_progress.c.one)).one_or_none() is None:
        connection.execute(vector_progress.insert(), {"one": 1, "model": 0, "upto": 0})


def keep_known(connection: Connection, after: int, upto: int | None) -> None:
    """Deletes the vectors with ids above `after`, up to `upto`, that belong to no event or to another one: while an index is
    rebuilt, earlier deletions are not in its changes."""
    known = sa.exists().where(
        events.c.id == event_vectors.c.id,
        events.c.session == event_vectors.c.session,
        events.c.time == event_vectors.c.time,
        is_there(events.c.session),
    )
    within = event_vectors.c.id > after if upto is None else event_vectors.c.id.between(after + 1, upto)
    connection.execute(event_vectors.delete().where(within, ~known))


def indexed(connection: Connection, first: int) -> None:
    """Records that events were indexed, the lowest with this id: they wait for embeddings. Always writes, so that on PostgreSQL
    a transaction that advances the queue comes before or after."""
    upto = vector_progress.c.upto
    connection.execute(vector_progress.update().values(upto=sa.case((upto >= first, first - 1), else_=upto)))


def deleted(connection: Connection, first: int, last: int) -> None:
    """Deletes the vectors of a deleted session whose ids were in this span. Its texts are deleted already: a transaction that
    stores a vector locks the text (vector_queries.put_events), so none comes later."""
    connection.execute(event_vectors.delete().where(event_vectors.c.id.between(first, last), ~has_event(event_vectors.c.id)))


def gave(connection: Connection, keys: Sequence[int], tenant: str, user_id: str) -> int:
    """Gives the vectors of events to their new owner. Returns their scope. Their texts were removed and added again: see
    `deleted`."""
    scope = marker(tenant, user_id)
    mine = (event_vectors.c.id.in_(keys), event_vectors.c.scope != scope)
    connection.execute(event_vectors.update().where(*mine).values(scope=scope))
    return scope


def came(connection: Connection, tenant: str, user_id: str) -> None:
    """Records that vectors with any ids have come to a user."""
    scope = marker(tenant, user_id)
    mine = scope_arrivals.c.scope == scope
    counted = scope_arrivals.update().where(mine).values(number=scope_arrivals.c.number + 1)
    if not connection.execute(counted).rowcount:
        connection.execute(scope_arrivals.insert().values(scope=scope, number=1))
