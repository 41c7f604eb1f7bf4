"""The stored function of PostgreSQL: appends to sessions that this server remembers, in one round trip."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from typing import Any

import asyncpg
import pytest
import sqlalchemy as sa
from sqlalchemy.util import await_only

from tests.support.clock import NOW
from tests.support.codec import CODEC, draft
from tests.support.sessions import TENANT, append, compact, create, placed, read, ref
from threadkeep_server.domain.errors import EventIdConflict, VersionMismatch
from threadkeep_server.domain.model import SessionChange, SessionRef, Usage
from threadkeep_server.domain.state.state import StateName, StatePage, StatePatch, StateQuery, StateScope
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.log.writing.append_function import AppendFunction
from threadkeep_server.store.sql.store import SqlStore, open_store

pytestmark = pytest.mark.postgres

Servers = tuple[SqlStore, SqlStore]
"""Two on one database."""


@pytest.fixture
async def servers(postgres_url: str) -> AsyncIterator[Servers]:
    async with AsyncExitStack() as stack:
        options = SqlOptions(search_index=False)  # the indexer reads tables as it likes
        one, other = [await stack.enter_async_context(open_store(postgres_url, CODEC, options=options)) for _ in range(2)]
        await create(one)
        yield one, other


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For every group of appends, whether the function wrote it."""
    seen: list[bool] = []
    call = AppendFunction.append

    async def recorded(function: AppendFunction, requests: Sequence[Any], keys: Any, wait_ms: int) -> Any:
        outcomes = await call(function, requests, keys, wait_ms)
        seen.append(outcomes is not None)
        return outcomes

    monkeypatch.setattr(AppendFunction, "append", recorded)
    return seen


async def seqs(store: Store) -> list[int]:
    return [event.seq for event in await read(store)]


async def test_appends_to_a_remembered_session_are_one_call_each(servers: Servers, written: list[bool]) -> None:
    store, _ = servers
    for number in range(4):
        appended = await append(store, draft(f"{number}", event_id=f"e{number}"), draft("more"), now=NOW + number)
        assert (appended.log_version, appended.last_seq) == (number + 1, 2 * number + 2)
    assert written == [False, True, True, True]
    session = await store.get_session(TENANT, ref())
    assert (session.log_version, session.last_seq, session.window.events, session.update_time) == (4, 8, 8, NOW + 3)
    assert session.window == appended.window
    assert await seqs(store) == list(range(1, 9))


async def test_appends_next_to_a_few_with_the_state_of_a_user_are_one_call(servers: Servers, written: list[bool]) -> None:
    store, _ = servers
    names = [f"s{number}" for number in range(1, 6)]
    for name in names[1:]:
        await create(store, name)
    for name in names:
        await append(store, draft("first"), to=ref(name))
    written.clear()
    delta = {StateScope.USER: StatePatch({"k": "1"})}
    # The last two are of one session: the second of them must not overtake the first.
    sent = [append(store, draft("next"), to=ref(name)) for name in names[:4]]
    sent += [append(store, draft("with state"), to=ref("s5"), state=delta), append(store, draft("after it"), to=ref("s5"))]
    appended = await asyncio.gather(*sent)
    assert written == [True]
    assert [each.last_seq for each in appended] == [2, 2, 2, 2, 2, 3]
    users = StateName(StateScope.USER, SessionRef("shop", "alice", ""))
    assert await store.get_state(TENANT, users, StateQuery()) == StatePage({"k": "1"}, 1)


async def test_sessions_of_a_group_are_appended_to_in_one_call(servers: Servers, written: list[bool]) -> None:
    store, _ = servers
    names = [f"s{number}" for number in range(1, 9)]
    for name in names[1:]:
        await create(store, name)
    for name in names:
        await append(store, draft("first"), to=ref(name))
    written.clear()
    used = Usage(input=3, total=3)
    await asyncio.gather(*(append(store, draft("next", usage=used), to=ref(name)) for name in names * 3))
    assert written
    assert all(written)
    for name in names:
        session = await store.get_session(TENANT, ref(name))
        assert (session.last_seq, session.usage) == (4, Usage(input=9, total=9))
        assert [event.seq for event in await read(store, of=ref(name))] == [1, 2, 3, 4]


async def test_appends_of_two_servers_to_one_session_take_turns(servers: Servers, written: list[bool]) -> None:
    for number in range(10):
        appended = await append(servers[number % 2], draft(f"{number}"))
        assert (appended.log_version, appended.last_seq) == (number + 1, number + 1)
    assert not any(written)
    await asyncio.gather(*(append(servers[number % 2], draft(f"{number}")) for number in range(100)))
    assert await seqs(servers[0]) == list(range(1, 111))


async def test_preconditions_are_compared_with_what_another_server_wrote(servers: Servers) -> None:
    one, other = servers
    await append(one, draft("1", event_id="e1"))
    await append(other, draft("2", event_id="e2"))
    await append(one, draft("3", event_id="e3"), expected_log_version=2)
    await append(other, draft("4", event_id="e4"), expected_last_event_id="e3")
    with pytest.raises(VersionMismatch) as caught:
        await append(one, draft("late"), expected_log_version=3)
    assert caught.value.metadata["actual"] == "4"
    with pytest.raises(VersionMismatch):
        await append(one, draft("late"), expected_last_event_id="e3")
    assert (await append(one, draft("5"), expected_last_event_id="e4")).last_seq == 5


async def test_a_stored_event_id_is_a_replay_or_a_conflict(servers: Servers, written: list[bool]) -> None:
    store, _ = servers
    for event_id in ("e1", "e2"):
        await append(store, draft("once", event_id=event_id))
    (again,) = (await append(store, draft("once", event_id="e1"))).events
    assert (again.seq, again.replayed) == (1, True)
    with pytest.raises(EventIdConflict):
        await append(store, draft("other", event_id="e1"))
    assert (await append(store, draft("next", event_id="e3"))).last_seq == 3
    assert written == [False, True, False, False, True]


async def test_changes_of_another_server_are_kept(servers: Servers) -> None:
    one, other = servers
    await append(one, draft("1", event_id="e1"))
    await other.update_session(TENANT, ref(), SessionChange(frozenset({"labels"}), NOW + 50, labels={"a": "1"}))
    await append(one, draft("2"), now=NOW + 7)
    session = await one.get_session(TENANT, ref())
    assert (session.labels, session.update_time) == ({"a": "1"}, NOW + 50)
    await compact(other, ["e1"], placed(None, draft("summary", synthetic=True)))
    appended = await append(one, draft("3"))
    assert (appended.last_seq, appended.window.events) == (4, 3)
    assert (await one.get_session(TENANT, ref())).window == appended.window


async def test_a_session_that_another_server_replaced_is_found_again(servers: Servers) -> None:
    one, other = servers
    for _ in range(2):
        await append(one, draft("old"))
    await other.delete_session(TENANT, ref())
    await create(other)
    assert (await append(one, draft("new"))).last_seq == 1
    assert await seqs(other) == [1]


async def test_calls_among_many_sessions_look_rows_up_by_index(servers: Servers, postgres_url: str) -> None:
    store, other = servers
    await asyncio.gather(*(create(store, f"many{number}") for number in range(2000)))
    states = [{StateScope.SESSION: StatePatch({"k": str(number), f"k{number}": "1"}, ("k1",))} for number in range(20)]
    await append(store, draft("1"), state=states[0])
    database = await asyncpg.connect(postgres_url.replace("+asyncpg", ""))
    try:
        await _report(store, other)
        before = await _scans(database)
        for number in range(20):
            await append(store, draft(f"{number}", event_id=f"e{number}"))
            await append(store, draft("with state"), state=states[number])
        await asyncio.gather(*(append(store, draft("x"), state=states[n % 20] if n % 2 else None) for n in range(64)))
        await _report(store, other)
        assert await _scans(database) == before
    finally:
        await database.close()


async def _report(*stores: SqlStore) -> None:
    """Every connection reports its counts; by itself it may do so ten seconds later."""
    for store in stores:
        all_taken = asyncio.Barrier(SqlOptions().postgres_pool_size)

        def unit(connection: sa.Connection, all_taken: asyncio.Barrier = all_taken) -> None:
            connection.exec_driver_sql("SELECT pg_stat_force_next_flush()")
            await_only(all_taken.wait())

        await asyncio.gather(*(store._engine.write(unit) for _ in range(all_taken.parties)))


async def _scans(database: asyncpg.Connection) -> dict[str, int]:
    """Returns how many times each table was read from end to end."""
    await database.execute("SELECT pg_stat_clear_snapshot()")
    tables = ("sessions", "events", "state_totals", "state_values", "past_values")
    rows = await database.fetch("SELECT relname, seq_scan FROM pg_stat_user_tables WHERE relname = ANY ($1)", tables)
    assert len(rows) == len(tables)
    return {row["relname"]: row["seq_scan"] for row in rows}
