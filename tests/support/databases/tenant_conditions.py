"""Checks that every statement of a unit for one tenant names the tenant, or rows by their key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from threadkeep_server.store.sql.engine.sqlite_driver import driver
from threadkeep_server.store.sql.schema.row_security import conditions
from threadkeep_server.store.sql.store import SqlStore

_TABLES = frozenset(table.name for table in conditions())
# A quote in a literal is written twice, which ends one match and begins the next: much faster than a pattern with both cases.
_LITERAL = re.compile(r"'[^']*'")
_USED = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE)\s+\"?(\w+)")
_NAMED = re.compile(r"\btenant\b")
# Keys come from statements that named the tenant, or from a session that the server remembers by its tenant and name.
_BY_KEY = re.compile(
    r"\b(?:id|session|consumer|erasure|(?:state_totals|state_values|past_values)\.owner)\b\s*(?:=|IN\b|BETWEEN\b)"
)
_INSERTED = re.compile(r"\AINSERT\b[^()]*\([^()]*\b(?:session|consumer|erasure|owner)\b")
# How far the search indexes have got. They read no data.
_PROGRESS = re.compile(r"\ASELECT (?:EXISTS \(SELECT changes\.id|\(SELECT min\(memories\.analyzer\))")


def is_bounded(sql: str) -> bool:
    """Reports whether the statement uses no table with rows of tenants, or names the tenant or the keys of rows."""
    text = _LITERAL.sub("?", sql)
    if not _TABLES.intersection(_USED.findall(text)):
        return True
    return bool(_PROGRESS.match(text) or _NAMED.search(text) or _BY_KEY.search(text) or _INSERTED.match(text))


@contextmanager
def checked_statements(store: SqlStore) -> Iterator[None]:
    """Fails at the end if a unit for one tenant ran another statement. For SQLite."""
    unbounded: list[str] = []
    engine: Any = store._engine

    def note(sql: str) -> None:
        if not is_bounded(sql):
            unbounded.append(sql)

    def traced(run: Any) -> Any:
        async def run_traced(unit: Any, *, tenants: Any = None, **options: Any) -> Any:
            def watched(connection: sa.Connection) -> Any:
                driver(connection).set_trace_callback(note)
                try:
                    return unit(connection)
                finally:
                    driver(connection).set_trace_callback(None)

            return await run(unit if tenants is None else watched, tenants=tenants, **options)

        return run_traced

    engine.read, engine.write = traced(engine.read), traced(engine.write)
    yield
    assert not unbounded, f"these statements name neither a tenant nor keys: {unbounded[:3]}"
