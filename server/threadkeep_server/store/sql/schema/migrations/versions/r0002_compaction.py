"""Compaction: the indexes of windows, the records of compactions, policies and leases."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_ACTIVE = sa.text("NOT archived")
_ACTIVE_LEAD = sa.text("NOT archived AND (role = 3 OR (synthetic AND role <> 4))")
_COUNTED = ("events", "turns", "bytes", "tokens")
_USED = ("input", "output", "total", "cached", "reasoning")


def _id() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _numbers(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger(), nullable=False) for name in names]


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), nullable=False) for name in names]


def upgrade() -> None:
    _add("sessions", "context_bytes", sa.BigInteger(), "0")
    _add("events", "content_bytes", sa.BigInteger(), "-1")
    _add("events", "tools", sa.SmallInteger(), "4")
    for name, where in (("events_active", _ACTIVE), ("events_lead", _ACTIVE_LEAD)):
        op.create_index(name, "events", ["session", "position"], sqlite_where=where, postgresql_where=where)
    _compactions()
    op.create_table(
        "policies",
        sa.Column("id", _id(), primary_key=True, autoincrement=True),
        *_texts("tenant"),
        sa.Column("scope", sa.SmallInteger(), nullable=False),
        *_texts("app", "user_id", "session_id"),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        *_numbers("time"),
        sa.UniqueConstraint("tenant", "scope", "app", "user_id", "session_id", name="policies_scope"),
        sqlite_autoincrement=True,
    )
    op.create_index("policies_time", "policies", ["time"])
    op.create_table(
        "leases",
        sa.Column("session", _id(), primary_key=True, autoincrement=False),
        *_texts("owner"),
        *_numbers("until"),
    )


def _add(table: str, name: str, type_: sa.types.TypeEngine[int], default: str) -> None:
    op.add_column(table, sa.Column(name, type_, nullable=False, server_default=sa.text(default)))


def _compactions() -> None:
    op.create_table(
        "compactions",
        sa.Column("id", _id(), primary_key=True, autoincrement=True),
        sa.Column("session", _id(), nullable=False),
        *_texts("compaction_id"),
        *_numbers("time"),
        *_texts("strategy", "actor", "branch"),
        *_numbers("archived", "first_seq", "last_seq"),
        sa.Column("inserted_json", sa.LargeBinary(), nullable=False),
        *_numbers(*(f"{when}_{what}" for when in ("before", "after") for what in _COUNTED)),
        *_numbers("log_version", "window_version"),
        *_numbers(*(f"usage_{kind}" for kind in _USED)),
        sa.UniqueConstraint("session", "compaction_id", name="compactions_compaction_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("compactions_session", "compactions", ["session", "id"])
