"""FTS5 tables. Deleted terms stay in a table's segments until these are merged with the segment that notes the deletion."""

from __future__ import annotations

from sqlalchemy import Connection

_PAGES_AT_ONCE = 256
"""About a megabyte: some milliseconds."""


class Fts5Table:
    """`file`: the schema of its database file."""

    def __init__(self, file: str, name: str) -> None:
        self._merge = f"INSERT INTO {file}.{name} ({name}, rank) VALUES ('merge', ?)"  # noqa: S608 - constants

    def merge(self, connection: Connection, *, begin: bool) -> bool:
        """Merges a part of the segments. `begin`: all that exist now are to become one. Returns whether more is left."""
        before = _changes(connection)
        # A negative number begins to merge all segments; a positive one continues.
        connection.exec_driver_sql(self._merge, (-_PAGES_AT_ONCE if begin else _PAGES_AT_ONCE,))
        return _changes(connection) - before >= 2


def _changes(connection: Connection) -> int:
    return int(connection.exec_driver_sql("SELECT total_changes()").scalar_one())
