"""The derived tables of event embeddings. They are stored with the search index and, unlike it, are kept by a new version,
because embeddings cost money."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, SmallInteger, Table

from ..schema.tables import derived

# One row per embedded event, by its row id. `vector` is float32, little-endian; NULL: there was no text. `scope` and `app`
# represent (tenant, user) and (tenant, app): see vector_queries.marker. `session` and `time` are the event's, to distinguish it
# from one with the same id in another log.
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

# The id up to which no indexed event waits for an embedding by a model. One row. Ids are not indexed in ascending order, so
# indexing an event moves it back (see vectors.maintenance).
vector_progress = Table(
    "vector_progress",
    derived,
    Column("one", SmallInteger, primary_key=True, autoincrement=False),
    Column("model", Integer, nullable=False),
    Column("upto", BigInteger, nullable=False),
)
