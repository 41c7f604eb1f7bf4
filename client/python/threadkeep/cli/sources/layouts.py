"""The tables of frameworks that a database may have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from ..formats import Item, ReadOptions
from . import adk, langgraph, openai_agents
from .database import Database, SourceError, one, quoted

DATABASE_FORMATS = (adk.FORMAT, openai_agents.FORMAT, langgraph.FORMAT)
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Layout:
    """The tables of a framework. `counted`: those whose rows become events, for the progress."""

    format: str
    counted: tuple[str, ...]
    read: Callable[[Database, ReadOptions], Iterator[Item]]


def layouts_of(database: Database, form: str | None) -> list[Layout]:
    """The layouts that a database has, or the one of a format. Raises SourceError if there is none."""
    found = [each for each in _known(database, form) if form in (None, each.format)]
    if not found:
        wanted = " or ".join(DATABASE_FORMATS) if form is None else form
        tables = sorted(database.tables())
        more = ", ..." if len(tables) > _SHOWN else ""
        raise SourceError(f"it has no tables of {wanted}; it has {', '.join(tables[:_SHOWN]) + more or 'no tables'}")
    return found


def rows_of(database: Database, layout: Layout) -> int:
    """The number of rows that become events."""
    return sum(one(database, f"SELECT count(*) FROM {quoted(table)}") for table in layout.counted)  # noqa: S608


def _known(database: Database, form: str | None) -> Iterator[Layout]:
    if form in (None, adk.FORMAT) and adk.found(database):
        yield Layout(adk.FORMAT, adk.COUNTED, adk.read)
    for tables in openai_agents.found(database):
        yield Layout(openai_agents.FORMAT, (tables.messages,), partial(openai_agents.read, tables))
    if kept := langgraph.found(database):
        yield Layout(langgraph.FORMAT, kept.counted, partial(langgraph.read, kept))
