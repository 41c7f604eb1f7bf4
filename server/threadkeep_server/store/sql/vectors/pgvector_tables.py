"""The tables of pgvector: a copy of each stored vector in the extension's own type. They are created where the extension is
available, and never migrated: missing rows are copied again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, MetaData, Table, Text
from sqlalchemy.dialects.postgresql import ARRAY, REAL
from sqlalchemy.sql import ColumnElement
from sqlalchemy.types import UserDefinedType

from ...contract.vectors import Floats, Source
from ..schema.memories import memory_vectors
from .tables import event_vectors

copies = MetaData()

MOST_DIMENSIONS = 16_000
"""The number of dimensions of a `vector`."""
_MOST_INDEXED, _MOST_HALVES_INDEXED = 2_000, 4_000


class Vector(UserDefinedType[Any]):
    """The extension's type: `vector`, or `halfvec` of half the precision; of one dimension or (0) of any."""

    cache_ok = True

    def __init__(self, dimension: int = 0, name: str = "vector") -> None:
        self.dimension = dimension
        self.name = name

    def get_col_spec(self, **_: Any) -> str:
        return f"{self.name}({self.dimension})" if self.dimension else self.name


def as_indexed(dimension: int) -> Vector | None:
    """Returns the type for an approximate index of so many dimensions; None: there is none."""
    if dimension <= _MOST_INDEXED:
        return Vector(dimension)
    return Vector(dimension, "halfvec") if dimension <= _MOST_HALVES_INDEXED else None


def given(name: str = "vector") -> ColumnElement[Any]:
    """A vector that is a parameter: see `parameter`."""
    return sa.cast(sa.bindparam(name, type_=ARRAY(REAL)), Vector())


def parameter(vector: Floats) -> list[float]:
    return [float(number) for number in vector]


def _goes_with(column: Column[Any]) -> Column[int]:
    return Column("id", BigInteger, ForeignKey(column, ondelete="CASCADE"), primary_key=True, autoincrement=False)


# Scopes as in the tables of vectors.
event_copies = Table(
    "event_vector_copies",
    copies,
    _goes_with(event_vectors.c.id),
    Column("scope", BigInteger, nullable=False),
    Column("app", BigInteger, nullable=False),
    Column("session", BigInteger, nullable=False),
    Column("model", Integer, nullable=False),
    Column("embedding", Vector(), nullable=False),
    *(Index(f"event_vector_copies_{name}", name, "model") for name in ("scope", "app", "session")),
)

memory_copies = Table(
    "memory_vector_copies",
    copies,
    _goes_with(memory_vectors.c.id),
    Column("scope", Text, nullable=False),
    Column("model", Integer, nullable=False),
    Column("embedding", Vector(), nullable=False),
    Index("memory_vector_copies_scope", "scope", "model"),
)

COPIES: Mapping[Source, Table] = {Source.EVENTS: event_copies, Source.MEMORIES: memory_copies}
STORED: Mapping[Source, Table] = {Source.EVENTS: event_vectors, Source.MEMORIES: memory_vectors}
