"""SQL of PostgreSQL."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, FromClause, Select
from sqlalchemy.sql import ColumnElement

from ..schema.tables import changes
from .base import SessionName, TableParameter
from .postgres_order import HORIZON
from .postgres_restarts import RUN


class PostgresDialect:
    """Dialect of PostgreSQL."""

    change_order: tuple[sa.Column[Any], ...] = (changes.c.xid, changes.c.id)
    # Any number, as long as it is the same in every server.
    exclusive = "SELECT pg_advisory_xact_lock(7443000001)"
    no_changes = f"LOCK TABLE {changes.name} IN SHARE MODE"
    mark = f"{RUN} || '/' || pg_current_xact_id()::xid::text"
    row_mark = f"{RUN} || '/' || xmin::text"
    xid_offset = 0
    """See postgres_order."""

    def contains(self, column: ColumnElement[Any], folded: str) -> ColumnElement[bool]:
        return sa.func.strpos(column, folded) > 0

    def in_list(self, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
        return column == sa.any_(sa.bindparam(name, type_=sa.ARRAY(column.type)))

    def listed(self, values: Sequence[int] | Sequence[str]) -> Any:
        return list(values)

    def visible(self) -> ColumnElement[bool]:
        # Ids are taken at insert and become visible at commit, so following them would skip rows. All transactions below the
        # oldest running one have ended, so nothing can commit before their changes.
        return changes.c.xid < sa.text(f"{HORIZON} + {self.xid_offset}" if self.xid_offset else HORIZON)

    def table(self, names: Sequence[str], rows: Sequence[Sequence[int]]) -> TableParameter:
        values = {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
        return TableParameter(0, values, partial(_arrays, tuple(names)))

    def each(
        self, table: FromClause, columns: Sequence[ColumnElement[Any]], where: Sequence[ColumnElement[bool]]
    ) -> Select[Any]:
        # A query of its own for each row: joining them, PostgreSQL expects a ninth of all rows for a span and reads them all.
        found = sa.select(*columns).where(*where).offset(sa.literal_column("0")).correlate(table).lateral("found")
        return sa.select(table.c[0], *found.c).select_from(table.join(found, sa.true()))

    def by_code_point(self, column: ColumnElement[str]) -> ColumnElement[str]:
        return sa.collate(column, "C")


def _arrays(names: tuple[str, ...]) -> FromClause:
    columns = [sa.column(name, BigInteger) for name in names]
    arrays = [sa.bindparam(name, type_=sa.ARRAY(BigInteger)) for name in names]
    return sa.func.unnest(*arrays).table_valued(*columns, name="given").render_derived()


# A server that is frozen in a transaction holds its locks for so long. A transaction computes between two statements, but not
# for seconds.
_LONGEST_PAUSE = "set_config('idle_in_transaction_session_timeout', '15s', true) AS pause"
_PAUSE = "SELECT set_config('idle_in_transaction_session_timeout', $1, true)"
# Settings of the transaction, evaluated before what is selected from them.
_ACQUIRE = f"SELECT pg_advisory_xact_lock(key) FROM {_LONGEST_PAUSE}, unnest($1::bigint[]) AS key"  # noqa: S608 - constants
_ACQUIRE_SOON = f"{_ACQUIRE}, set_config('lock_timeout', $2, true) AS soon"
# Not those whose names are locked: a row before the name would give the transaction its xid.
_SESSIONS = """\
SELECT s.id, s.tenant, s.session_id FROM unnest($1::text[], $2::text[]) AS wanted (tenant, session_id)
JOIN sessions AS s ON s.tenant = wanted.tenant AND s.session_id = wanted.session_id"""
_LOCKABLE = "SELECT id FROM sessions WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE SKIP LOCKED"


class PostgresLocks:
    """Advisory locks: those of rows give the transaction its xid."""

    def acquire(self, connection: sa.Connection, names: Collection[SessionName], *, wait_ms: int = 0) -> None:
        if wait_ms:
            connection.exec_driver_sql(_ACQUIRE_SOON, (self.keys(names), f"{wait_ms}ms"))
        else:
            connection.exec_driver_sql(_ACQUIRE, (self.keys(names),))

    def held(self, connection: sa.Connection, names: Collection[SessionName]) -> Collection[SessionName]:
        free = self.try_acquire(connection, names)
        pairs = list(map(list, zip(*free, strict=True))) if free else [[], []]
        sessions = {key: (tenant, name) for key, tenant, name in connection.exec_driver_sql(_SESSIONS, tuple(pairs))}
        lockable = set(connection.exec_driver_sql(_LOCKABLE, (list(sessions),)).scalars())
        return (set(names) - set(free)) | {name for key, name in sessions.items() if key not in lockable}

    def keys(self, names: Collection[SessionName]) -> Sequence[int]:
        # In one order, or two transactions could wait for each other.
        return sorted({_lock_key(name) for name in names})

    def try_acquire(
        self, connection: sa.Connection, names: Collection[SessionName], *, longest_pause_s: int = 0
    ) -> Collection[SessionName]:
        if longest_pause_s:
            connection.exec_driver_sql(_PAUSE, (f"{longest_pause_s}s",))
        keys = {name: _lock_key(name) for name in names}
        free = "SELECT key FROM unnest($1::bigint[]) AS key WHERE pg_try_advisory_xact_lock(key)"
        mine = set(connection.exec_driver_sql(free, (list(set(keys.values())),)).scalars())
        return {name for name, key in keys.items() if key in mine}


def _lock_key(name: SessionName) -> int:
    tenant, session_id = name
    digest = hashlib.blake2b(f"{len(tenant)}:{tenant}{session_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)
