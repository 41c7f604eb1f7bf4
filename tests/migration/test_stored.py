"""Databases of every schema since the first, with data of every kind, are migrated: every read returns what was stored."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import pytest

from tests.migration.stored import later_steps, reads
from tests.migration.stored.databases import (
    CONTENT,
    ERASURES,
    FEED,
    FORKS,
    HISTORY,
    MOVES,
    PLAIN_TEXT,
    REMOVALS,
    Opened,
    databases,
    empty_database,
    opened,
    reference,
)
from tests.migration.stored.rows import read, schemas
from tests.migration.stored.story import START, TENANT, ref
from threadkeep_server.domain.model import SessionRef
from threadkeep_server.domain.removals import Operation
from threadkeep_server.store.contract.forks import ForkRequest
from threadkeep_server.store.contract.history import AsOf
from threadkeep_server.store.contract.moves import MoveRequest
from threadkeep_server.store.contract.removals import Pop, RemovalRequest
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.inmemory import InMemoryStore
from threadkeep_server.store.sql.schema.tables import SCHEMA_VERSION

NOT_TOLD = {"leases", "removals", "erased_ids", "unfinished_forks", "tenant_keys"}
"""The tables without rows: what is in them is in use for moments only, or needs a master key."""
_BY_SCHEMA = ("history", "feed")
"""Reads of which older schemas know less."""


@cache
def _reference(schema: int) -> InMemoryStore:
    return asyncio.run(reference(schema))


@cache
def expected(schema: int, name: str) -> Any:
    """Returns what was stored, as the reference returns it."""
    return asyncio.run(_read(_reference(schema), name))


async def _read(store: Store, name: str) -> Any:
    return await reads.READS[name](store)


@pytest.fixture(scope="module", params=databases(1, 8))
def database(request: pytest.FixtureRequest) -> tuple[str, int]:
    """An engine and a schema."""
    engine, schema = request.param
    return engine, schema


@pytest.fixture(scope="module")
def migrated(request: pytest.FixtureRequest, database: tuple[str, int]) -> Iterator[Opened]:
    """A store on a database that was made with this schema, for all reads."""
    with empty_database(request, database[0]) as url, opened(url, database[1]) as store:
        yield store


@pytest.mark.parametrize("name", [name for name in reads.READS if name not in _BY_SCHEMA])
def test_a_read_returns_what_was_stored(database: tuple[str, int], migrated: Opened, name: str) -> None:
    runner, store = migrated
    found, wanted = runner.run(_read(store, name)), expected(database[1], name)
    kept = _kept(database[1]) if name in ("compactions", "consumers") else set()
    assert _without(found, kept) == _without(wanted, kept)


def test_the_feed_has_the_changes_since_the_schema_that_stores_their_sessions(
    database: tuple[str, int], migrated: Opened
) -> None:
    runner, store = migrated
    found, wanted, kept = runner.run(_read(store, "feed")), expected(database[1], "feed"), _kept(database[1])
    assert _without(found, kept) == (_without(wanted, kept) if database[1] >= FEED else [])


def test_a_session_is_read_as_of_every_moment_that_is_known(database: tuple[str, int], migrated: Opened) -> None:
    """Older schemas know it since the last compaction; those whose feed has no states of sessions, since the migration."""
    runner, store = migrated
    schema, known = database[1], dict[SessionRef, int]()
    if schema < HISTORY:
        for session, _ in expected(schema, "sessions")[0]:
            known[session.ref] = session.log_version if schema < FEED else 0
        for of, records in expected(schema, "compactions")[0] if schema >= FEED else ():
            known[of] = max((each.log_version for each in records), default=0)
    wanted = expected(schema, "history")
    for (of, version), found in runner.run(_read(store, "history")).items():
        unknown = 0 < version < known.get(of, 0)
        assert found == (reads.UNKNOWN if unknown else wanted[of, version]), (of, version)


def test_a_request_of_before_the_migration_is_known(database: tuple[str, int], migrated: Opened) -> None:
    runner, store = migrated
    replayed = runner.run(_repeat(store, database[1]))
    assert replayed == runner.run(_repeat(_reference(database[1]), database[1]))
    assert len(replayed) == sum(since <= database[1] for since in (ERASURES, REMOVALS, FORKS, MOVES))
    if database[1] >= ERASURES:
        assert replayed[0].events == 4


async def _repeat(store: Store, schema: int) -> list[Any]:
    """Repeats the requests that the store remembers, and changes nothing."""
    found: list[Any] = []
    if schema >= ERASURES:
        found.append(await store.erase(later_steps.erasure(), 60))
    if schema >= REMOVALS:
        request = RemovalRequest(TENANT, ref("r1"), START, Pop(2), operation=later_steps.POPPED)
        again = await store.remove(request)
        assert again.replayed
        found.append((again.outcome, [event.seq for event in again.events]))
    if schema >= FORKS:
        name = Operation("fork to f1", b"fork")
        fork = await store.fork(ForkRequest(TENANT, ref("c1"), "f1", "other uid", START, name, AsOf(seq=8, prefix="at_")))
        assert fork.replayed
        found.append(fork.session)
    if schema >= MOVES:
        moved = await store.move_session(MoveRequest(TENANT, ref("m1"), "bob", START, later_steps.MOVED))
        assert moved.replayed
        found.append(moved.session)
    return found


def test_the_newest_rows_are_of_every_table() -> None:
    empty = {name for name, (_, rows) in read(schemas()[-1]).items() if not rows}
    assert empty == NOT_TOLD


def _kept(schema: int) -> set[str]:
    """Returns the fields of records that keep what they were in the schema: window sizes in the old form of texts, and the
    content of windows, which was not known."""
    return ({"bytes", "window_bytes"} if schema < PLAIN_TEXT else set()) | ({"content_bytes"} if schema < CONTENT else set())


def _without(value: Any, names: set[str]) -> Any:
    """Returns the value without these fields."""
    if not names:
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return _without({each.name: getattr(value, each.name) for each in fields(value)}, names)
    if isinstance(value, dict):
        return {name: _without(each, names) for name, each in value.items() if name not in names}
    return [_without(each, names) for each in value] if isinstance(value, list | tuple) else value


def test_every_earlier_schema_has_rows() -> None:
    """Without them, run `python -m tests.migration.stored.writing` where the schema is not increased yet."""
    assert schemas() == list(range(2, SCHEMA_VERSION)), "the first schema is that of first_schema.py"
