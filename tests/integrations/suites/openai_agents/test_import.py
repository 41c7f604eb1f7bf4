"""`threadkeep import` of databases that the SDK's own sessions wrote."""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from agents import SQLiteSession, Usage
from agents.extensions.memory import AdvancedSQLiteSession, AsyncSQLiteSession, SQLAlchemySession
from agents.memory import SessionABC
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from threadkeep import AsyncClient, SessionRef
from threadkeep.integrations.openai_agents import ThreadkeepSession

from ..importing import POSTGRES, killed_import, log_of, run_import, schema_address

Item = dict[str, Any]


def alchemy(session_id: str, path: Path) -> SQLAlchemySession:
    return SQLAlchemySession(session_id, engine=create_async_engine(f"sqlite+aiosqlite:///{path}"), create_tables=True)


SESSIONS: dict[str, Callable[[str, Path], SessionABC]] = {
    "sqlite": SQLiteSession,
    "async": AsyncSQLiteSession,
    "alchemy": alchemy,
    "advanced": lambda session_id, path: AdvancedSQLiteSession(session_id=session_id, db_path=path, create_tables=True),
}


@asynccontextmanager
async def opened(kind: str, session_id: str, path: Path) -> AsyncIterator[SessionABC]:
    session = SESSIONS[kind](session_id, path)
    try:
        yield session
    finally:
        if isinstance(session, SQLAlchemySession):
            await session.engine.dispose()
        elif isinstance(session, AsyncSQLiteSession):
            await session.close()
        else:
            cast("SQLiteSession", session).close()


def turn(number: int) -> list[Item]:
    """The items of one turn, with a call of a tool."""
    call_id = f"call_{number}"
    return [
        {"role": "user", "content": f"question {number} é 🌞"},
        {"type": "function_call", "call_id": call_id, "name": "look", "arguments": '{"at":  1.0}', "id": f"fc_{number}"},
        {"type": "function_call_output", "call_id": call_id, "output": f"found {number}"},
        {
            "type": "message",
            "role": "assistant",
            "id": f"msg_{number}",
            "status": "completed",
            "content": [{"type": "output_text", "text": f"answer {number}", "annotations": [], "logprobs": []}],
        },
    ]


@pytest.fixture
def user() -> str:
    """The owner of what one test imports."""
    return f"user-{uuid.uuid4().hex}"


async def items_of(address: str, user: str, session_id: str) -> list[Item]:
    async with AsyncClient(address, user_id=user) as client:
        return cast("list[Item]", await ThreadkeepSession(client, session_id).get_items())


@pytest.mark.parametrize("kind", SESSIONS)
async def test_items_of_a_database_are_those_that_the_sdk_reads(kind: str, address: str, user: str, tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    expected: dict[str, list[Item]] = {}
    for session_id, turns in (("one", 3), ("two", 1), ('O\'Brien "x"', 2)):
        async with opened(kind, session_id, path) as session:
            for number in range(turns):
                await session.add_items(cast("list[Any]", turn(number)))
            await session.add_items([{"role": "user", "content": "popped"}])
            await session.pop_item()
            expected[session_id] = cast("list[Any]", await session.get_items())
    first = run_import(path, address, "--user", user)
    assert (first.code, first.counts, first.summary["problems"]) == (0, (3, 0, 24, 0), [])
    assert run_import(path, address, "--user", user).counts == (0, 3, 0, 24)
    for session_id, items in expected.items():
        assert await items_of(address, user, session_id) == items


@pytest.mark.skipif(not POSTGRES, reason="it needs THREADKEEP_TEST_POSTGRES")
async def test_items_of_postgres_are_those_that_the_sdk_reads(address: str, user: str) -> None:
    schema = f"s{uuid.uuid4().hex}"
    engine = create_async_engine(
        POSTGRES.replace("postgresql://", "postgresql+asyncpg://"),
        connect_args={"server_settings": {"search_path": schema}},
    )
    async with engine.begin() as connection:
        await connection.execute(text(f"CREATE SCHEMA {schema}"))
    session = SQLAlchemySession("s", engine=engine, create_tables=True)
    for number in range(3):
        await session.add_items(cast("list[Any]", turn(number)))
    expected = await session.get_items()
    await engine.dispose()
    source = schema_address(schema)
    first = run_import(source, address, "--user", user)
    assert (first.code, first.counts, first.summary["problems"]) == (0, (1, 0, 12, 0), [])
    assert run_import(source, address, "--user", user).counts == (0, 1, 0, 12)
    assert await items_of(address, user, "s") == expected


async def test_events_keep_the_bytes_and_the_times_of_the_database(address: str, user: str, tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    async with opened("sqlite", "s", path) as session:
        await session.add_items(cast("list[Any]", turn(1)))
    with sqlite3.connect(path) as database:
        database.execute("UPDATE agent_messages SET created_at = '2024-02-29 12:00:0' || id")
        database.execute("UPDATE agent_sessions SET created_at = '2024-02-28 23:59:59'")
        rows = database.execute("SELECT id, message_data FROM agent_messages ORDER BY id").fetchall()
    assert run_import(path, address, "--user", user).code == 0
    events = await log_of(address, SessionRef(user_id=user, session_id="s"))
    assert [(event.id, json.loads(event.pb.native.content)) for event in events] == [
        (f"item-{number}", json.loads(data)) for number, data in rows
    ]
    assert [event.pb.event_time.ToJsonString() for event in events] == [f"2024-02-29T12:00:0{number}Z" for number, _ in rows]
    async with AsyncClient(address) as client:
        session_now = await client.get_session(SessionRef(user_id=user, session_id="s"))
    assert session_now.create_time.ToJsonString() == "2024-02-28T23:59:59Z"


async def test_tables_with_other_names_are_found(address: str, user: str, tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    for number, name in enumerate(("a", "b")):
        session = SQLiteSession(f"s{number}", path, sessions_table=f"{name}_chats", messages_table=f"{name}_items")
        await session.add_items(cast("list[Any]", turn(number)))
        session.close()
    assert run_import(path, address, "--user", user).counts == (2, 0, 8, 0)


async def test_branches_are_sessions_with_their_items_and_their_usage(address: str, user: str, tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    session = AdvancedSQLiteSession(session_id="s", db_path=path, create_tables=True)
    for number in range(3):
        await session.add_items(cast("list[Any]", turn(number)))
        await session.store_run_usage(cast("Any", _run(number)))
    await session.create_branch_from_turn(2, "other.way")
    await session.add_items(cast("list[Any]", turn(7)))
    await session.store_run_usage(cast("Any", _run(7)))
    main, other = await session.get_items(branch_id="main"), await session.get_items(branch_id="other.way")
    session.close()
    done = run_import(path, address, "--user", user)
    assert (done.code, done.counts) == (0, (2, 0, 20, 0))
    assert await items_of(address, user, "s") == main
    assert await items_of(address, user, "s.other.way") == other
    async with AsyncClient(address) as client:
        branch = await client.get_session(SessionRef(user_id=user, session_id="s.other.way"))
    assert dict(branch.labels) == {"openai_agents.session": "s", "openai_agents.branch": "other.way"}
    events = await log_of(address, SessionRef(user_id=user, session_id="s"))
    assert [event.pb.usage.input_tokens for event in events] == [0, 0, 0, 100, 0, 0, 0, 101, 0, 0, 0, 102]
    assert (events[3].pb.usage.output_tokens, events[3].pb.usage.cached_tokens, events[3].pb.usage.reasoning_tokens) == (
        10,
        4,
        2,
    )
    assert run_import(path, address, "--user", user).counts == (0, 2, 0, 20)


def _run(number: int) -> SimpleNamespace:
    """As much of the result of a run as the session reads."""
    usage = Usage(
        requests=1,
        input_tokens=100 + number,
        output_tokens=10,
        total_tokens=110 + number,
        input_tokens_details=InputTokensDetails.model_construct(cached_tokens=4),
        output_tokens_details=OutputTokensDetails(reasoning_tokens=2),
    )
    return SimpleNamespace(context_wrapper=SimpleNamespace(usage=usage))


async def test_a_killed_import_that_is_run_again_stores_everything_once(killable: Any, user: str, tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    async with opened("sqlite", "s", path) as session:
        for number in range(1_500):
            await session.add_items(cast("list[Any]", turn(number)))
        expected = cast("list[Item]", await session.get_items())
    ref = SessionRef(user_id=user, session_id="s")
    before = await killed_import(path, killable.address, ref, "--user", user)
    assert 0 < before < 6_000, "it was killed in the middle"
    done = run_import(path, killable.address, "--user", user)
    sessions_created, sessions_there, added, there = done.counts
    assert (done.code, sessions_created, sessions_there, added) == (0, 0, 1, 6_000 - there)
    assert before <= there < 6_000
    assert await items_of(killable.address, user, "s") == expected


async def test_a_damaged_row_is_named_or_skipped(address: str, user: str, tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    async with opened("sqlite", "s", path) as session:
        await session.add_items(cast("list[Any]", turn(1)))
        with sqlite3.connect(path) as database:
            database.execute("UPDATE agent_messages SET message_data = CAST(x'7b22ff' AS TEXT) WHERE id = 2")
        stopped = run_import(path, address, "--user", user)
        assert stopped.code == 1
        assert f"{path}: table agent_messages, row 2, field message_data: not UTF-8 text" in stopped.error["message"]
        skipped = run_import(path, address, "--user", user, "--on-error", "skip")
        assert (skipped.code, skipped.summary["events"], len(skipped.summary["problems"])) == (1, 3, 1)
    assert await items_of(address, user, "s") == [item for number, item in enumerate(turn(1)) if number != 1]
