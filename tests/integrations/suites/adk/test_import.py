"""`threadkeep import` of databases that ADK's own session services wrote."""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from google.adk.events import Event, EventActions
from google.adk.sessions import BaseSessionService, DatabaseSessionService, Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from threadkeep import AsyncClient, SessionRef
from threadkeep.integrations.adk import ThreadkeepSessionService

from ..importing import POSTGRES, killed_import, log_of, run_import, schema_address

Opened = Callable[[Any], BaseSessionService]
SERVICES: dict[str, Opened] = {
    "database": lambda path: DatabaseSessionService(f"sqlite+aiosqlite:///{path}"),
    "sqlite": lambda path: SqliteSessionService(str(path)),
}


def in_schema(schema: str) -> BaseSessionService:
    """ADK's service on PostgreSQL, with the tables in a schema of their own."""
    address = POSTGRES.replace("postgresql://", "postgresql+asyncpg://")
    return DatabaseSessionService(address, connect_args={"server_settings": {"search_path": schema}})


@pytest.fixture
def app() -> str:
    """An app of one test."""
    return f"app-{uuid.uuid4().hex[:12]}"


@asynccontextmanager
async def opened(make: Opened, path: object) -> AsyncIterator[BaseSessionService]:
    service = make(path)
    try:
        yield service
    finally:
        if close := getattr(service, "close", None):
            await close()


def said(number: int, **more: Any) -> Event:
    """An event of a conversation; every third one is the user's, and every fourth has a call of a tool."""
    if number % 4 == 3:
        call = types.FunctionCall(id=f"call-{number}", name="look", args={"at": number, "n": 2**53 + 1})
        part = types.Part(function_call=call, thought_signature=b"\x00\xff sign")
    else:
        part = types.Part(text=f"text {number} é 🌞")
    author = "user" if number % 3 == 0 else "clerk"
    actions = EventActions(state_delta=more.pop("delta", {}))
    content = types.Content(role="user" if author == "user" else "model", parts=[part])
    return Event(
        author=author,
        invocation_id=f"run-{number // 3}",
        id=f"e{number:06d}",
        timestamp=1_700_000_000.000001 + number * 0.25,
        content=content,
        actions=actions,
        **more,
    )


async def write(service: BaseSessionService, app: str, session_id: str, count: int, **create: Any) -> Session:
    """Writes a conversation as ADK does."""
    session = await service.create_session(app_name=app, user_id="ada", session_id=session_id, **create)
    for number in range(count):
        delta = {"turn": number, "user:seen": number, "app:all": number} if number % 5 == 0 else {}
        await service.append_event(session, said(number, delta=delta))
    return session


@pytest.mark.parametrize("name", SERVICES)
async def test_sessions_of_a_database_are_read_as_adk_reads_them(name: str, address: str, app: str, tmp_path: Path) -> None:
    path = tmp_path / "adk.db"
    async with opened(SERVICES[name], path) as service:
        await write(service, app, "long", 25, state={"plan": {"a": None}, "user:tier": "gold", "app:currency": "EUR"})
        await write(service, app, "short", 1)
        await write(service, app, "empty", 0, state={"only": True})
        await service.create_session(app_name=app, user_id="eve", session_id="long", state={"user:tier": "tin"})
        first = run_import(path, address)
        assert (first.code, first.counts, first.summary["problems"]) == (0, (4, 0, 26, 0), [])
        again = run_import(path, address)
        assert (again.code, again.counts) == (0, (0, 4, 0, 26))
        assert (first.summary["states_set"], again.summary["states_set"], again.summary["states_different"]) == (6, 0, 0)
        async with AsyncClient(address) as client:
            ours = ThreadkeepSessionService(client)
            for user, session_id in (("ada", "long"), ("ada", "short"), ("ada", "empty"), ("eve", "long")):
                key: dict[str, Any] = {"app_name": app, "user_id": user, "session_id": session_id}
                theirs, here = await service.get_session(**key), await ours.get_session(**key)
                assert theirs is not None
                assert here is not None
                assert here.events == theirs.events
                assert here.state == theirs.state


@pytest.mark.skipif(not POSTGRES, reason="it needs THREADKEEP_TEST_POSTGRES")
async def test_sessions_of_postgres_are_read_as_adk_reads_them(address: str, app: str) -> None:
    schema = f"s{uuid.uuid4().hex}"
    connection = await asyncpg.connect(POSTGRES)
    await connection.execute(f"CREATE SCHEMA {schema}")
    await connection.close()
    async with opened(in_schema, schema) as service:
        await write(service, app, "s", 25, state={"plan": {"a": None}, "user:tier": "gold", "app:currency": "EUR"})
        source = schema_address(schema)
        first = run_import(source, address)
        assert (first.code, first.counts, first.summary["states_set"]) == (0, (1, 0, 25, 0), 3)
        assert run_import(source, address).counts == (0, 1, 0, 25)
        theirs = await service.get_session(app_name=app, user_id="ada", session_id="s")
    async with AsyncClient(address) as client:
        here = await ThreadkeepSessionService(client).get_session(app_name=app, user_id="ada", session_id="s")
    assert theirs is not None
    assert here is not None
    assert (here.events, here.state) == (theirs.events, theirs.state)


@pytest.mark.parametrize("name", SERVICES)
async def test_events_keep_the_bytes_and_the_time_of_the_database(name: str, address: str, app: str, tmp_path: Path) -> None:
    path = tmp_path / "adk.db"
    async with opened(SERVICES[name], path) as service:
        await write(service, app, "s", 9)
    assert run_import(path, address).code == 0
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT id, event_data FROM events ORDER BY timestamp").fetchall()
        ((created,),) = database.execute("SELECT create_time FROM sessions").fetchall()
    events = await log_of(address, SessionRef(app=app, user_id="ada", session_id="s"))
    assert [(event.id, json.loads(event.pb.native.content)) for event in events] == [
        (key, json.loads(data)) for key, data in rows
    ]
    assert [event.pb.native.format for event in events] == ["adk.event/1"] * 9
    assert abs(events[1].pb.event_time.ToNanoseconds() - 1_700_000_000_250_001_000) < 1_000
    async with AsyncClient(address) as client:
        session = await client.get_session(SessionRef(app=app, user_id="ada", session_id="s"))
    assert str(created)[:10] in (session.create_time.ToJsonString()[:10], str(session.create_time.seconds))


async def test_a_killed_import_that_is_run_again_stores_everything_once(killable: Any, app: str, tmp_path: Path) -> None:
    path = tmp_path / "adk.db"
    async with opened(SERVICES["sqlite"], path) as service:
        await write(service, app, "s", 2)
    many = 6_000
    with sqlite3.connect(path) as database:  # as ADK writes them, but faster
        rows = [
            (f"e{n:06d}", app, "ada", "s", f"run-{n // 3}", said(n).timestamp, said(n).model_dump_json(exclude_none=True))
            for n in range(2, many)
        ]
        database.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    session = SessionRef(app=app, user_id="ada", session_id="s")
    before = await killed_import(path, killable.address, session)
    assert 0 < before < many, "it was killed in the middle"
    done = run_import(path, killable.address)
    sessions_created, sessions_there, added, there = done.counts
    assert (done.code, sessions_created, sessions_there, added) == (0, 0, 1, many - there)
    assert before <= there < many
    events = await log_of(killable.address, session)
    assert [event.id for event in events] == [f"e{n:06d}" for n in range(many)]
    assert [event.seq for event in events] == list(range(1, many + 1))


async def test_what_is_new_in_a_database_is_added_by_another_import(address: str, app: str, tmp_path: Path) -> None:
    path = tmp_path / "adk.db"
    async with opened(SERVICES["database"], path) as service:
        session = await write(service, app, "s", 5)
        assert run_import(path, address).counts == (1, 0, 5, 0)
        await service.append_event(session, said(5, delta={"turn": 99, "user:seen": 99}))
        kept = run_import(path, address)
        assert (kept.counts, kept.summary["states_set"], kept.summary["states_different"]) == ((0, 1, 1, 5), 0, 2)
        replaced = run_import(path, address, "--replace-state")
        assert (replaced.counts, replaced.summary["states_set"]) == ((0, 1, 0, 6), 2)
        theirs = await service.get_session(app_name=app, user_id="ada", session_id="s")
        async with AsyncClient(address) as client:
            here = await ThreadkeepSessionService(client).get_session(app_name=app, user_id="ada", session_id="s")
    assert theirs is not None
    assert here is not None
    assert (here.state, here.events) == (theirs.state, theirs.events)


async def test_an_imported_session_is_continued_by_the_adapter(address: str, app: str, tmp_path: Path) -> None:
    path = tmp_path / "adk.db"
    async with opened(SERVICES["database"], path) as service:
        await write(service, app, "s", 4)
    run_import(path, address)
    async with AsyncClient(address) as client:
        ours = ThreadkeepSessionService(client)
        session = await ours.get_session(app_name=app, user_id="ada", session_id="s")
        assert session is not None
        await ours.append_event(session, said(4))
        again = await ours.get_session(app_name=app, user_id="ada", session_id="s")
    assert again is not None
    assert [event.id for event in again.events] == [f"e{n:06d}" for n in range(5)]


async def damaged(path: Path, app: str) -> None:
    async with opened(SERVICES["sqlite"], path) as service:
        await write(service, app, "s", 3)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE events SET event_data = '{\"author\": ' WHERE id = 'e000001'")


async def test_a_damaged_row_is_named_and_stops_the_import_or_is_skipped(address: str, app: str, tmp_path: Path) -> None:
    path = tmp_path / "adk.db"
    await damaged(path, app)
    stopped = run_import(path, address)
    assert (stopped.code, stopped.counts) == (1, (1, 0, 1, 0))
    place = {"file": str(path), "table": "events", "row": f"{app} / ada / s / e000001", "field": "event_data"}
    assert stopped.error["metadata"].items() >= place.items()
    assert f"{path}: table events, row {app} / ada / s / e000001" in stopped.error["message"]
    skipped = run_import(path, address, "--on-error", "skip")
    assert (skipped.code, skipped.counts, len(skipped.summary["problems"])) == (1, (0, 1, 1, 1), 1)
    events = await log_of(address, SessionRef(app=app, user_id="ada", session_id="s"))
    assert [event.id for event in events] == ["e000000", "e000002"]


def test_tables_of_version_0_are_refused_with_what_to_do(address: str, tmp_path: Path) -> None:
    path = tmp_path / "adk.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE sessions (app_name TEXT, user_id TEXT, id TEXT, state TEXT)")
        database.execute(
            "CREATE TABLE events (id TEXT, app_name TEXT, user_id TEXT, session_id TEXT, invocation_id TEXT, actions BLOB)"
        )
    done = run_import(path, address)
    assert done.code == 1
    assert "adk migrate session" in done.error["message"]
