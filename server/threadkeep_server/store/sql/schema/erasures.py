"""The tables of erasures."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, Table, Text, UniqueConstraint

from .tables import metadata

COUNTS = ("sessions", "events", "memories", "embeddings", "consumers")

# An erasure and its counts so far. `request` is Erasure.key, `scope` the digest of the scope: no name remains. `newest`: the
# id of the last session that existed at its start. It has ended if it has a finish_time.
erasures = Table(
    "erasures",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("tenant", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("newest", BigInteger, nullable=False),
    Column("start_time", BigInteger, nullable=False),
    Column("finish_time", BigInteger),
    *(Column(name, BigInteger, nullable=False) for name in COUNTS),
    Column("ids_digest", Text, nullable=False),
    UniqueConstraint("tenant", "request", name="erasures_request"),
    sqlite_autoincrement=True,
)

# domain.erasure.id_line of what an erasure has erased, until it ends.
erased_ids = Table(
    "erased_ids",
    metadata,
    Column("erasure", BigInteger, primary_key=True, autoincrement=False),
    Column("line", Text, primary_key=True),
    sqlite_with_rowid=False,
)
