"""Reads of a few values of state cost the same however many the scope and others have: on both engines."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.store.engines.test_plans import NO_INDEX
from tests.support.clock import NOW
from tests.support.codec import CODEC, draft
from tests.support.sessions import TENANT, append, create, ref
from tests.support.statements import executed, looked_at, steps_of
from threadkeep_server.domain.model import SessionRef
from threadkeep_server.domain.state.state import MAX_PATCHED_KEYS, MAX_STATE_KEYS, StateName, StatePatch, StateQuery, StateScope
from threadkeep_server.store.contract.loading import LoadQuery
from threadkeep_server.store.sql.store import SqlStore, open_store

OWNERS = (StateName(StateScope.SESSION, ref()), StateName(StateScope.USER, SessionRef("shop", "alice", "")))
QUERIES = {
    "first": StateQuery(limit=20),
    "after a key": StateQuery(after="k00050", limit=20),
    "keys": StateQuery(keys=("k00003", "k00077", "none")),
    "prefix": StateQuery(prefix="k0005"),
}
FEW = 60


def _patches(count: int, value: str) -> Iterable[StatePatch]:
    for start in range(0, count, MAX_PATCHED_KEYS):
        some = range(start, min(start + MAX_PATCHED_KEYS, count))
        yield StatePatch({f"k{number:05}": value for number in some})


async def _filled(store: SqlStore, count: int) -> None:
    """Gives a session and its user so many values, and other sessions some. The session's are of several log versions."""
    await create(store)
    for number in range(20):
        other = await create(store, f"other-{number}")
        for patch in _patches(count // 20, '"other"'):
            await store.patch_state(TENANT, StateName(StateScope.SESSION, other.ref), patch, NOW)
    for value in ('"first"', '"second"'):
        await append(store, draft(value))
        for name in OWNERS:
            for patch in _patches(count, value):
                await store.patch_state(TENANT, name, patch, NOW)
    await store._engine.write(lambda connection: connection.exec_driver_sql("ANALYZE"))


async def _read(store: SqlStore, name: StateName, query: StateQuery) -> None:
    page = await store.get_state(TENANT, name, query)
    assert len(page.values) in (2, 10, 20)


async def test_a_page_of_state_takes_as_many_steps_of_100_values_as_of_10_000(tmp_path: Path) -> None:
    steps: dict[tuple[str, str], list[int]] = {(name.scope.name, query): [] for name in OWNERS for query in QUERIES}
    for count in (100, MAX_STATE_KEYS):
        async with open_store(f"sqlite:///{tmp_path}/{count}.db", CODEC, options=NO_INDEX) as store:
            await _filled(store, count)
            for name in OWNERS:
                for query in QUERIES:
                    statements = await executed(_read(store, name, QUERIES[query]), "state_totals")
                    steps[name.scope.name, query].append(await steps_of(store, statements))
    assert all(0 < many <= few * 1.3 for few, many in steps.values()), steps


@pytest.mark.postgres
async def test_a_page_of_state_looks_at_a_few_rows(postgres_url: str) -> None:
    async with open_store(postgres_url, CODEC, options=NO_INDEX) as store:
        await _filled(store, MAX_STATE_KEYS)
        for name in OWNERS:
            for query in QUERIES:
                statements = await executed(_read(store, name, QUERIES[query]), "state_totals")
                assert statements, query
                for sql, params in statements:
                    most, plan = await looked_at(store, sql, params)
                    assert most <= FEW, f"{name.scope.name} {query}\n{plan}"


@pytest.mark.postgres
async def test_values_of_a_log_version_are_read_from_those_of_the_session(postgres_url: str) -> None:
    """And not from those of others: the cost is that of what was replaced since."""
    async with open_store(postgres_url, CODEC, options=NO_INDEX) as store:
        await _filled(store, 1000)
        query = StateQuery(as_of=1, prefix="k0005")
        statements = await executed(_read(store, OWNERS[0], query), "state_totals")
        assert statements
        for sql, params in statements:
            most, plan = await looked_at(store, sql, params)
            assert most <= FEW, plan
        assert (await store.load_session(TENANT, ref(), LoadQuery(None))).states[StateScope.SESSION].version == 2
