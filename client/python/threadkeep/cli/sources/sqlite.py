"""SQLite, with the standard library."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from .database import Row, SourceError, quoted

MAGIC = b"SQLite format 3\0"
_AT_ONCE = 200
_PATIENCE_SECONDS = 30.0


class SqliteDatabase:
    """A file of SQLite, which is only read. It may be in use: each statement sees what is committed when it begins."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = str(path)
        self._tables: dict[str, frozenset[str]] = {}
        with self._explained():
            address = f"file:{quote(str(path.resolve()))}?mode=ro"
            self._connection = sqlite3.connect(address, uri=True, timeout=_PATIENCE_SECONDS)
            self._connection.text_factory = _text

    def tables(self) -> Mapping[str, AbstractSet[str]]:
        if not self._tables:
            names = [row[0] for row in self.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
            columns = "SELECT name FROM pragma_table_info(?)"
            self._tables = {name: frozenset(row[0] for row in self.rows(columns, name)) for name in names}
        return self._tables

    def referenced(self, table: str) -> str | None:
        for row in self.rows(f"PRAGMA foreign_key_list({quoted(table)})"):
            return str(row[2])
        return None

    def rows(self, statement: str, *values: object) -> Iterator[Row]:
        with self._explained(), closing(self._connection.execute(statement, values)) as found:
            while some := found.fetchmany(_AT_ONCE):
                yield from some

    def size(self) -> int:
        return self._path.stat().st_size

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise SourceError(f"SQLite: {error}") from error


def _text(raw: bytes) -> str | bytes:
    """Text; bytes if it is not UTF-8, so that one damaged row does not end the reading of its table."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw
