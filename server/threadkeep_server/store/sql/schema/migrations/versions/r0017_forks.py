"""Forks of sessions: their parents, and those that are being copied; and rewinds."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

_FORKED = "parent_session_id IS NOT NULL"


def upgrade() -> None:
    for name in ("session_id", "uid"):
        op.add_column("sessions", sa.Column(f"parent_{name}", sa.Text()))
    for name in ("seq", "log_version"):
        op.add_column("sessions", sa.Column(f"parent_{name}", sa.BigInteger()))
    columns = ["tenant", "parent_session_id", "create_time", "id"]
    op.create_index("sessions_forks", "sessions", columns, sqlite_where=sa.text(_FORKED), postgresql_where=sa.text(_FORKED))
    op.create_table(
        "unfinished_forks",
        sa.Column("session", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
    )
    key = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "past_archivings",
        sa.Column("event", key, primary_key=True, autoincrement=False),
        sa.Column("until", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("session", key, nullable=False),
    )
    op.create_index("past_archivings_session", "past_archivings", ["session"])
