"""The tables of removals of events, and of operation ids."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, Table, Text, UniqueConstraint

from .tables import metadata

_Id = BigInteger().with_variant(Integer, "sqlite")

# Mutations that may be repeated, with domain.removals.Outcome. The newest of a session are kept.
operations = Table(
    "operations",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("session", _Id, nullable=False),
    Column("operation_id", Text, nullable=False),
    Column("fingerprint", LargeBinary, nullable=False),
    Column("outcome", LargeBinary, nullable=False),
    Column("time", BigInteger, nullable=False),
    UniqueConstraint("session", "operation_id", name="operations_operation_id"),
    Index("operations_session", "session", "id"),
    sqlite_autoincrement=True,
)

# Erased events, by their row ids, whose terms and embeddings are still to be removed.
erased_events = Table(
    "erased_events",
    metadata,
    Column("event", _Id, primary_key=True, autoincrement=False),
    Column("session", _Id, nullable=False),
    Index("erased_events_session", "session"),
)

# Earlier versions of events: row ids, by the ids that their callers gave them. `events` has them under other ids.
superseded_events = Table(
    "superseded_events",
    metadata,
    Column("event", _Id, primary_key=True, autoincrement=False),
    Column("session", _Id, nullable=False),
    Column("event_id", Text, nullable=False),
    Index("superseded_events_event_id", "session", "event_id"),
)

# Logs that were cleared and are to be erased: their events up to the seq `through`. Up to the position `reached` they are.
# `version`: the log version of the clear.
log_erasures = Table(
    "log_erasures",
    metadata,
    Column("session", _Id, primary_key=True, autoincrement=False),
    Column("through", BigInteger, nullable=False),
    Column("reached", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
)
