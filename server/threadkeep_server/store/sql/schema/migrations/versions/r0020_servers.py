"""Servers that share the database know each other."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.create_table(
        "servers",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("version", sa.Text(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("start_time", "seen_time")),
        sa.Column("metrics_address", sa.Text(), nullable=False),
    )
