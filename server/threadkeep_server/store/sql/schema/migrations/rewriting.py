"""Rewrites rows of large tables during a migration."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.sql import ColumnElement

T = TypeVar("T")

_log = logging.getLogger(__name__)

ROWS_AT_ONCE = 1000
BYTES_AT_ONCE = 16 << 20
REPORT_EVERY_S = 5.0


def rewrite(
    connection: Connection, table: sa.TableClause, encoded: ColumnElement[bytes], rewrite: Callable[[Connection, int, int], int]
) -> None:
    """Rewrites a table by ranges of ids, each row once: a rewritten row must not be rewritten again."""
    last = connection.execute(sa.select(sa.func.max(table.c.id))).scalar() or 0
    reported, rewritten = time.monotonic(), 0
    for after, through in _ranges(connection, table, encoded):
        rewritten += rewrite(connection, after, through)
        if time.monotonic() - reported >= REPORT_EVERY_S:
            reported = time.monotonic()
            _log.info("migrating: rewriting %s, row id %d of %d; the server starts afterwards", table.name, through, last)
    if rewritten:
        _log.info("migrated: rewrote %d rows of %s", rewritten, table.name)


def _ranges(connection: Connection, table: sa.TableClause, encoded: ColumnElement[bytes]) -> Iterator[tuple[int, int]]:
    """Yields ranges of ids, without their lower ends, each with as many rows as memory can hold."""
    after = 0
    ahead = sa.select(table.c.id, sa.func.length(encoded)).order_by(table.c.id).limit(ROWS_AT_ONCE)
    while rows := connection.execute(ahead.where(table.c.id > after)).all():
        size, through = 0, after
        for id_, length in rows:
            size += length
            if size > BYTES_AT_ONCE and through != after:
                break
            through = id_
        yield after, through
        after = through


def converted(row: int, convert: Callable[[], T], otherwise: T) -> T:
    """Leaves invalid encodings unchanged: they must not prevent the server from starting."""
    try:
        return convert()
    except ValueError as error:
        _log.warning("migrating: row %d is not valid and stays as it is: %s", row, error)
        return otherwise
