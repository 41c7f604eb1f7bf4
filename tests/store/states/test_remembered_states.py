"""The states that the only server of a SQLite database remembers between its transactions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.store.rows.states.state import SESSION, USER, patch, state, values
from tests.store.states.test_append_with_state import check_totals, put, read
from tests.support.codec import CODEC, draft
from tests.support.forks import fork
from tests.support.moves import move
from tests.support.removals import rewind
from tests.support.sessions import TENANT, append, create, ref
from threadkeep_server.domain.errors import StateTooLarge
from threadkeep_server.domain.model import SessionRef
from threadkeep_server.domain.state.state import MAX_VALUE_BYTES, StateName, StatePage, StatePatch, StateScope
from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.store import SqlStore, open_store

__all__ = ["read"]  # a fixture


@pytest.fixture
async def store(sqlite_url: str) -> AsyncIterator[SqlStore]:
    async with open_store(sqlite_url, CODEC, options=SqlOptions(search_index=False)) as opened:
        await create(opened)
        yield opened


async def test_append_to_a_remembered_state_reads_no_values(store: SqlStore, read: list[int]) -> None:
    await put(store, "first", a="1")
    assert read == [1]
    await put(store, "changes and adds", a="2", b="1")
    await asyncio.gather(*(put(store, "of one group", a=str(n)) for n in range(3, 20)))
    await put(store, "removes", "b", "unknown")
    await patch(store, SESSION, a="20")
    read.clear()
    await put(store, "after a patch", a="21")
    assert read == []
    assert await state(store) == StatePage({"a": "21"}, 22)
    assert [(await values(store, as_of=version)).get("b") for version in (1, 2, 19, 20)] == [None, "1", "1", None]
    await check_totals(store)


async def test_append_after_a_rewind_changes_the_state_that_was_restored(store: SqlStore, read: list[int]) -> None:
    await put(store, "x", a="1")
    await put(store, "x", "a", b="1")
    await rewind(store, version=1)
    read.clear()
    await put(store, "x", a="1", c="1")
    assert read == [2], "the version is another"
    assert await state(store) == StatePage({"a": "1", "c": "1"}, 4)
    assert [await values(store, as_of=version) for version in (1, 2, 3)] == [{"a": "1"}, {"b": "1"}, {"a": "1"}]
    await check_totals(store)


async def test_append_to_a_fork_or_to_a_new_session_of_the_same_name_changes_its_own_state(store: SqlStore) -> None:
    for number in range(2):
        await put(store, "x", a=str(number))
    await fork(store, "f", version=1)
    for number in range(2):
        await put(store, "x", to=ref("f"), b=str(number))
    assert await values(store, StateName(StateScope.SESSION, ref("f"))) == {"a": "0", "b": "1"}
    assert await values(store) == {"a": "1"}
    await store.delete_session(TENANT, ref())
    await create(store)
    await put(store, "x", b="1")
    assert await state(store) == StatePage({"b": "1"}, 1)


async def test_append_of_the_new_owner_of_a_moved_session_changes_its_state(store: SqlStore) -> None:
    bobs: SessionRef = ref(user="bob")
    for number in range(2):
        await put(store, "x", a=str(number))
    await move(store)
    for number in range(2):
        await put(store, "x", to=bobs, b=str(number))
    assert await state(store, StateName(StateScope.SESSION, bobs)) == StatePage({"a": "1", "b": "1"}, 4)
    await check_totals(store)


async def test_append_that_is_refused_leaves_the_remembered_state(store: SqlStore, read: list[int]) -> None:
    large = '"' + "x" * (MAX_VALUE_BYTES - 2) + '"'
    await put(store, "x", a=large, b=large, c=large)
    await put(store, "x", n="1")
    with pytest.raises(StateTooLarge, match="bytes"):
        await put(store, "x", n="2", d=large)
    await put(store, "x", n="1")
    assert (await state(store, keys=("n",))).version == 2, "n has its value, so nothing changes"
    await check_totals(store)


async def test_append_that_changes_three_scopes_leaves_the_values_of_each(store: SqlStore) -> None:
    for number in range(3):
        delta = StatePatch({"n": str(number)})
        await append(store, draft("x"), state={StateScope.SESSION: delta, StateScope.USER: delta})
    assert await state(store) == await state(store, USER) == StatePage({"n": "2"}, 3)
