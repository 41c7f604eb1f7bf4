"""What calls read: a run not more with each session that is selected, was taken before, or stays, an erasure not more with each
archive of others."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from tests.support.clock import Clock
from tests.support.codec import CODEC
from tests.support.sessions import TENANT
from threadkeep_server.domain.erasure import Erasure, ErasureScope
from threadkeep_server.domain.model import SECOND_NS, Caller, NewSession, SessionRef
from threadkeep_server.domain.retention.policies import Action, RetentionPolicy
from threadkeep_server.domain.retention.receipts import Outcome, Receipt
from threadkeep_server.domain.sweeping import SweepGuard
from threadkeep_server.providers.archives.objects import Objects
from threadkeep_server.service.retention.archive import Archive
from threadkeep_server.service.retention.erasing import ArchiveErasure
from threadkeep_server.service.retention.guard import RetentionGuard
from threadkeep_server.service.retention.paths import Named
from threadkeep_server.service.retention.runner import Restored, RetentionRunner
from threadkeep_server.service.retention.service import RetentionParts, RetentionService, RunReport, RunRequest
from threadkeep_server.store.contract.sessions import SessionPage, SessionQuery
from threadkeep_server.store.inmemory import InMemoryStore

DAY = 86_400 * SECOND_NS
AT_ONCE = 50
POLICIES = (
    RetentionPolicy("desk", Action.DELETE, apps=frozenset(["desk"]), age=DAY),
    RetentionPolicy("old", Action.DELETE, idle=DAY, keep={"hold": "*"}),
)


class CountingStore(InMemoryStore):
    """Counts the sessions that lists return."""

    rows = 0

    async def list_sessions(self, tenant: str, query: SessionQuery) -> SessionPage:
        page = await super().list_sessions(tenant, query)
        self.rows += len(page.sessions)
        return page


class NoTransfer:
    async def write(self, _tenant: str, _ref: SessionRef, _into: Path) -> int:
        raise NotImplementedError

    async def read(self, _tenant: str, _lines: Path) -> Restored:
        raise NotImplementedError


class Run:
    """A store with sessions to delete, and others between them that stay, and the calls of a run over it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.store = CountingStore(CODEC, self.clock)
        numbers, archive = count(1), Archive(Objects("memory:///", {}), b"key")
        runner = RetentionRunner(self.store, archive, NoTransfer(), POLICIES, self.clock, lambda: f"{next(numbers):04}")
        guard = RetentionGuard(self.store, runner, SweepGuard(0), clock=self.clock, monotonic=self.clock)
        self.service = RetentionService(RetentionParts(runner, archive, guard, NoTransfer(), self.clock))

    async def fill(self, sessions: int, stay_every: int) -> None:
        for number in range(sessions):
            self.clock.now += 1
            ref = SessionRef(("desk", "shop")[number % 2], "ann", f"s{number}")
            labels = {"hold": ""} if number % stay_every == 0 else {}
            new = NewSession(ref, f"u{number}", self.clock.now, None, labels=labels)
            await self.store.create_session(TENANT, new, return_existing=False)
        self.clock.now += 10 * DAY

    async def call(self, before: RunReport | None = None) -> tuple[RunReport, int]:
        """Returns what the call did, and the number of sessions that it read."""
        self.store.rows = 0
        since = None if before is None else before.following
        report = await self.service.run(Caller(TENANT), RunRequest(AT_ONCE, since=since))
        return report, self.store.rows


async def _whole(sessions: int, stay_every: int) -> tuple[int, list[int]]:
    """Returns the number of deleted sessions, and what each call read."""
    run = Run()
    await run.fill(sessions, stay_every)
    report, rows = await run.call()
    taken, read = len(report.receipts), [rows]
    while report.following is not None:
        report, rows = await run.call(report)
        taken += len(report.receipts)
        read.append(rows)
    left = (await run.store.list_sessions(TENANT, SessionQuery(limit=10_000))).sessions
    assert len(left) == sessions - taken
    assert all("hold" in session.labels for session in left)
    return taken, read


@pytest.mark.parametrize("stay_every", [5, 1000])
async def test_a_call_that_continues_a_run_reads_as_much_among_many_sessions_as_among_few(
    tmp_path: Path, stay_every: int
) -> None:
    few, read_of_few = await _whole(200, stay_every)
    many, read_of_many = await _whole(800, stay_every)
    assert len(read_of_few) == -(-few // AT_ONCE)
    assert len(read_of_many) == -(-many // AT_ONCE)
    most = 3 * (AT_ONCE + 1)  # a page at the end of a policy, one of the next, and one that sessions that stay fill up
    assert max(read_of_few[1:]) <= most
    assert max(read_of_many[1:]) <= most
    assert sum(read_of_many) <= 4 * 800, "a run reads each session a few times, however many calls it has"


async def test_a_run_takes_by_the_time_of_its_beginning() -> None:
    run = Run()
    await run.fill(120, 1000)
    first, _ = await run.call()
    late = NewSession(SessionRef("shop", "ann", "late"), "late", run.clock.now, None)
    await run.store.create_session(TENANT, late, return_existing=False)
    run.clock.now += 365 * DAY  # a wrong clock during the run
    second, _ = await run.call(first)
    third, _ = await run.call(second)
    assert (third.more, third.following) == (False, None)
    left = (await run.store.list_sessions(TENANT, SessionQuery())).sessions
    assert [session.ref.session_id for session in left] == ["late", "s0"]


class CountingStorage(Objects):
    """Counts the objects that it returns, and the names that lists do."""

    def __init__(self) -> None:
        super().__init__("memory:///", {})
        self.objects = self.listed = 0

    async def get(self, name: str) -> bytes | None:
        self.objects += 1
        return await super().get(name)

    async def names(self, prefix: str) -> Sequence[str]:
        found = await super().names(prefix)
        self.listed += len(found)
        return found


def _receipt(number: int, labels: Mapping[str, str]) -> Receipt:
    ref = SessionRef(("desk", "shop")[number % 2], f"ann{number % 7}", f"s{number}")
    receipt = Receipt(f"{number:04}", "run", "old", Action.DELETE, TENANT, ref, f"u{number}", 1, 1, 1, 1, 1, 1)
    return replace(receipt, outcome=Outcome.DELETED, labels=labels)


@pytest.mark.parametrize("app", [None, "desk"])
async def test_an_erasure_by_label_reads_as_much_among_many_archives_as_among_few(app: str | None) -> None:
    read = []
    for archives in (30, 300):
        storage, store = CountingStorage(), InMemoryStore(CODEC, Clock())
        archive = Archive(storage, b"key")
        for number in range(archives):
            labels = {"kind": "chat" if number < 10 else "draft", "topic": "tea" if number < 4 or number > 9 else "coffee"}
            receipt = _receipt(number, labels)
            await archive.begin(receipt)
            await archive.end(receipt)
        storage.objects = storage.listed = 0
        erasure = ArchiveErasure(archive, store, lambda *_: None)
        scope = ErasureScope(app=app, labels={"kind": "chat", "topic": "coffee"})
        assert await erasure.erase(Erasure(TENANT, "r1", scope, 0), 0, time.monotonic() + 60)
        read.append((storage.objects, storage.listed))
        left = {each.id for each in await archive.receipts(TENANT, Named(), 1000)}
        erased = {f"{number:04}" for number in range(4, 10) if app is None or number % 2 == 0}
        assert left == {f"{number:04}" for number in range(archives)} - erased
    # The names with one of the labels, and those in the folders of what is erased; its receipts.
    assert read == [(6, 10 + 6 + 6), (6, 10 + 6 + 6)] if app is None else [(3, 5 + 3 + 3), (3, 5 + 3 + 3)]
