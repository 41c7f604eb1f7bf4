"""The approximate indexes of pgvector: one for each part of the vectors that is large enough to need it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql
from sqlalchemy.sql import ColumnElement

from ...contract.vectors import Floats, Source
from .pgvector_tables import COPIES, as_indexed, given, parameter

# Candidates that a search keeps: enough to find on average more than 9.5 of the ten nearest vectors, even for random vectors,
# which are the hardest.
_LEAST_IN_SIGHT, _MOST_IN_SIGHT = 400, 1000
# pgvector's defaults are 16 and 64, which suffice for vectors of texts.
_BUILT_WITH = "m = 16, ef_construction = 100"


class Part(NamedTuple):
    """The vectors by a model that have a value in a column: the content of an index."""

    source: Source
    column: str
    value: int | str
    model: int
    dimension: int

    @property
    def table(self) -> Table:
        return COPIES[self.source]

    @property
    def conditions(self) -> Sequence[ColumnElement[bool]]:
        return (self.table.c[self.column] == self.value, self.table.c.model == self.model)

    @property
    def literally(self) -> Sequence[ColumnElement[bool]]:
        """The conditions with their values in the statement: no partial index is chosen for a parameter."""
        column = self.table.c[self.column]
        return (
            column == sa.literal(self.value, column.type, literal_execute=True),
            self.table.c.model == sa.literal(self.model, literal_execute=True),
        )

    @property
    def index_name(self) -> str:
        """The name of its index."""
        digest = hashlib.blake2b(f"{self.column} {self.value}".encode(), digest_size=8).hexdigest()
        return f"{_prefix(self.source)}{self.model}_{digest}"


def _prefix(source: Source) -> str:
    return f"{COPIES[source].name}_near_"


def search(
    connection: Connection, part: Part, others: Sequence[ColumnElement[bool]], vector: Floats, limit: int
) -> list[tuple[int, float]]:
    """Searches by the part's index, in a transaction."""
    embedding, type_ = part.table.c.embedding, as_indexed(part.dimension)
    assert type_ is not None  # noqa: S101 - or there were no index
    settings = {
        "hnsw.ef_search": str(min(max(_LEAST_IN_SIGHT, 2 * limit), _MOST_IN_SIGHT)),
        "hnsw.iterative_scan": "relaxed_order",
        # The planner knows next to nothing of vectors.
        **dict.fromkeys(("enable_seqscan", "enable_bitmapscan", "enable_sort"), "off"),
    }
    connection.execute(sa.select(*(sa.func.set_config(name, value, True) for name, value in settings.items())))
    ahead = sa.cast(embedding, type_).op("<=>")(sa.cast(given(), type_))
    cosine = 1 - embedding.op("<=>", return_type=sa.Float)(given())
    query = sa.select(part.table.c.id, cosine.label("cosine")).where(*part.literally, *others).order_by(ahead).limit(limit)
    return [(row.id, row.cosine) for row in connection.execute(query, {"vector": parameter(vector)})]


def make(connection: Connection, part: Part) -> bool:
    """Creates the part's index, concurrently with writers, and drops those of other models; outside any transaction. Returns
    whether it exists: not while another server is at work on the table, for two that do so at once wait for each other. After
    an error the connection must end, and the lock with it."""
    lock = sa.func.hashtextextended(part.table.name, 0)
    if not connection.execute(sa.select(sa.func.pg_try_advisory_lock(lock))).scalar_one():
        return False
    valid = _indexes(connection, part.source)
    if not valid.get(part.index_name, True):
        _drop(connection, part.index_name)  # its creator was interrupted
    if not valid.get(part.index_name, False):
        connection.exec_driver_sql(_creation(part))
    for name in valid:
        if not name.startswith(f"{_prefix(part.source)}{part.model}_"):
            _drop(connection, name)
    connection.execute(sa.select(sa.func.pg_advisory_unlock(lock)))
    return True


def _indexes(connection: Connection, source: Source) -> dict[str, bool]:
    """Returns the approximate indexes, and whether each can be used."""
    found = sa.text(
        "SELECT relname, indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid "
        "WHERE indrelid = CAST(:table AS regclass) AND starts_with(relname, :prefix)"
    )
    values = {"table": COPIES[source].name, "prefix": _prefix(source)}
    return {row.relname: row.indisvalid for row in connection.execute(found, values)}


def _creation(part: Part) -> str:
    type_ = as_indexed(part.dimension)
    assert type_ is not None  # noqa: S101 - see search
    values: dict[str, Any] = {"compile_kwargs": {"literal_binds": True}, "dialect": postgresql.dialect()}  # type: ignore[no-untyped-call]
    where = " AND ".join(str(condition.compile(**values)) for condition in part.conditions)
    column = f"(CAST(embedding AS {type_.get_col_spec()})) {type_.name}_cosine_ops"
    using = f"USING hnsw ({column}) WITH ({_BUILT_WITH})"
    return f"CREATE INDEX CONCURRENTLY {part.index_name} ON {part.table.name} {using} WHERE {where}"


def _drop(connection: Connection, name: str) -> None:
    connection.exec_driver_sql(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
