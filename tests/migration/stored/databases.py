"""Stores on databases that were made with an earlier schema, and the reference with the same story."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any

import pytest

from tests.store.engines.slices import emptied
from tests.support.codec import CODEC
from tests.support.databases.migrated import FILE
from tests.support.databases.postgres import PostgresCluster
from tests.support.databases.scratch import scratch_folder
from tests.support.runs.thoroughness import some
from threadkeep_server.store.inmemory import InMemoryStore
from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.engine.factory import open_engine
from threadkeep_server.store.sql.log.slices.archivings import archivings, listed
from threadkeep_server.store.sql.schema.removals import erased_events, log_erasures
from threadkeep_server.store.sql.store import SqlStore, open_store

from .rows import build, schemas
from .story import START
from .telling import tell

FEED, PLAIN_TEXT, ERASURES, HISTORY, REMOVALS, CONTENT, FORKS, MOVES = 3, 5, 9, 12, 13, 16, 17, 18
"""The first schemas with these."""
LEFT = (archivings, listed, log_erasures, erased_events)
"""The tables of work that a server does behind its answers."""
MARKS = {"sqlite": [], "postgresql": [pytest.mark.postgres]}
Opened = tuple[asyncio.Runner, SqlStore]
_numbers = count(1)


def databases(sqlite: int, postgres: int) -> list[Any]:
    """Returns the parameters of tests: an engine and a schema. In the short form one schema in so many."""
    both = [("sqlite", schema) for schema in some(schemas(), sqlite)]
    both += [("postgresql", schema) for schema in some(schemas(), postgres)]
    return [pytest.param(each, marks=MARKS[each[0]], id=f"{each[0]}-{each[1]}") for each in both]


@contextmanager
def empty_database(request: pytest.FixtureRequest, engine: str) -> Iterator[str]:
    """The URL of an empty database."""
    if engine == "sqlite":
        with scratch_folder() as folder:
            yield f"sqlite:///{folder / FILE}"
        return
    cluster: PostgresCluster = request.getfixturevalue("postgres")
    name = f"stored_{next(_numbers)}"
    yield cluster.create_database(name)
    cluster.drop_database(name)


async def make(url: str, schema: int) -> None:
    """Makes a database of the schema in an empty one, with its rows."""
    engine = open_engine(url, SqlOptions())
    try:
        await engine.write(partial(build, schema=schema))
    finally:
        await engine.aclose()


@contextmanager
def opened(url: str, schema: int) -> Iterator[Opened]:
    """A store on a database with the rows of the schema, which it migrates; it has finished what a server left."""
    with asyncio.Runner() as runner:
        runner.run(make(url, schema))
        store = open_store(url, CODEC, clock=lambda: START)
        entered = runner.run(store.__aenter__())
        try:
            for table in LEFT:
                runner.run(emptied(entered, table))
            yield runner, entered
        finally:
            runner.run(store.__aexit__(None, None, None))


async def reference(schema: int) -> InMemoryStore:
    store = InMemoryStore(CODEC, lambda: START)
    await tell(store, schema)
    return store
