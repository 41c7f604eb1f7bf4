"""A database to read, of either kind, and the values of its columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import Any, Protocol

from google.protobuf.timestamp_pb2 import Timestamp

from ...formats.openai import shown
from ..formats.items import FieldError

Row = tuple[Any, ...]


class SourceError(Exception):
    """A source cannot be read, or not any further."""


class Database(Protocol):
    """A database, read row by row. Parameters of statements are `?`. Raises SourceError."""

    @property
    def name(self) -> str:
        """Its name in messages, without a password."""

    def tables(self) -> Mapping[str, AbstractSet[str]]:
        """The names of the columns of each table that a statement can name without its schema."""

    def referenced(self, table: str) -> str | None:
        """The table that the first foreign key of a table refers to."""

    def rows(self, statement: str, *values: object) -> Iterator[Row]:
        """The rows of a SELECT. Large results are not held in memory."""

    def size(self) -> int:
        """Bytes of the database, for the progress."""

    def close(self) -> None:
        """Ends the connection."""


def one(database: Database, statement: str, *values: object) -> Any:
    """The value of a SELECT of one value; None without a row."""
    for row in database.rows(statement, *values):
        return row[0]
    return None


def following(database: Database, column: str, tables: tuple[str, ...]) -> Iterator[str]:
    """The distinct values of an indexed text column of some tables, in order; each is found by one look-up in the index."""
    value = one(database, *_least(column, tables, ">=", ""))
    while value is not None:
        yield value
        value = one(database, *_least(column, tables, ">", value))


def _least(column: str, tables: tuple[str, ...], comparison: str, value: str) -> tuple[str, ...]:
    each = [f"SELECT min({column}) AS found FROM {quoted(table)} WHERE {column} {comparison} ?" for table in tables]  # noqa: S608
    return (f"SELECT min(found) FROM ({' UNION ALL '.join(each)}) AS least", *[value] * len(tables))  # noqa: S608


def quoted(name: str) -> str:
    """A name of a table in a statement."""
    return '"' + name.replace('"', '""') + '"'


def json_object(text: object, field: str) -> dict[str, Any]:
    """The JSON object of a column. NaN and infinities, which are no JSON, become text. Raises FieldError."""
    if not isinstance(text, (str, bytes)):
        raise FieldError(field, f"must be JSON text; it is {'NULL' if text is None else type(text).__name__}")
    try:
        value = json.loads(text)
    except UnicodeDecodeError:
        raise FieldError(field, "not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise FieldError(field, f"not valid JSON: {error.msg} (column {error.colno:,})") from None
    except RecursionError:
        raise FieldError(field, "not readable JSON: nested too deeply") from None
    if not isinstance(value, dict):
        raise FieldError(field, f"must be an object; it is {shown(value)}")
    return value


def time_of(value: object, field: str) -> Timestamp | None:
    """The time of a column: seconds since the epoch, or a date and time, by default of UTC. Raises FieldError."""
    if value is None:
        return None
    found = Timestamp()
    try:
        if isinstance(value, (int, float)):
            found.FromNanoseconds(int(value) * 1_000_000_000 + round((value - int(value)) * 1_000_000) * 1000)
            return found
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        found.FromDatetime(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise FieldError(field, f"must be a time; it is {shown(str(value))}") from None
    return found
