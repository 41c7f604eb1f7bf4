"""Long compactions of events that are no prefix mark them in slices."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("archivings", sa.Column("listing", sa.BigInteger()))
    op.create_table(
        "listed_events",
        sa.Column("listing", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("event", sa.BigInteger(), primary_key=True, autoincrement=False),
        sqlite_with_rowid=False,
    )
