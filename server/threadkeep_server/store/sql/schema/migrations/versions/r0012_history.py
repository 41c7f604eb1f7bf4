"""When events were added to windows and archived. Existing rows are not rewritten: the window that the migration finds is the
beginning of what is known of its session."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from threadkeep_server.store.sql.schema.migrations.versions.r0006_shorter_writes import function

revision = "0012"
down_revision = "0011"

_LEAD = "role = 3 OR (synthetic AND role <> 4)"
_COUNTED = ("events", "turns", "bytes", "tokens")
_STEP = 1 << 20
# Positions above the last appended event before the first active one. An event that waits to be marked as archived counts as
# active: the floor is lower than it could be, and right.
_FLOOR = f"""COALESCE((
    SELECT (MIN(position) - 1) / {_STEP} * {_STEP} FROM events
    WHERE events.session = sessions.id AND NOT archived AND NOT ({_LEAD})
), last_seq * {_STEP})"""  # noqa: S608 - constants
_BEGINNING = f"""
INSERT INTO window_changes (session, log_version, window_version, last_seq, {", ".join(f"window_{what}" for what in _COUNTED)},
    conversation_floor, summaries_floor, prompts_floor, migrated)
SELECT id, log_version, window_version, last_seq, {", ".join(f"window_{what}" for what in _COUNTED)},
    {_FLOOR}, 0, 0, true
FROM sessions WHERE log_version > 0
"""  # noqa: S608 - constants


def upgrade() -> None:
    for name in ("added_version", "archived_version"):
        op.add_column("events", sa.Column(name, sa.BigInteger(), nullable=False, server_default=sa.text("0")))
    op.add_column("events", sa.Column("counters", sa.Text()))
    op.add_column("archivings", sa.Column("version", sa.BigInteger(), nullable=False, server_default=sa.text("0")))
    _index("events_all_leads", ["session", "position"], f"position > 0 AND ({_LEAD})")
    _index("events_counted", ["session", "added_version", "seq"], "counters IS NOT NULL")
    op.create_table(
        "window_changes",
        sa.Column("session", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True, autoincrement=False),
        sa.Column("log_version", sa.BigInteger(), primary_key=True, autoincrement=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("window_version", "last_seq")),
        *(sa.Column(f"window_{what}", sa.BigInteger(), nullable=False) for what in _COUNTED),
        *(sa.Column(f"{what}_floor", sa.BigInteger(), nullable=False) for what in ("conversation", "summaries", "prompts")),
        sa.Column("migrated", sa.Boolean(), nullable=False),
        sqlite_with_rowid=False,
    )
    op.execute(_BEGINNING)
    if op.get_bind().dialect.name == "postgresql":
        # With other parameters it is another function. Code that calls the old one must not run any more.
        op.execute("DROP FUNCTION threadkeep_append")
        op.execute(function({"added_version": "bigint", "counters": "text"}))


def _index(name: str, columns: list[str], where: str) -> None:
    op.create_index(name, "events", columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))
