"""A read as of a moment costs about what a present one does, however much was archived before and after the moment."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.store.engines.slices import emptied
from tests.store.engines.test_plans import NO_INDEX, Recorder
from tests.store.engines.test_plans_postgres import thrown_away
from tests.support.codec import CODEC, draft
from tests.support.runs.thoroughness import size
from tests.support.sessions import append, compact, create, placed, ref
from threadkeep_server.domain.context import ContextSpec
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.model import Role
from threadkeep_server.store.contract.events import EventQuery
from threadkeep_server.store.contract.history import AsOf
from threadkeep_server.store.sql.log.slices.archivings import archivings
from threadkeep_server.store.sql.store import SqlStore, open_store

ENOUGH = 1 << 40
OF_THE_MOMENT = 2000
"""Steps that find a moment: they add up at most 63 events."""
ACTIVE = 150
SHORT, LONG = 1000, size(100_000, 5000)

Read = Callable[[SqlStore, AsOf | None], Awaitable[Any]]
CONTEXTS: dict[str, Read] = {
    "context": lambda store, as_of: store.get_context("acme", ref(), ContextSpec(), ENOUGH, as_of),
    "turns": lambda store, as_of: store.get_context("acme", ref(), ContextSpec(max_turns=5), ENOUGH, as_of),
}
LISTS: dict[str, Read] = {
    "newest": lambda store, as_of: store.list_events("acme", ref(), EventQuery(EventFilter(exact_last_n=50), as_of=as_of)),
    "active": lambda store, as_of: store.list_events(
        "acme", ref(), EventQuery(EventFilter(exclude_archived=True), limit=50, as_of=as_of)
    ),
    "page": lambda store, as_of: store.list_events("acme", ref(), EventQuery(descending=True, limit=50, as_of=as_of)),
}
READS = CONTEXTS | LISTS


async def grown(store: SqlStore, count: int, name: str) -> int:
    """Appends, and archives all but the newest as a summary. Returns the log version."""
    for start in range(0, count, 1000):
        batch = range(start, min(start + 1000, count))
        await append(store, *(draft(f"text {n}", event_id=f"{name}-{n}", role=Role.USER) for n in batch))
    window = await store.read_window("acme", ref())
    *old, first = [event.event_id for event in window.events[1 : -ACTIVE + 2]]
    summary = draft("summary", event_id=name, role=Role.ASSISTANT, synthetic=True)
    return (await compact(store, old, placed(first, summary))).compaction.log_version


async def filled(store: SqlStore) -> dict[str, AsOf]:
    """Makes moments at which as many events were active, but others before and after them had been archived."""
    await create(store)
    await append(store, draft("prompt", role=Role.SYSTEM))
    moments = {
        name: AsOf(log_version=await grown(store, SHORT if name == "early" else LONG, name))
        for name in ("early", "late", "now")
    }
    await emptied(store, archivings)  # what is not yet marked is looked up, for some seconds after a long compaction
    return moments


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[SqlStore]:
    async with open_store(f"sqlite:///{tmp_path}/threadkeep.db", CODEC, options=NO_INDEX) as store:
        yield store


async def test_steps_of_a_read_as_of_a_moment(sqlite: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = await filled(sqlite)
    for name, read in READS.items():
        steps: dict[str, int] = {}
        for moment, as_of in {"present": None, **moments}.items():
            with monkeypatch.context() as patch:
                recorder = Recorder(patch)
                page = await read(sqlite, as_of)
            assert len(page.events) == {"context": ACTIVE + 1, "turns": 7}.get(name, 50), (name, moment)
            assert recorder.scans() == [], (name, moment)
            assert ("USING INDEX events_all_leads" in " ".join(recorder.plans)) == (
                as_of is not None and name in (*CONTEXTS, "active")
            )
            steps[moment] = recorder.steps
        present = steps.pop("present")
        assert max(steps.values()) <= 1.3 * present + OF_THE_MOMENT, (name, present, steps)


@pytest.mark.postgres
async def test_rows_of_a_read_as_of_a_moment(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_store(postgres_url, CODEC, options=NO_INDEX) as store:
        moments = await filled(store)
        await store._engine.write(lambda connection: connection.exec_driver_sql("ANALYZE"))
        for name, read in READS.items():
            for moment, as_of in moments.items():
                most, plans = await thrown_away(lambda read=read, as_of=as_of: read(store, as_of), monkeypatch)  # type: ignore[misc]
                assert most <= 2 * ACTIVE, (name, moment, plans)
