"""The rows of a database as text: one file per schema, for both engines. Written from SQLite, where a single writer makes every
xid 0; on PostgreSQL they are inserted by one transaction, whose xid the changes and the positions get."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from tests.migration import first_schema

FOLDER = Path(__file__).with_name("rows")
_XID = "pg_current_xact_id()::text::bigint"
_ONLY_META = ("schema_version", "oldest_code", "store_id")


class Rows(NamedTuple):
    """The rows of a table."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def column(self, name: str) -> list[Any]:
        return [row[self.columns.index(name)] for row in self.rows]


Stored = Mapping[str, Rows]
"""By table, in the order in which they are inserted."""


def path_of(schema: int) -> Path:
    return FOLDER / f"schema_{schema:02}.json"


def schemas() -> list[int]:
    """Returns the schemas that have a file."""
    return sorted(int(path.stem.rpartition("_")[2]) for path in FOLDER.glob("schema_*.json"))


def dumped(stored: Stored) -> str:
    """Returns the text of a file: one line per row."""
    tables = []
    for name, (columns, rows) in stored.items():
        lines = ",\n".join(f"  {json.dumps([_as_json(value) for value in row], ensure_ascii=False)}" for row in rows)
        tables.append(f" {json.dumps(name)}: [{json.dumps(list(columns))}, [\n{lines}\n ]]")
    return "{\n" + ",\n".join(tables) + "\n}\n"


@cache
def read(schema: int) -> Stored:
    found: dict[str, Any] = json.loads(path_of(schema).read_text())
    return {
        name: Rows(columns, [[_as_value(value) for value in row] for row in rows]) for name, (columns, rows) in found.items()
    }


def _as_json(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    return {"json": value.decode()} if value[:1] in (b"{", b"[") else {"hex": value.hex()}


def _as_value(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return value["json"].encode() if "json" in value else bytes.fromhex(value["hex"])


def columns_of(connection: Connection) -> dict[str, list[str]]:
    """Returns the columns of the tables of a SQLite database, without those that it derives."""
    tables = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid").scalars().all()
    return {
        name: [row.name for row in connection.exec_driver_sql(f"PRAGMA table_info({name})")]
        for name in tables
        if not name.startswith("sqlite_") and name != "alembic_version"
    }


def build(connection: Connection, schema: int) -> None:
    """Makes a database of the schema in an empty one, with the rows of its file."""
    first_schema.migrate(connection, f"{schema:04}")
    for name, rows in read(schema).items():
        if name in ("sqlite_sequence", "feed_floor"):
            continue
        if rows.rows:
            _insert(connection, name, rows)
    _end(connection, read(schema))


def _insert(connection: Connection, table: str, stored: Rows) -> None:
    postgres = connection.dialect.name == "postgresql"
    for row in stored.rows:
        values = dict(zip(stored.columns, row, strict=True))
        given = {f"p{n}": value for n, value in enumerate(values.values())}
        places = [_XID if postgres and _is_position(name, values) else f":p{n}" for n, name in enumerate(values)]
        names = ", ".join(f'"{name}"' for name in values)
        used = {name: value for name, value in given.items() if f":{name}" in places}
        connection.execute(sa.text(f"INSERT INTO {table} ({names}) VALUES ({', '.join(places)})"), used)


def _is_position(name: str, values: Mapping[str, Any]) -> bool:
    """Whether the column is the xid of a change, and not of the beginning of the feed."""
    changes = {"change_xid": "change_id", "moved_xid": "moved_change", "xid": "change" if "change" in values else "id"}
    return name in changes and bool(values[changes[name]])


def _end(connection: Connection, stored: Stored) -> None:
    """Sets the row that a migration made, and the next ids, which are not those of deleted rows."""
    if "feed_floor" in stored:
        assert stored["feed_floor"].rows == [[1, 0, 0]], "the feed has been trimmed"
        connection.exec_driver_sql("UPDATE feed_floor SET xid = 0, change = 0")
    for table, last in stored["sqlite_sequence"].rows:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
            connection.exec_driver_sql("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, last))
        else:
            key = "number" if table == "vector_models" else "id"
            connection.exec_driver_sql(f"SELECT setval(pg_get_serial_sequence('{table}', '{key}'), {last})")
