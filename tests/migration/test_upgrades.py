"""Databases of other versions: the first schema with data, newer schemas, and several servers that start at once."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import create_async_engine

from tests.support.codec import CODEC, draft, parse, texts
from tests.support.databases.migrated import FILE
from tests.support.databases.scratch import scratch_folder
from tests.support.databases.template_databases import Copies
from tests.support.runs.thoroughness import size, some
from threadkeep_server.domain.context import ContextSpec
from threadkeep_server.domain.errors import HistoryUnknown, SessionNotFound
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.model import SECOND_NS, NewSession, SessionRef, Usage
from threadkeep_server.domain.removals import Operation
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.store.contract.compaction import CompactionRequest
from threadkeep_server.store.contract.events import AppendRequest, EventQuery
from threadkeep_server.store.contract.history import AsOf
from threadkeep_server.store.contract.moves import MoveRequest
from threadkeep_server.store.contract.search import SearchQuery
from threadkeep_server.store.contract.sessions import SessionQuery
from threadkeep_server.store.sql.engine.base import Engine, SqlOptions
from threadkeep_server.store.sql.engine.factory import open_engine
from threadkeep_server.store.sql.engine.sqlite_lock import DatabaseInUse
from threadkeep_server.store.sql.schema import versions
from threadkeep_server.store.sql.schema.foreign import ForeignDatabase
from threadkeep_server.store.sql.schema.history import window_changes
from threadkeep_server.store.sql.schema.migrations.versions import r0012_history
from threadkeep_server.store.sql.schema.servers import NOW, OlderServersRun, servers
from threadkeep_server.store.sql.schema.tables import SCHEMA_VERSION, changes, events, feed_floor, meta
from threadkeep_server.store.sql.schema.versions import SchemaTooNew, current, upgrade
from threadkeep_server.store.sql.store import SqlStore, open_store

from . import first_schema

ALICE, BOB = SessionRef("shop", "alice", "s1"), SessionRef("shop", "bob", "s2")


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Engine]:
    engine = open_engine(url, SqlOptions())
    try:
        yield engine
    finally:
        await engine.aclose()


async def _set(url: str, **values: str) -> None:
    def unit(connection: Connection) -> None:
        for key, value in values.items():
            connection.execute(sa.update(meta).where(meta.c.key == key).values(value=value))

    async with opened(url) as engine:
        await engine.write(unit)


async def _migrate(url: str, schema: int) -> None:
    """Makes a database of the first schema with data, migrates it to this schema, and then with a store to the newest."""
    async with opened(url) as engine:
        await engine.write(first_schema.build)
        if schema > 1:
            await engine.write(lambda connection: first_schema.upgrade(connection, schema))
    async with open_store(url, CODEC):
        pass


@pytest.fixture(scope="module", params=some(range(1, SCHEMA_VERSION), 8))
def schema(request: pytest.FixtureRequest) -> int:
    """The schema between the first and the newest at which the migration paused."""
    return int(request.param)


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def migrated(request: pytest.FixtureRequest, schema: int) -> Iterator[Callable[[], AbstractContextManager[str]]]:
    """Makes copies of one migrated database: migrating takes longer than what is then tested."""
    if request.param == "postgresql":
        copies = Copies(request.getfixturevalue("postgres"), f"schema_{schema}", partial(_migrate, schema=schema))
        yield copies.one
        return
    with scratch_folder() as folder:
        asyncio.run(_migrate(f"sqlite:///{folder / FILE}", schema))
        yield partial(_copied, folder)


@contextmanager
def _copied(folder: Path) -> Iterator[str]:
    with scratch_folder() as copy:
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        yield f"sqlite:///{copy / FILE}"


@pytest.fixture
def first(migrated: Callable[[], AbstractContextManager[str]]) -> Iterator[str]:
    """A database of the first schema with data, migrated to a later schema and then to the newest."""
    with migrated() as url:
        yield url


async def test_sessions_of_the_first_schema_are_read(first: str) -> None:
    async with open_store(first, CODEC) as store:
        info = await store.info("default", totals=True)
        assert info.store_id == first_schema.STORE_ID
        assert info.schema_version == SCHEMA_VERSION
        assert info.totals is not None
        assert (info.totals.sessions, info.totals.events) == (2, 3)
        alice, bob = await store.get_session("default", ALICE), await store.get_session("default", BOB)
        assert (alice.uid, alice.create_time, alice.expire_time) == ("u-1", 1_700_000_000_000_000_001, None)
        assert (alice.metadata_json, alice.labels) == ('{"topic": "shoes"}', {"tier": "gold"})
        assert (alice.log_version, alice.last_seq, alice.window.events, alice.window.turns) == (2, 3, 3, 1)
        assert alice.window.bytes == sum(size for size, _ in first_schema.PLAIN_BODIES.values())
        assert alice.content_bytes == alice.window.bytes, "the content of old events is not known"
        assert alice.usage == Usage(5, 7, 12, 0, 0)
        assert bob.expire_time == 4_000_000_000_000_000_000
        found = await store.list_sessions("default", SessionQuery(labels={"tier": "gold"}))
        assert [session.ref for session in found.sessions] == [ALICE]


async def test_events_of_the_first_schema_are_read_in_the_current_form(first: str) -> None:
    async with open_store(first, CODEC) as store:
        events = (await store.list_events("default", ALICE, EventQuery())).events
        assert [event.body.hex() for event in events] == [body for _, body in first_schema.PLAIN_BODIES.values()]
        assert texts(events) == list(first_schema.TEXTS.values())
        second = parse(await store.get_event("default", ALICE, "e2"))
        assert (second.seq, second.author, second.message.parts[1].tool_call.arguments_json) == (2, "seller", '{"size": 42.0}')
        branch = EventQuery(filter=EventFilter(branch="other"))
        assert texts((await store.list_events("default", ALICE, branch)).events) == list(first_schema.TEXTS.values())[:2]


async def test_logs_of_the_first_schema_accept_appends(first: str) -> None:
    async with open_store(first, CODEC) as store:
        size, body = first_schema.PLAIN_BODIES["e1"]
        replay = draft(first_schema.TEXTS["e1"], event_id="e1")
        assert replay.body == bytes.fromhex(body)[:size]
        request = AppendRequest("default", ALICE, [replay, draft("more", event_id="e4")], now=1_800_000_000_000_000_000)
        appended = await store.append(request)
        assert [(event.seq, event.replayed) for event in appended.events] == [(1, True), (4, False)]
        assert appended.log_version == 3
        assert (await store.append(AppendRequest("default", BOB, [draft("hello")], now=1))).last_seq == 1


async def test_a_session_of_the_first_schema_is_moved(first: str) -> None:
    carols = ALICE._replace(user_id="carol")
    async with open_store(first, CODEC) as store:
        await store.append(AppendRequest("default", ALICE, [draft("late")], 1_700_000_400_000_000_000))
        done = await store.move_session(MoveRequest("default", ALICE, "carol", 1_700_000_500_000_000_000, Operation("m", b"")))
        assert (done.session.ref, done.session.last_seq, done.session.moved) == (carols, 4, True)
        with pytest.raises(SessionNotFound):
            await store.append(AppendRequest("default", ALICE, [draft("lost")], 1_700_000_600_000_000_000))
        appended = await store.append(AppendRequest("default", carols, [draft("more")], 1_700_000_600_000_000_000))
        assert appended.last_seq == 5
        for user_id, count in (("alice", 0), ("carol", 1)):
            page = await store.search("default", SearchQuery(UserScope(user_id), EventFilter(keyword="red shoes")))
            assert len(page.hits) == count


async def test_the_history_of_a_session_of_an_older_schema_begins_with_the_migration(first: str) -> None:
    async with open_store(first, CODEC) as store:
        await store.append(AppendRequest("default", ALICE, [draft("more", event_id="e4")], now=7))
        request = CompactionRequest("default", ALICE, "c1", 8, ["e1", "e2"], {}, None)
        await store.compact(request)

        async def shown(as_of: AsOf) -> tuple[list[str], int, int]:
            page = await store.get_context("default", ALICE, ContextSpec(), 1 << 40, as_of)
            listed = await store.list_events("default", ALICE, EventQuery(EventFilter(exclude_archived=True), as_of=as_of))
            assert texts(listed.events) == texts(page.events)
            assert (page.versions.window.events, listed.last_seq) == (len(page.events), page.versions.last_seq)
            return texts(page.events), page.versions.last_seq, page.versions.window_version

        old = list(first_schema.TEXTS.values())
        assert await shown(AsOf(log_version=0)) == ([], 0, 0)
        assert await shown(AsOf(log_version=2)) == (old, 3, 0)
        assert await shown(AsOf(log_version=3)) == await shown(AsOf(seq=4)) == ([*old, "more"], 4, 0)
        assert await shown(AsOf(log_version=4)) == ([old[2], "more"], 4, 1)
        for unknown in (AsOf(log_version=1), AsOf(seq=1), AsOf(seq=3)):
            with pytest.raises(HistoryUnknown) as caught:
                await shown(unknown)
            assert caught.value.metadata == {"session_id": "s1", "from_log_version": "2"}


async def test_what_the_feed_has_kept_of_an_older_schema_is_history_too(empty_url: str) -> None:
    async with open_store(empty_url, CODEC) as store:
        for number in range(1, 8):
            request = AppendRequest("default", ALICE, [draft(f"e{number}", event_id=f"e{number}")], now=1)
            await store.append(replace(request, create=NewSession(ALICE, "u-1", 1, None)))
            if number == 3:
                await store.compact(CompactionRequest("default", ALICE, "c1", 1, ["e1"], {}, None))
    await _forget_history(empty_url)
    async with open_store(empty_url, CODEC) as store:
        page = await store.get_context("default", ALICE, ContextSpec(), 1 << 40, AsOf(log_version=5))
        assert (texts(page.events), page.versions.last_seq, page.versions.window.events) == (["e2", "e3", "e4"], 4, 3)
        assert await store.get_context("default", ALICE, ContextSpec(), 1 << 40, AsOf(seq=4)) == page
        for unknown in (AsOf(log_version=3), AsOf(seq=3)):
            with pytest.raises(HistoryUnknown) as caught:
                await store.get_context("default", ALICE, ContextSpec(), 1 << 40, unknown)
            assert caught.value.metadata["from_log_version"] == "4"


async def _forget_history(url: str) -> None:
    """Leaves what a migration from the schema before the history would find, and migrates."""

    def unit(connection: Connection) -> None:
        connection.execute(events.update().values(added_version=0, archived_version=0, counters=None))
        connection.execute(window_changes.delete())
        connection.exec_driver_sql(r0012_history._BEGINNING)

    async with opened(url) as engine:
        await engine.write(unit)


async def test_the_feed_starts_after_changes_of_older_schemas(first: str) -> None:
    """Old changes do not contain the state of the session."""
    async with open_store(first, CODEC) as store:
        await store.append(AppendRequest("default", ALICE, [draft("more")], now=7))
        select = sa.select(changes).order_by(changes.c.id)
        *old, new = await store._engine.read(lambda connection: connection.execute(select).all())
        floor = await store._engine.read(lambda connection: connection.execute(sa.select(feed_floor)).one())
    assert (floor.one, floor.xid, floor.change) == (1, old[-1].xid, 2)
    assert [(row.id, row.log_version, row.detail) for row in old] == [(1, 0, None), (2, 0, None)]
    assert (new.xid, new.id) > (floor.xid, floor.change)
    assert (new.log_version, new.last_seq, new.window_events) == (3, 4, 4)


async def test_the_feed_of_a_new_database_starts_at_its_beginning(empty_url: str) -> None:
    async with open_store(empty_url, CODEC) as store:
        floor = await store._engine.read(lambda connection: connection.execute(sa.select(feed_floor)).all())
    assert [tuple(row) for row in floor] == [(1, 0, 0)]


async def test_texts_of_the_first_schema_are_found(first: str) -> None:
    expected = {"red SHOES": ["e1"], "STRASSE": ["e2"], "%": ["e2"], "l_s": ["e2"], "%%": []}
    async with open_store(first, CODEC) as store:
        pages = {
            term: await store.search("default", SearchQuery(UserScope("alice"), EventFilter(keyword=term))) for term in expected
        }
        assert {term: [parse(hit.event).event_id for hit in page.hits] for term, page in pages.items()} == expected


async def test_older_code_rejects_a_newer_schema(first: str) -> None:
    await _set(first, schema_version=str(SCHEMA_VERSION + 2), oldest_code=str(SCHEMA_VERSION + 1))
    with pytest.raises(SchemaTooNew) as result:
        async with open_store(first, CODEC):
            pass
    assert f"needs a server that knows schema {SCHEMA_VERSION + 1} or later" in str(result.value)
    assert "upgrade the server" in str(result.value)


async def test_older_code_runs_on_a_newer_schema_that_allows_it(first: str) -> None:
    newer = SCHEMA_VERSION + 2
    async with open_store(first, CODEC):
        pass
    await _set(first, schema_version=str(newer), oldest_code=str(SCHEMA_VERSION))
    async with open_store(first, CODEC) as store:
        assert (await store.info("default", totals=False)).schema_version == newer
        assert (await store.append(AppendRequest("default", ALICE, [draft("more")], now=1))).last_seq == 4


@pytest.mark.postgres
async def test_a_schema_that_running_servers_do_not_know_waits_for_them(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(postgres_url) as engine:
        await versions.prepare(engine)
        now = (await engine.read(lambda connection: connection.execute(NOW).scalar_one())) - 59 * SECOND_NS
        row = {"id": "a", "version": "0.1.0", "start_time": now, "seen_time": now, "metrics_address": ""}
        await engine.write(lambda connection: connection.execute(servers.insert(), row))
        monkeypatch.setattr(versions, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
        await versions.prepare(engine)  # they can run on it
        monkeypatch.setattr(versions, "SCHEMA_VERSION", SCHEMA_VERSION + 2)
        monkeypatch.setattr(versions, "OLDEST_CODE_THAT_CAN_RUN", SCHEMA_VERSION + 2)
        with pytest.raises(OlderServersRun) as result:
            await versions.prepare(engine)
        assert "servers run on this database (1 of version 0.1.0)" in str(result.value)
        gone = servers.update().values(seen_time=now - 2 * SECOND_NS)
        await engine.write(lambda connection: connection.execute(gone))
        await versions.prepare(engine)
        assert await engine.read(versions.versions) == (SCHEMA_VERSION + 2, SCHEMA_VERSION + 2)


async def _start(url: str, hold: asyncio.Barrier) -> str:
    """Starts a server and appends while the others run."""
    async with open_store(url, CODEC) as store:
        await hold.wait()
        return await _use(store)


async def _use(store: SqlStore) -> str:
    await store.info("default", totals=True)
    return (await store.info("default", totals=False)).store_id


@pytest.mark.postgres
@pytest.mark.parametrize("round_", range(size(3, 1)))
async def test_simultaneous_first_starts_create_one_store(postgres_url: str, round_: int) -> None:
    hold = asyncio.Barrier(8)
    async with asyncio.timeout(60):
        ids = await asyncio.gather(*(_start(postgres_url, hold) for _ in range(8)))
    assert len(set(ids)) == 1
    assert ids[0]


async def test_a_database_with_tables_of_another_program_is_refused_and_not_changed(empty_url: str) -> None:
    raw = sa.make_url(empty_url).set(drivername="sqlite" if empty_url.startswith("sqlite") else "postgresql+asyncpg")
    tables = ["accounts", "spatial_ref_sys", "users", "visits", "votes"]

    async def names(*statements: str) -> list[str]:
        if raw.drivername == "sqlite":
            engine = sa.create_engine(raw)
            with engine.begin() as connection:
                for statement in statements:
                    connection.exec_driver_sql(statement)
                return sa.inspect(connection).get_table_names()
        aio = create_async_engine(raw)
        async with aio.begin() as connection:
            for statement in statements:
                await connection.exec_driver_sql(statement)
            found = await connection.run_sync(lambda sync: sa.inspect(sync).get_table_names())
        await aio.dispose()
        return found

    await names(*(f"CREATE TABLE {name} (id integer)" for name in tables))
    says = r"tables of another program \(accounts, users, visits, ...\); give Threadkeep a database of its own"
    with pytest.raises(ForeignDatabase, match=says):
        await open_store(empty_url, CODEC).__aenter__()
    with pytest.raises(ForeignDatabase, match=says):
        await asyncio.to_thread(upgrade, empty_url)
    with pytest.raises(ForeignDatabase, match=says):
        await asyncio.to_thread(current, empty_url)
    assert sorted(await names()) == tables
    await names(*(f"DROP TABLE {name}" for name in tables if name != "spatial_ref_sys"))
    async with open_store(empty_url, CODEC) as store:  # what is left is an extension's
        assert await _use(store)


async def test_simultaneous_first_starts_on_one_file_leave_one_server(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path / 'threadkeep.db'}"
    refusals = 0

    async def start() -> str:
        nonlocal refusals
        while True:
            try:
                async with open_store(url, CODEC) as store:
                    return await _use(store)
            except DatabaseInUse:
                refusals += 1
                await asyncio.sleep(0.02)

    async with asyncio.timeout(60):
        ids = await asyncio.gather(*(start() for _ in range(8)))
    assert len(set(ids)) == 1
    assert refusals
