"""What the indexer does for embeddings as it follows the log: they are found, and lost, with the events."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Connection

from ..schema.tables import events
from .tables import event_vectors, vector_progress


def prepare(connection: Connection) -> None:
    """Their tables are there."""
    if connection.execute(sa.select(vector_progress.c.one)).one_or_none() is None:
        connection.execute(vector_progress.insert(), {"one": 1, "model": 0, "upto": 0})


def keep_known(connection: Connection, after: int, upto: int | None) -> None:
    """Drops the vectors of ids beyond `after`, up to `upto`, that no event has, or another than they are of: the index is made
    anew, and what has been deleted before it began nobody will tell."""
    known = sa.exists().where(
        events.c.id == event_vectors.c.id,
        events.c.session == event_vectors.c.session,
        events.c.time == event_vectors.c.time,
    )
    within = event_vectors.c.id > after if upto is None else event_vectors.c.id.between(after + 1, upto)
    connection.execute(event_vectors.delete().where(within, ~known))


def indexed(connection: Connection, first: int) -> None:
    """Events were indexed, the lowest of which has this id: they wait for their embeddings. Written whether or not it changes
    anything, so that on PostgreSQL who moves on at the same time (vector_queue) comes before or after."""
    upto = vector_progress.c.upto
    connection.execute(vector_progress.update().values(upto=sa.case((upto >= first, first - 1), else_=upto)))


def deleted(connection: Connection, first: int, last: int) -> None:
    """A session was deleted that had ids in this span. Its texts are gone already: who stores a vector holds on to the text
    (vector_units.put_events), so nothing comes after this."""
    left = sa.exists().where(events.c.id == event_vectors.c.id)
    connection.execute(event_vectors.delete().where(event_vectors.c.id.between(first, last), ~left))
