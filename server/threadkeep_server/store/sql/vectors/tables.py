"""The derived tables of event embeddings. They are stored with the search index and, unlike it, are kept by a new version,
because embeddings cost money."""

from __future__ import annotations

import hashlib

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, SmallInteger, Table

from ..schema.tables import derived

# One row per embedded event, by its row id. `vector` is float32, little-endian; NULL: there was no text. `scope` and `app`
# represent (tenant, user) and (tenant, app): see marker. `session` and `time` are the event's, to distinguish it
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

# How many sessions have come to a scope from other owners, with their vectors. Their ids may be lower than those that a reader
# knows.
scope_arrivals = Table(
    "scope_arrivals",
    derived,
    Column("scope", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False),
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


def marker(*names: str) -> int:
    """Returns a number that represents a tenant and a user or an app. Two may share one: it only narrows."""
    digest = hashlib.blake2b("".join(f"{len(name)}:{name}" for name in names).encode(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)
