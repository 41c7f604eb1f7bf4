"""State of sessions, users and apps, and its changes in the feed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "shared_states",
        sa.Column("id", _ID, primary_key=True, autoincrement=True),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("tenant", "app", "user_id")),
        sa.UniqueConstraint("tenant", "app", "user_id", name="shared_states_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "state_totals",
        sa.Column("owner", _ID, primary_key=True, autoincrement=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("version", "keys", "bytes", "past")),
    )
    _values("state_values", ["since"], ["owner", "key"])
    _values("past_values", ["since", "until"], ["owner", "key", "until"])
    for table in ("changes", "parked_changes"):
        op.add_column(table, sa.Column("state", sa.LargeBinary()))


def _values(name: str, versions: list[str], unique: list[str]) -> None:
    op.create_table(
        name,
        sa.Column("id", _ID, primary_key=True, autoincrement=True),
        sa.Column("owner", _ID, nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        *(sa.Column(version, sa.BigInteger(), nullable=False) for version in versions),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.UniqueConstraint(*unique, name=f"{name}_key"),
        sqlite_autoincrement=True,
    )
