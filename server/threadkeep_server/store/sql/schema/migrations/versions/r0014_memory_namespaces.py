"""Namespaces of memories, replacements, and entries that expire."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

_EXPIRING = sa.text("expire_time IS NOT NULL")


def _path() -> sa.types.TypeEngine[str]:
    return sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("memories", sa.Column("namespace", _path(), nullable=False, server_default=sa.text("''")))
    for name in ("update_time", "ttl", "expire_time"):
        op.add_column("memories", sa.Column(name, sa.BigInteger()))
    op.create_index("memories_namespace", "memories", ["tenant", "app", "user_id", "namespace", "expire_time"])
    op.create_index("memories_expiry", "memories", ["expire_time"], sqlite_where=_EXPIRING, postgresql_where=_EXPIRING)
    op.create_table(
        "memory_prefixes",
        *(sa.Column(name, sa.Text(), primary_key=True) for name in ("tenant", "app", "user_id")),
        sa.Column("prefix", _path(), primary_key=True),
        sa.Column("memory", sa.BigInteger(), primary_key=True, autoincrement=False),
        sqlite_with_rowid=False,
    )
    op.create_index("memory_prefixes_memory", "memory_prefixes", ["memory"])
