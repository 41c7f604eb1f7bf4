"""Reads of branches, of usage and of a whole session cost the same however long the log: on both engines."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.store.engines.test_plans import NO_INDEX
from tests.store.engines.test_plans_postgres import thrown_away
from tests.support.codec import CODEC, draft
from tests.support.runs.thoroughness import size
from tests.support.sessions import TENANT, append, create, ref
from tests.support.statements import Read, executed, looked_at, steps_of_read
from threadkeep_server.domain.context import ContextSpec
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.model import Role, Usage
from threadkeep_server.store.contract.breakdowns import UsageQuery
from threadkeep_server.store.contract.events import EventQuery
from threadkeep_server.store.contract.loading import LoadQuery
from threadkeep_server.store.sql.store import SqlStore, open_store

BRANCHES, ON_EACH = 20, 5
SHORT, LONG = 1000, size(100_000, 4000)
FEW = 300
ON_BRANCH = EventFilter(branch="b7", exact_branch=True)
READS: dict[str, Read] = {
    "branch": lambda store: store.list_events(TENANT, ref(), EventQuery(ON_BRANCH, limit=50)),
    "newest of a branch": lambda store: store.list_events(
        TENANT, ref(), EventQuery(EventFilter(branch="b7", exact_branch=True, exact_last_n=3))
    ),
    "erasable": lambda store: store.erasable(TENANT, ref(), ON_BRANCH, 50),
    "usage": lambda store: store.list_usage(TENANT, ref(), UsageQuery(limit=50, cursor=800 << 20)),
    "usage of a branch": lambda store: store.list_usage(TENANT, ref(), UsageQuery(branch="b7")),
    "load": lambda store: store.load_session(TENANT, ref(), LoadQuery(EventQuery(EventFilter(exact_last_n=50)), newest=True)),
    "load a context": lambda store: store.load_session(TENANT, ref(), LoadQuery(ContextSpec(last_n=20))),
}
FIRST: Read = lambda store: store.list_branches(TENANT, ref(), 10, None)  # noqa: E731
LISTED: Read = lambda store: store.list_branches(TENANT, ref(), 10, "b13")  # noqa: E731


async def grow(store: SqlStore, to: int) -> None:
    """Appends a few events to each branch, then to the root."""
    if not (have := (await store.get_session(TENANT, ref())).last_seq):
        branched = [draft(f"{n}", branch=f"b{n % BRANCHES}", usage=Usage(n)) for n in range(BRANCHES * ON_EACH)]
        await append(store, *branched)
    roles = (Role.USER, Role.ASSISTANT)
    for start in range(have, to, 500):
        batch = range(start, start + 500)
        await append(store, *(draft(f"{n}", role=roles[n % 2], usage=Usage(n), invocation_id=f"i{n // 4}") for n in batch))


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[SqlStore]:
    async with open_store(f"sqlite:///{tmp_path}/threadkeep.db", CODEC, options=NO_INDEX) as store:
        await create(store)
        yield store


async def test_a_read_takes_as_many_steps_of_a_long_log(sqlite: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: dict[str, list[int]] = {name: [] for name in (*READS, "branches", "first branches")}
    for length in (SHORT, LONG):
        await grow(sqlite, length)
        for name, read in {**READS, "branches": LISTED, "first branches": FIRST}.items():
            steps[name].append(await steps_of_read(sqlite, read, monkeypatch))
    assert not {name: (few, many) for name, (few, many) in steps.items() if not 0 < many <= few * 1.3}


@pytest.mark.postgres
async def test_a_read_looks_at_a_few_rows(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_store(postgres_url, CODEC, options=NO_INDEX) as store:
        await create(store)
        await grow(store, LONG)
        await store._engine.write(lambda connection: connection.exec_driver_sql("ANALYZE"))
        for name in READS.keys() - {"erasable"}:
            most, plans = await thrown_away(lambda name=name: READS[name](store), monkeypatch)  # type: ignore[misc]
            assert most <= FEW, f"{name}\n{plans}"
        for read in (LISTED, READS["erasable"], READS["load"]):
            for sql, params in await executed(read(store), "events"):
                most, plan = await looked_at(store, sql, params)
                assert most <= FEW, plan
