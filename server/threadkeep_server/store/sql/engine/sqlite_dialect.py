"""SQL of SQLite. One transaction writes at a time, and one server uses the file, so locks and notifications do nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache, partial
from itertools import chain, repeat
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, FromClause, Select
from sqlalchemy.sql import ColumnElement

from ..schema.tables import changes
from .base import SessionName, TableParameter

# Matches no row of a table parameter: no key is negative.
_NO_KEY = -1


class SqliteDialect:
    """Dialect of SQLite."""

    exclusive = no_changes = ""  # BEGIN IMMEDIATE
    # Never equal: a file and a copy of it look alike.
    mark = row_mark = "hex(randomblob(8))"
    # One writer: ids ascend in the order of the commits.
    change_order: tuple[sa.Column[Any], ...] = (changes.c.id,)

    def contains(self, column: ColumnElement[Any], folded: str) -> ColumnElement[bool]:
        return sa.func.instr(column, folded) > 0

    def in_list(self, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
        each = sa.func.json_each(sa.bindparam(name, type_=sa.Text)).table_valued("value")
        return column.in_(sa.select(each.c.value))

    def listed(self, values: Sequence[int] | Sequence[str]) -> Any:
        return json.dumps(list(values))

    def visible(self) -> ColumnElement[bool]:
        # One writer: committed rows sort before all later ones.
        return sa.true()

    def table(self, names: Sequence[str], rows: Sequence[Sequence[int]]) -> TableParameter:
        # Filled up to a power of two, so that few statements serve any number.
        size = 1 << (len(rows) - 1).bit_length()
        padded = chain(rows, repeat([_NO_KEY] * len(names), size - len(rows)))
        values = dict(zip(_numbered(tuple(names), size), chain.from_iterable(padded), strict=True))
        return TableParameter(size, values, partial(_values, tuple(names), size))

    def each(
        self, table: FromClause, columns: Sequence[ColumnElement[Any]], where: Sequence[ColumnElement[bool]]
    ) -> Select[Any]:
        (source,) = {column.table for column in columns if isinstance(column, sa.Column)}
        return sa.select(table.c[0], *columns).select_from(table.join(source, sa.and_(*where)))

    def by_code_point(self, column: ColumnElement[str]) -> ColumnElement[str]:
        return column


def _values(names: tuple[str, ...], size: int) -> FromClause:
    columns = [sa.column(name, BigInteger) for name in names]
    parameters = [sa.bindparam(name, type_=BigInteger) for name in _numbered(names, size)]
    rows = [tuple(parameters[start : start + len(names)]) for start in range(0, len(parameters), len(names))]
    return sa.values(*columns, name="given").data(rows).cte("given")


@lru_cache
def _numbered(names: tuple[str, ...], size: int) -> tuple[str, ...]:
    """Of the parameters of so many rows."""
    return tuple(f"{name}_{i}" for i in range(size) for name in names)


class NoLocks:
    """BEGIN IMMEDIATE is the lock."""

    def acquire(self, connection: sa.Connection, names: Collection[SessionName], *, wait_ms: int = 0) -> None:
        """Does nothing."""

    def held(self, connection: sa.Connection, names: Collection[SessionName]) -> Collection[SessionName]:
        return ()

    def keys(self, names: Collection[SessionName]) -> Sequence[int]:
        return []

    def try_acquire(
        self, connection: sa.Connection, names: Collection[SessionName], *, longest_pause_s: int = 0
    ) -> Collection[SessionName]:
        return names


class NoPeers:
    """No other server uses the file."""

    async def run(self, heard: Callable[[], None]) -> None:
        """Returns at once."""

    def announce(self) -> None:
        """Does nothing."""
