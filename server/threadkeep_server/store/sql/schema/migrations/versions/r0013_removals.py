"""Removals of events, and operation ids."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def _id() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "operations",
        sa.Column("id", _id(), primary_key=True, autoincrement=True),
        sa.Column("session", _id(), nullable=False),
        sa.Column("operation_id", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column("outcome", sa.LargeBinary(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint("session", "operation_id", name="operations_operation_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("operations_session", "operations", ["session", "id"])
    op.create_table(
        "erased_events",
        sa.Column("event", _id(), primary_key=True, autoincrement=False),
        sa.Column("session", _id(), nullable=False),
    )
    op.create_index("erased_events_session", "erased_events", ["session"])
    op.create_table(
        "superseded_events",
        sa.Column("event", _id(), primary_key=True, autoincrement=False),
        sa.Column("session", _id(), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
    )
    op.create_index("superseded_events_event_id", "superseded_events", ["session", "event_id"])
    op.create_table(
        "log_erasures",
        sa.Column("session", _id(), primary_key=True, autoincrement=False),
        sa.Column("through", sa.BigInteger(), nullable=False),
        sa.Column("reached", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
    )
