"""The first schema: sessions, their labels, the event log and its changes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_INSERTED = sa.text("position % 1048576 <> 0")
_EXPIRING = sa.text("expire_time IS NOT NULL")
_TURN_START = sa.text("turn_start")


def _id() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _numbers(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger(), nullable=False) for name in names]


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), nullable=False) for name in names]


def upgrade() -> None:
    op.create_table(
        "threadkeep_meta",
        sa.Column("key", sa.String(length=64), primary_key=True),
        *_texts("value"),
    )
    _sessions()
    _events()
    postgres = op.get_bind().dialect.name == "postgresql"
    xid = sa.text("(pg_current_xact_id()::text::bigint)" if postgres else "0")
    op.create_table(
        "changes",
        sa.Column("id", _id(), primary_key=True, autoincrement=True),
        sa.Column("xid", sa.BigInteger(), server_default=xid, nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("session", _id(), nullable=False),
        *_numbers("time", "first", "last"),
        sqlite_autoincrement=True,
    )
    op.create_index("changes_order", "changes", ["xid", "id"])


def _sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", _id(), primary_key=True, autoincrement=True),
        *_texts("tenant", "app", "user_id", "session_id", "uid"),
        *_numbers("create_time", "update_time"),
        sa.Column("expire_time", sa.BigInteger(), nullable=True),
        sa.Column("metadata_json", sa.LargeBinary(), nullable=False),
        sa.Column("labels_json", sa.LargeBinary(), nullable=False),
        *_numbers("log_version", "window_version", "last_seq"),
        *_numbers("window_events", "window_turns", "window_bytes", "window_tokens"),
        *_numbers("usage_input", "usage_output", "usage_total", "usage_cached", "usage_reasoning"),
        sa.UniqueConstraint("tenant", "app", "user_id", "session_id", name="sessions_ref"),
        sqlite_autoincrement=True,
    )
    op.create_index("sessions_session_id", "sessions", ["tenant", "session_id"])
    op.create_index("sessions_user", "sessions", ["tenant", "user_id", "id"])
    op.create_index("sessions_app", "sessions", ["tenant", "app", "id"])
    op.create_index("sessions_expiry", "sessions", ["expire_time"], sqlite_where=_EXPIRING, postgresql_where=_EXPIRING)
    op.create_table(
        "session_labels",
        sa.Column("session", _id(), sa.ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("key", sa.Text(), primary_key=True),
        *_texts("value"),
    )
    op.create_index("session_labels_value", "session_labels", ["key", "value", "session"])


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("id", _id(), primary_key=True, autoincrement=True),
        sa.Column("session", _id(), nullable=False),
        *_numbers("seq", "position"),
        *_texts("event_id"),
        *_numbers("time"),
        sa.Column("role", sa.SmallInteger(), nullable=False),
        *_texts("author", "author_role", "branch"),
        sa.Column("synthetic", sa.Boolean(), nullable=False),
        sa.Column("turn_start", sa.Boolean(), nullable=False),
        sa.Column("archived", sa.Boolean(), nullable=False),
        *_numbers("size", "tokens"),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.UniqueConstraint("session", "position", name="events_position"),
        sa.UniqueConstraint("session", "event_id", name="events_event_id"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "events_turn_start", "events", ["session", "position"], sqlite_where=_TURN_START, postgresql_where=_TURN_START
    )
    op.create_index("events_inserted", "events", ["session", "seq"], sqlite_where=_INSERTED, postgresql_where=_INSERTED)
