"""The feed: the effect of a change and the session's state after it, the start of the feed, and named consumers."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_IS_DELETION = sa.text("kind = 2")
_NUMBERS = (
    "size",
    "log_version",
    "window_version",
    "last_seq",
    *(f"window_{what}" for what in ("events", "turns", "bytes", "tokens")),
)
_NAMES = ("tenant", "app", "user_id", "session_id")


def _id() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=False)


def _count(name: str, *, key: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), nullable=False, primary_key=key, autoincrement=False)


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), nullable=False) for name in names]


def _of_consumer(*, key: bool) -> sa.Column[int]:
    return sa.Column("consumer", _id(), sa.ForeignKey("consumers.id", ondelete="CASCADE"), primary_key=key, nullable=False)


def _added() -> list[sa.Column[Any]]:
    """Returns the new columns of a change."""
    return [
        *(sa.Column(name, sa.BigInteger(), nullable=False, server_default=sa.text("0")) for name in _NUMBERS),
        *(sa.Column(name, sa.Text()) for name in _NAMES),
        sa.Column("detail", sa.LargeBinary()),
    ]


def upgrade() -> None:
    for column in _added():
        op.add_column("changes", column)
    op.create_index("changes_session", "changes", ["session", "xid", "id"])
    op.create_index(
        "changes_deleted", "changes", ["tenant", "session_id"], sqlite_where=_IS_DELETION, postgresql_where=_IS_DELETION
    )
    _floor()
    _consumers()


def _floor() -> None:
    """Earlier changes lack the state of the session after them, so the feed begins after the newest one."""
    op.create_table(
        "feed_floor",
        sa.Column("one", sa.SmallInteger(), primary_key=True, autoincrement=False),
        _number("xid"),
        _number("change"),
    )
    # With a single writer every xid is 0, so this is the order on both engines.
    newest = sa.text("SELECT xid, id FROM changes ORDER BY xid DESC, id DESC LIMIT 1")
    xid, change = op.get_bind().execute(newest).one_or_none() or (0, 0)
    floor = sa.table("feed_floor", sa.column("one"), sa.column("xid"), sa.column("change"))
    op.get_bind().execute(floor.insert().values(one=1, xid=xid, change=change))


def _consumers() -> None:
    op.create_table(
        "consumers",
        sa.Column("id", _id(), primary_key=True, autoincrement=True),
        *_texts("tenant", "owner", "name"),
        sa.Column("scope_json", sa.LargeBinary(), nullable=False),
        sa.Column("filter", sa.LargeBinary(), nullable=False),
        _count("partitions"),
        _count("max_attempts"),
        _number("ack_timeout"),
        _number("create_time"),
        sa.UniqueConstraint("tenant", "owner", "name", name="consumers_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "consumer_members",
        _of_consumer(key=True),
        sa.Column("member_id", sa.Text(), primary_key=True),
        _number("join_time"),
        _number("until"),
    )
    op.create_table(
        "consumer_partitions",
        _of_consumer(key=True),
        _count("number", key=True),
        _number("xid"),
        _number("change"),
        *_texts("owner"),
        _number("until"),
        _count("attempts"),
        *_texts("reason"),
    )
    op.create_table(
        "parked_changes",
        sa.Column("id", _id(), primary_key=True, autoincrement=True),
        _of_consumer(key=False),
        _count("number"),
        _count("attempts"),
        *_texts("reason"),
        _number("park_time"),
        sa.Column("replaying", sa.Boolean(), nullable=False),
        _number("change_xid"),
        _number("change_id"),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("session", _id(), nullable=False),
        *(_number(name) for name in ("time", "first", "last")),
        *_added(),
        sqlite_autoincrement=True,
    )
    op.create_index("parked_changes_consumer", "parked_changes", ["consumer", "id"])
