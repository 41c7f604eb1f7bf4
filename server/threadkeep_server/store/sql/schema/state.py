"""The tables of state.

`owner` is the id of a session, or the negative id of a row of shared_states.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, Table, Text, UniqueConstraint

from .tables import metadata

_Id = BigInteger().with_variant(Integer, "sqlite")

# Users and apps that have state; the user_id of an app is empty. Their changes in the feed have the negative id as session.
shared_states = Table(
    "shared_states",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("tenant", Text, nullable=False),
    Column("app", Text, nullable=False),
    Column("user_id", Text, nullable=False),
    UniqueConstraint("tenant", "app", "user_id", name="shared_states_name"),
    sqlite_autoincrement=True,
)

# The totals of a scope (domain.state.state.Totals), and the number of its rows in past_values. None: nothing was ever set.
state_totals = Table(
    "state_totals",
    metadata,
    Column("owner", _Id, primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),
    Column("keys", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("past", BigInteger, nullable=False),
)

# The present values. Keys are bytes, because text has another order on each database. `since`: the log version from which on a
# session has the value; 0 for users and apps.
state_values = Table(
    "state_values",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("owner", _Id, nullable=False),
    Column("key", LargeBinary, nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("value", LargeBinary, nullable=False),
    UniqueConstraint("owner", "key", name="state_values_key"),
    sqlite_autoincrement=True,
)

# Earlier values of sessions: what a key had from the log version `since` up to the one before `until`.
past_values = Table(
    "past_values",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("owner", _Id, nullable=False),
    Column("key", LargeBinary, nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("until", BigInteger, nullable=False),
    Column("value", LargeBinary, nullable=False),
    UniqueConstraint("owner", "key", "until", name="past_values_key"),
    sqlite_autoincrement=True,
)
