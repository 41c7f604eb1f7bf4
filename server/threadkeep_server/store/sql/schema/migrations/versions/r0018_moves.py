"""Sessions may get another owner."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from threadkeep_server.store.sql.schema.migrations.versions.r0006_shorter_writes import function

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    for name in ("xid", "change"):
        op.add_column("sessions", sa.Column(f"moved_{name}", sa.BigInteger()))
    if op.get_bind().dialect.name == "postgresql":
        # With other parameters it is another function. Code that calls the old one must not run any more.
        op.execute("DROP FUNCTION threadkeep_append")
        op.execute(function({"added_version": "bigint", "counters": "text"}, ("window_content",), by_owner=True))
