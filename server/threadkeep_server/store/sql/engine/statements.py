"""Statements compiled once and then run as strings.

Building a Core statement and finding it in SQLAlchemy's cache costs several times as much as running it on SQLite. So the
statements of appends and reads are compiled once per shape and then run with their parameters.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.selectable import SelectBase

from .base import Engine

Record = Any
"""A row: a named tuple of the statement's columns. Reading its fields costs a tenth of what SQLAlchemy's Row takes."""

ROWS_AT_ONCE = 256
"""Rows of a streamed result that are held at a time."""

# Filters of callers decide the number and the length of statements: both are limited.
_MOST_SHAPES = 1000
_MOST_CHARACTERS = 16 << 20


class Prepared:
    """A statement compiled for a connection's dialect. Its parameters are the named bindparams without a value."""

    def __init__(self, statement: ClauseElement, engine: Engine, connection: Connection) -> None:
        self._engine = engine
        # The engine decides the schema of the derived tables; a statement that runs as a string is not translated later.
        schemas = connection.get_execution_options().get("schema_translate_map")
        compiled = statement.compile(
            dialect=connection.dialect,
            schema_translate_map=schemas,
            render_schema_translate=schemas is not None,
            compile_kwargs={"render_postcompile": True},
        )
        self._sql = str(compiled)
        self.length = len(self._sql)
        names: Sequence[str] = compiled.positiontup  # type: ignore[attr-defined]
        fixed = {name: value for name, value in compiled.params.items() if value is not None}
        self._values = _picker(names, fixed)
        columns = statement.selected_columns.keys() if isinstance(statement, SelectBase) else []
        record: Any = namedtuple("Record", columns)  # type: ignore[misc]  # noqa: PYI024  columns vary by statement
        self._record = record._make

    def run(self, connection: Connection, params: Mapping[str, Any]) -> list[Record]:
        return list(map(self._record, self.rows(connection, params)))

    def rows(self, connection: Connection, params: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
        """Returns rows for unpacking: making a record of a row costs as much as reading it."""
        return self._engine.fetch(connection, self._sql, self._values(params))

    def stream(self, connection: Connection, params: Mapping[str, Any]) -> Iterator[Record]:
        """Yields records as they arrive, without holding them all."""
        options = {"yield_per": ROWS_AT_ONCE}
        yield from map(self._record, connection.exec_driver_sql(self._sql, self._values(params), execution_options=options))

    def run_many(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        self._engine.run_many(connection, self._sql, list(map(self._values, rows)))


def _picker(names: Sequence[str], fixed: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    """Returns a function from named parameters to positional ones."""
    if fixed or len(names) < 2:  # itemgetter returns a tuple for two names and more
        return lambda params: tuple([fixed[name] if name in fixed else params[name] for name in names])
    return itemgetter(*names)


class Statements:
    """The prepared statements of one database, by shape. Used by its threads at once: at worst one is compiled twice."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._prepared: dict[Hashable, Prepared] = {}
        self._characters = 0

    def get(self, shape: Hashable, connection: Connection, build: Callable[[], ClauseElement]) -> Prepared:
        prepared = self._prepared.get(shape)
        if prepared is None:
            prepared = Prepared(build(), self.engine, connection)
            self._keep(shape, prepared)
        return prepared

    def _keep(self, shape: Hashable, prepared: Prepared) -> None:
        if len(self._prepared) >= _MOST_SHAPES or self._characters + prepared.length > _MOST_CHARACTERS:
            self._prepared.clear()
            self._characters = 0
        self._prepared[shape] = prepared
        self._characters += prepared.length
