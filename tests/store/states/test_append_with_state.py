"""The stored function of PostgreSQL for appends that change the state of sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from tests.store.engines.test_append_function import Servers, servers, written
from tests.store.rows.states.state import SESSION, USER, patch, state, states, values
from tests.support.codec import draft
from tests.support.feed import follow
from tests.support.forks import fork
from tests.support.moves import move
from tests.support.removals import operation, pop, rewind
from tests.support.sessions import TENANT, append, create, ref
from threadkeep_server.domain.errors import SessionNotFound, StateTooLarge, VersionMismatch
from threadkeep_server.domain.model import SessionRef
from threadkeep_server.domain.state.state import (
    MAX_STATE_KEYS,
    MAX_VALUE_BYTES,
    StateName,
    StatePage,
    StatePatch,
    StateScope,
)
from threadkeep_server.store.contract.events import Appended
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.sql.schema.state import state_totals
from threadkeep_server.store.sql.state import remembered
from threadkeep_server.store.sql.state.statements import StateStatements
from threadkeep_server.store.sql.store import SqlStore

__all__ = ["servers", "written"]  # fixtures
pytestmark = pytest.mark.postgres


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of values in each read of states."""
    counts: list[int] = []
    present = StateStatements.present

    def recorded(self: StateStatements, connection: Connection, pairs: Sequence[tuple[int, bytes]]) -> Any:
        counts.append(len(pairs))
        return present(self, connection, pairs)

    monkeypatch.setattr(StateStatements, "present", recorded)
    return counts


async def put(store: Store, text: str, *remove: str, to: SessionRef | None = None, **given: str) -> Appended:
    """Appends, and changes the state of the session."""
    return await append(store, draft(text), to=to, state={StateScope.SESSION: StatePatch(given, remove)})


@contextmanager
def statements_of(store: SqlStore) -> Iterator[list[str]]:
    """The statements that the store runs, those of SQLAlchemy's driver too."""
    seen: list[str] = []

    def run(_connection: Any, _cursor: Any, sql: str, *_rest: Any) -> None:
        seen.append(sql)

    engine = store._engine._pool.engine.sync_engine  # type: ignore[attr-defined]
    sa.event.listen(engine, "before_cursor_execute", run)
    try:
        yield seen
    finally:
        sa.event.remove(engine, "before_cursor_execute", run)


async def test_an_append_that_changes_a_remembered_state_is_one_statement(
    servers: Servers, written: list[bool], read: list[int]
) -> None:
    store, _ = servers
    await put(store, "first", a="1")
    read.clear()
    with statements_of(store) as seen:
        for number in range(3):
            changed: dict[str, Any] = {f"new{number}": "1"}
            await put(store, "next", a=str(number), **changed)
        await put(store, "removes", "a", "unknown")
        await append(store, draft("plain"))
    called = [sql[: sql.index("(")] for sql in seen]
    assert called == ["SELECT threadkeep_append_with_state"] * 4 + ["SELECT threadkeep_append"]
    assert (written, read) == ([False, True, True, True, True, True], [])
    assert await state(store) == StatePage({"new0": "1", "new1": "1", "new2": "1"}, 5)


async def test_the_values_of_every_log_version_and_the_feed_are_those_of_a_transaction(
    servers: Servers, written: list[bool]
) -> None:
    store, _ = servers
    deltas = [
        StatePatch({"a": "1", "b": "1"}),
        StatePatch({"a": "2"}, ("b", "unknown")),
        StatePatch({"a": "2"}),
        StatePatch({"b": "null"}),
        StatePatch({"b": '"é\\u0000"'}, ("a",)),
    ]
    known = [{}, {"a": "1", "b": "1"}, {"a": "2"}, {"a": "2"}, {"a": "2", "b": "null"}, {"b": '"é\\u0000"'}]
    for delta in deltas:
        await append(store, draft("x"), state={StateScope.SESSION: delta})
    assert written == [False, True, True, True, True]
    assert [await values(store, as_of=version) for version in range(6)] == known
    assert states(await follow(store)) == [
        ("s1", 1, {"a": "1", "b": "1"}, ()),
        ("s1", 2, {"a": "2"}, ("b",)),
        ("s1", 3, {"b": "null"}, ()),
        ("s1", 4, {"b": '"é\\u0000"'}, ("a",)),
    ]


async def test_appends_of_one_group_change_a_state_in_order(servers: Servers, written: list[bool]) -> None:
    store, _ = servers
    await put(store, "first", n="0", kept="1")
    written.clear()
    await asyncio.gather(*(put(store, "none") if n % 5 == 4 else put(store, "next", n=str(n)) for n in range(1, 20)))
    await asyncio.gather(*(put(store, "removes", "n") if n % 2 else put(store, "sets", n="9") for n in range(7)))
    assert written
    assert all(written)
    expected = [{}, {"n": "0", "kept": "1"}]
    for n in range(1, 20):
        expected.append(expected[-1] if n % 5 == 4 else {"n": str(n), "kept": "1"})
    expected += [{"kept": "1"} if n % 2 else {"n": "9", "kept": "1"} for n in range(7)]
    assert [await values(store, as_of=version) for version in range(len(expected))] == expected
    await check_totals(store)


async def check_totals(store: SqlStore) -> None:
    """The totals of a session's state are those of its values."""

    def unit(connection: Connection) -> Any:
        counted = "SELECT count(*), coalesce(sum(length(key) + length(value)), 0) FROM state_values"
        past = "SELECT count(*) FROM past_values"
        (row,) = connection.execute(sa.select(state_totals)).all()
        return row, connection.exec_driver_sql(counted).one(), connection.exec_driver_sql(past).scalar()

    totals, counted, past = await store._engine.read(unit)
    assert (totals.keys, totals.bytes, totals.past) == (*counted, past)


async def test_what_another_server_or_a_patch_changes_is_seen(servers: Servers, written: list[bool]) -> None:
    one, other = servers
    for store in (one, other, one):
        await put(store, "x", a="1")
    assert await patch(other, SESSION, b="2") == 2
    assert await patch(other, SESSION, a="3") == 3
    written.clear()
    await put(one, "x", "b", a="1")
    assert written == [False], "the version is another"
    assert await state(other) == StatePage({"a": "1"}, 4)
    assert await patch(one, SESSION, c="1") == 5
    await put(one, "x", a="2", c="1")
    assert written == [False, True], "its own patch is remembered"
    assert await state(other) == StatePage({"a": "2", "c": "1"}, 6)


async def test_appends_of_two_servers_leave_the_state_that_the_feed_reports(servers: Servers) -> None:
    async def write(n: int) -> None:
        changed: dict[str, Any] = {f"k{n % 3}": str(n)}
        await (patch(servers[n % 2], SESSION, **changed) if n % 7 == 0 else put(servers[n % 2], "x", **changed))

    await asyncio.gather(*(write(n) for n in range(64)))
    changes = states(await follow(servers[0]))
    assert [version for _, version, _, _ in changes] == list(range(1, 65))
    replayed: dict[str, str] = {}
    for _, _, changed, _ in changes:
        replayed |= changed
    for store in servers:
        assert await state(store) == StatePage(replayed, 64)
    await check_totals(servers[0])


async def test_a_refused_append_changes_no_state(servers: Servers, written: list[bool]) -> None:
    store, _ = servers
    large = '"' + "x" * (MAX_VALUE_BYTES - 2) + '"'
    await put(store, "x", a=large, b=large, c=large)
    await put(store, "x", n="1")
    written.clear()
    with pytest.raises(StateTooLarge, match="bytes"):
        await put(store, "x", d=large)
    with pytest.raises(VersionMismatch):
        await append(store, draft("x"), expected_log_version=7, state={StateScope.SESSION: StatePatch({"n": "2"})})
    event, delta = draft("once", event_id="e1"), {StateScope.SESSION: StatePatch({"n": "2"})}
    await append(store, event, state=delta)
    await put(store, "x", n="3")
    assert (await append(store, event, state=delta)).events[0].replayed
    assert written == [False, False, True, True, False]
    assert (await state(store, keys=("n",))).values == {"n": "3"}
    await put(store, "x", "a", d=large)
    assert (await state(store, limit=1)).version == 5
    await check_totals(store)


async def test_more_keys_than_a_state_may_have_are_refused(servers: Servers) -> None:
    store, _ = servers
    for start in range(0, MAX_STATE_KEYS, 1000):
        many: dict[str, Any] = {f"k{n}": "1" for n in range(start, start + 1000)}
        await put(store, "x", **many)
    with pytest.raises(StateTooLarge, match="keys"):
        await put(store, "x", more="1")
    await put(store, "x", "k0", more="1")
    assert (await state(store, limit=1)).version == 11
    await check_totals(store)


async def test_a_large_state_is_read_before_the_call(servers: Servers, written: list[bool], read: list[int]) -> None:
    store, _ = servers
    large = '"' + "x" * remembered._BYTES_OF_ONE + '"'
    await put(store, "x", a=large)
    read.clear()
    await put(store, "x", a="1", b=large)
    await put(store, "x", a="2")
    assert (written, read) == ([False, True, True], [2, 1])
    assert await values(store, as_of=1) == {"a": large}
    assert await values(store) == {"a": "2", "b": large}


async def test_states_beyond_the_memory_are_read_again(
    servers: Servers, written: list[bool], read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, _ = servers
    monkeypatch.setattr(remembered, "_BYTES_REMEMBERED", 2 * (remembered._STATE_BYTES + remembered._VALUE_BYTES) + 10)
    for name in ("s2", "s3"):
        await create(store, name)
    for name in ("s1", "s2", "s3"):
        await put(store, "x", to=ref(name), a="1")
    read.clear()
    for name in ("s3", "s2", "s1", "s3", "s1"):
        await put(store, "x", to=ref(name), a=f'"{name}"')
    assert written[3:] == [True] * 5
    assert read == [1, 1], "of s1, and then of s3, which it drove out"


async def test_a_group_that_changes_too_many_unknown_values_is_a_transaction(
    servers: Servers, written: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, _ = servers
    await append(store, draft("x"))
    monkeypatch.setattr("threadkeep_server.store.sql.log.writing.append_function.MOST_KEYS", 2)
    await put(store, "x", a="1", b="1", c="1")
    assert written == [False, False]
    assert await values(store) == {"a": "1", "b": "1", "c": "1"}


async def test_a_rewound_state_is_seen(servers: Servers) -> None:
    one, other = servers
    await put(one, "x", a="1")
    await put(one, "x", "a", b="1")
    await rewind(other, version=1)
    await put(one, "x", c="1")
    assert await state(one) == StatePage({"a": "1", "c": "1"}, 4)
    await rewind(one, version=2)
    await put(one, "x", a="1")
    assert await state(other) == StatePage({"a": "1", "b": "1"}, 6)
    await pop(one)
    await put(one, "x", a="2")
    assert await values(other, as_of=6) == {"a": "1", "b": "1"}
    await check_totals(one)


async def test_a_fork_and_a_new_session_of_the_same_name_have_states_of_their_own(servers: Servers) -> None:
    one, other = servers
    for number in range(2):
        await put(one, "x", a=str(number))
    await fork(other, "f", version=1)
    for number in range(2):
        await put(one, "x", to=ref("f"), b=str(number))
    assert await values(one, StateName(StateScope.SESSION, ref("f"))) == {"a": "0", "b": "1"}
    assert await values(one) == {"a": "1"}
    await other.delete_session(TENANT, ref())
    await create(other)
    await put(one, "x", b="1")
    assert await state(one) == StatePage({"b": "1"}, 1)


async def test_the_state_of_a_moved_session_is_changed_by_its_new_owner_only(servers: Servers) -> None:
    one, other = servers
    bobs = ref(user="bob")
    for number in range(2):
        await put(one, "x", a=str(number))
    await move(other)
    with pytest.raises(SessionNotFound):
        await put(one, "x", a="lost")
    for number in range(2):
        await put(one, "x", to=bobs, b=str(number))
    assert await state(one, StateName(StateScope.SESSION, bobs)) == StatePage({"a": "1", "b": "1"}, 4)


async def test_states_of_users_and_operations_take_a_transaction(servers: Servers, written: list[bool]) -> None:
    store, _ = servers
    delta = {StateScope.SESSION: StatePatch({"s": "1"}), StateScope.USER: StatePatch({"u": "1"})}
    for _ in range(2):
        await append(store, draft("x", event_id="e1"), state=delta)
    wanted: dict[str, Any] = {"operation": operation(), "state": {StateScope.SESSION: StatePatch({"s": "2"})}}
    for _ in range(2):
        await append(store, draft("y", event_id="e2"), **wanted)
    assert not any(written)
    assert [await state(store, name) for name in (SESSION, USER)] == [StatePage({"s": "2"}, 2), StatePage({"u": "1"}, 1)]
    await put(store, "x", s="3")
    assert written == [True], "what the transactions left is remembered"
