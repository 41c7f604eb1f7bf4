"""The derived tables of embeddings of events. They live where the search index does and, unlike it, outlive a new version of
it: they cost somebody money."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, SmallInteger, Table

from ..schema.tables import derived

# One row for each event that has been embedded, by its row id. `vector` is float32, little-endian; NULL: there was no text.
# `scope` and `app` stand for (tenant, user) and (tenant, app): see vector_units.marker. `session` and `time` are the event's,
# to tell it from one that took its id in another log.
event_vectors = Table(
    "event_vectors",
    derived,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("scope", BigInteger, nullable=False),
    Column("app", BigInteger, nullable=False),
    Column("session", BigInteger, nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("model", Integer, nullable=False),
    Column("vector", LargeBinary),
    Index("event_vectors_scope", "scope", "id"),
    Index("event_vectors_app", "app", "id"),
    Index("event_vectors_session", "session", "id"),
)

# Up to which id nothing that is indexed waits for an embedding by a model. One row. Ids are indexed in another order than they
# ascend, so whoever indexes an event sets it back behind that (see vector_upkeep).
vector_progress = Table(
    "vector_progress",
    derived,
    Column("one", SmallInteger, primary_key=True, autoincrement=False),
    Column("model", Integer, nullable=False),
    Column("upto", BigInteger, nullable=False),
)
