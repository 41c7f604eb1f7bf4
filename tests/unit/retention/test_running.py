"""Runs of retention: what a wrong clock, another run, another server and failures of storage and database change."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.support.clock import Clock
from tests.support.codec import CODEC, draft
from tests.support.sessions import TENANT, append, ref, session_with
from threadkeep_server.domain.errors import SessionNotFound, StoreUnavailable
from threadkeep_server.domain.model import SECOND_NS, SessionRef
from threadkeep_server.domain.retention.policies import Action, RetentionPolicy
from threadkeep_server.domain.retention.receipts import Outcome
from threadkeep_server.domain.sweeping import Hold, SweepGuard
from threadkeep_server.providers.archives.base import StorageFailed
from threadkeep_server.providers.archives.directory import Directory
from threadkeep_server.service.retention.archive import Archive
from threadkeep_server.service.retention.guard import RetentionGuard
from threadkeep_server.service.retention.paths import Named
from threadkeep_server.service.retention.runner import Restored, RetentionRunner
from threadkeep_server.service.retention.stats import RunOutcome
from threadkeep_server.service.retention.worker import RetentionWorker
from threadkeep_server.store.inmemory import InMemoryStore

DAY = 86_400 * SECOND_NS
POLICY = RetentionPolicy("old", Action.ARCHIVE, idle=DAY)


class Lines:
    """Writes the texts of a session. `meanwhile`: called after each write."""

    def __init__(self, store: InMemoryStore) -> None:
        self._store = store
        self.meanwhile: Callable[[], Awaitable[object]] | None = None

    async def write(self, tenant: str, named: SessionRef, into: Path) -> int:
        events = (await self._store.get_session(tenant, named)).last_seq
        into.write_text(f"{named.session_id} {events}\n")  # noqa: ASYNC240 - a line
        if self.meanwhile is not None:
            await self.meanwhile()
        return events

    async def read(self, tenant: str, lines: Path) -> Restored:
        raise NotImplementedError


class Parts:
    """A runner over a store in memory and an archive in a directory."""

    def __init__(self, root: Path, policy: RetentionPolicy = POLICY) -> None:
        self.clock, self.monotonic = Clock(), Clock(0)
        self.store = InMemoryStore(CODEC, self.clock)
        self.lines = Lines(self.store)
        self.root = root
        self.archive = Archive(Directory(root), b"key")
        numbers = count(1)
        self.runner = RetentionRunner(self.store, self.archive, self.lines, [policy], self.clock, lambda: f"{next(numbers):04}")
        self.guard = RetentionGuard(self.store, self.runner, SweepGuard(DAY), clock=self.clock, monotonic=self.monotonic)

    def worker(self, owner: str) -> RetentionWorker:
        return RetentionWorker(self.store, self.runner, self.guard, owner, 60.0, 100, clock=self.clock)

    def advance(self, span: int) -> None:
        """Moves both clocks, as time does."""
        self.clock.now += span
        self.monotonic.now += span

    async def names(self) -> list[str]:
        return [session.ref.session_id for _, session in await self._all()]

    async def _all(self) -> Any:
        return [(TENANT, planned.session) async for planned in self.runner.find(TENANT)]

    def runs(self) -> list[dict[str, Any]]:
        """Returns the receipts of runs."""
        return [json.loads(path.read_text()) for path in self.root.glob("runs/*/*.json")]

    def files(self, pattern: str) -> int:
        return len(list(self.root.glob(pattern)))


async def gone(parts: Parts, name: str = "s1") -> bool:
    try:
        await parts.store.get_session(TENANT, ref(name))
    except SessionNotFound:
        return True
    return False


async def test_a_clock_that_jumps_deletes_nothing_before_the_hold_has_passed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    parts = Parts(tmp_path)
    worker, started = parts.worker("a"), parts.clock.now
    await session_with(parts.store, draft("one"))
    assert await worker.turn() is True
    parts.clock.now += 2 * DAY
    for _ in range(2):
        assert await worker.turn() is False
    assert worker.hold is Hold.JUMP
    assert caplog.text.count("retention deletes nothing for now: the clock has moved") == 1
    [refused] = [run for run in parts.runs() if run["held"]]
    assert (refused["held"], refused["tenant"], refused["sessions"]) == (Hold.JUMP.value, TENANT, [])
    assert not await gone(parts)
    assert (worker.stats.runs, worker.stats.last_success) == ({RunOutcome.DONE: 1, RunOutcome.HELD: 2}, started)
    parts.advance(DAY)
    assert await worker.turn() is True
    assert await gone(parts)
    assert (worker.stats.runs[RunOutcome.DONE], worker.stats.last_success) == (2, parts.clock.now)


async def test_one_server_at_a_time_runs_policies(tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    first, second = parts.worker("a"), parts.worker("b")
    assert await first.turn() is True
    assert await second.turn() is False
    parts.advance(61 * SECOND_NS)
    assert await second.turn() is True
    assert await first.turn() is False


async def test_a_run_is_bounded_and_the_next_one_continues(tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    for number in range(5):
        await session_with(parts.store, draft("one"), session_id=f"s{number}")
    parts.advance(DAY)
    taken = [await parts.runner.run(TENANT, 2) for _ in range(3)]
    assert [(len(run.receipts), run.more) for run in taken] == [(2, True), (2, True), (1, False)]
    assert parts.files("runs/*/*.json") == 3
    assert (await parts.runner.run(TENANT, 2)).receipts == []


async def test_a_session_that_is_appended_to_while_it_is_archived_stays_without_an_archive(tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    await session_with(parts.store, draft("one"))
    parts.advance(DAY)
    parts.lines.meanwhile = lambda: append(parts.store, draft("two"), now=parts.clock.now)
    [receipt] = (await parts.runner.run(TENANT, 9)).receipts
    assert receipt.outcome is Outcome.CHANGED
    assert (await parts.store.get_session(TENANT, ref())).last_seq == 2
    assert parts.files("archives/**/*.*") == parts.files("pending/*/*") == 0


async def test_what_another_run_stored_of_a_session_that_stays_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = Parts(tmp_path)
    await session_with(parts.store, draft("one"))
    parts.advance(DAY)

    async def settled_first(*_: Any) -> bool:
        await parts.runner.settle(TENANT)
        assert parts.files("archives/**/*.json") == 1
        return False

    monkeypatch.setattr(parts.store, "delete_unchanged", settled_first)
    [receipt] = (await parts.runner.run(TENANT, 9)).receipts
    assert receipt.outcome is Outcome.CHANGED
    assert await parts.archive.archived(TENANT, ref()) is None
    assert parts.files("archives/**/*.*") == 0


@pytest.mark.parametrize(("deleted", "concerned"), [(True, True), (True, False), (False, True)])
async def test_a_deletion_whose_outcome_is_unknown_is_settled_by_the_next_run_also_of_a_tenant_without_sessions_or_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deleted: bool, concerned: bool
) -> None:
    parts = Parts(tmp_path)
    await session_with(parts.store, draft("one"))
    parts.advance(DAY)
    delete = parts.store.delete_unchanged

    async def lost(*arguments: Any) -> bool:
        if deleted:
            await delete(*arguments)
        raise StoreUnavailable("the connection was lost")

    monkeypatch.setattr(parts.store, "delete_unchanged", lost)
    [receipt] = (await parts.runner.run(TENANT, 9)).receipts
    assert receipt.outcome is Outcome.FAILED
    monkeypatch.setattr(parts.store, "delete_unchanged", delete)
    if not concerned:
        parts.runner.policies = [replace(POLICY, tenants=frozenset(["other"]))]
    assert await parts.worker("a").turn() is True
    assert await gone(parts)
    assert parts.files("pending/*/*") == 0
    outcomes = [each.outcome for each in await parts.archive.receipts(TENANT, Named(), 9)]
    assert outcomes.count(Outcome.DELETED) == 1
    found = await parts.archive.archived(TENANT, ref())
    assert found is not None
    assert found.outcome is Outcome.DELETED


async def test_a_storage_that_fails_keeps_every_session_and_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = Parts(tmp_path)
    for number in range(15):
        await session_with(parts.store, draft("one"), session_id=f"s{number}")
    parts.advance(DAY)
    put = Directory.put

    async def refused(storage: Directory, name: str, content: bytes | Path) -> None:
        if name.startswith("archives"):
            raise StorageFailed("the disk is full")
        await put(storage, name, content)

    monkeypatch.setattr(Directory, "put", refused)
    worker = parts.worker("a")
    assert await worker.turn() is True
    assert worker.stats.runs == {RunOutcome.FAILED: 1}
    run = await parts.runner.run(TENANT, 100)
    assert ([each.outcome for each in run.receipts], run.more) == ([Outcome.FAILED] * 10, True)
    assert len(await parts.names()) == 15
