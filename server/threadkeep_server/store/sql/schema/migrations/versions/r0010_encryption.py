"""The keys that encrypt what tenants store."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.create_table(
        "tenant_keys",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("create_time", sa.BigInteger(), nullable=False),
        sa.Column("destroy_time", sa.BigInteger()),
        sa.Column("master", sa.Text(), nullable=False),
        sa.Column("wrapped", sa.LargeBinary()),
        sqlite_autoincrement=True,
    )
    op.create_index("tenant_keys_tenant", "tenant_keys", ["tenant"])
