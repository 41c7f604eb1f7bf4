"""Reads tables in the order of a key, side by side, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sqlalchemy import Connection, Row, Select

_AT_ONCE: Final = 50
"""Rows of a table in memory. Events are up to a few MiB."""


class Stream:
    """The rows of a query that is ordered by the column `key` first. Rows of a key are taken before those of a greater one."""

    def __init__(self, connection: Connection, query: Select[Any], key: str = "session") -> None:
        rows = connection.execution_options(yield_per=_AT_ONCE).execute(query)
        self._rows: Iterator[Row[Any]] = iter(rows)
        self._key = key
        self._next = next(self._rows, None)

    def before(self, key: int | None) -> Iterator[Row[Any]]:
        """Yields the rows with a smaller key; None: all that are left."""
        while self._next is not None and (key is None or getattr(self._next, self._key) < key):
            yield self._taken(self._next)

    def of(self, key: int) -> Iterator[Row[Any]]:
        """Yields the rows with this key, after `before` was exhausted."""
        while self._next is not None and getattr(self._next, self._key) == key:
            yield self._taken(self._next)

    def _taken(self, row: Row[Any]) -> Row[Any]:
        self._next = next(self._rows, None)
        return row


class Seen:
    """Which of the numbers 1 to `last` were seen, in a bit each."""

    def __init__(self, last: int) -> None:
        self._bits = bytearray((last >> 3) + 1)
        self._last = last

    def add(self, number: int) -> bool:
        """Returns whether the number is in the range and is new."""
        if not 1 <= number <= self._last:
            return False
        place, bit = number >> 3, 1 << (number & 7)
        new = not self._bits[place] & bit
        self._bits[place] |= bit
        return new

    def missing(self) -> Iterator[int]:
        return (number for number in range(1, self._last + 1) if not self._bits[number >> 3] & 1 << (number & 7))
