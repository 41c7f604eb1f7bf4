"""Erasures of users, apps and labels, and their receipts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_COUNTS = ("sessions", "events", "memories", "embeddings", "consumers")


def upgrade() -> None:
    op.create_table(
        "erasures",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("newest", sa.BigInteger(), nullable=False),
        sa.Column("start_time", sa.BigInteger(), nullable=False),
        sa.Column("finish_time", sa.BigInteger()),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in _COUNTS),
        sa.Column("ids_digest", sa.Text(), nullable=False),
        sa.UniqueConstraint("tenant", "request", name="erasures_request"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "erased_ids",
        sa.Column("erasure", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("line", sa.Text(), primary_key=True),
        sqlite_with_rowid=False,
    )
