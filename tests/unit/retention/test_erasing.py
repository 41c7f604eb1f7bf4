"""Erasures of archives next to runs, restores and failures: what is erased stays so."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.support.clock import Clock
from tests.support.codec import CODEC, draft
from tests.support.sessions import TENANT, ref, session_with
from threadkeep_server.domain.erasure import Erasure, ErasureScope
from threadkeep_server.domain.errors import ArchiveFailed
from threadkeep_server.domain.model import SECOND_NS, Caller, NewSession, SessionRef
from threadkeep_server.domain.retention.policies import Action, RetentionPolicy
from threadkeep_server.domain.retention.receipts import Outcome
from threadkeep_server.domain.sweeping import SweepGuard
from threadkeep_server.providers.archives.base import StorageFailed
from threadkeep_server.providers.archives.directory import Directory
from threadkeep_server.service.retention.archive import Archive
from threadkeep_server.service.retention.erasing import ArchiveErasure
from threadkeep_server.service.retention.guard import RetentionGuard
from threadkeep_server.service.retention.label_index import LabelIndex
from threadkeep_server.service.retention.paths import Named
from threadkeep_server.service.retention.runner import Restored, RetentionRunner
from threadkeep_server.service.retention.service import RetentionParts, RetentionService
from threadkeep_server.store.inmemory import InMemoryStore

DAY = 86_400 * SECOND_NS
CALLER = Caller(TENANT)
ANN = ErasureScope(user_id=ref().user_id)


class Steps:
    """Writes a line for a session, and stores one again. `writing`, `reading`: called before each."""

    def __init__(self, store: InMemoryStore, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self.writing: Callable[[], Awaitable[object]] | None = None
        self.reading: Callable[[], Awaitable[object]] | None = None

    async def write(self, tenant: str, named: SessionRef, into: Path) -> int:
        events = (await self._store.get_session(tenant, named)).last_seq
        if self.writing is not None:
            await self.writing()
        into.write_text(f"{named.session_id} {events}\n")  # noqa: ASYNC240 - a line
        return events

    async def read(self, tenant: str, lines: Path) -> Restored:
        if self.reading is not None:
            await self.reading()
        name, events = lines.read_text().split()  # noqa: ASYNC240 - a line
        await self._store.create_session(tenant, NewSession(ref(name), "new", self._clock.now, None), return_existing=False)
        return Restored(True, int(events), 0)


class Parts:
    def __init__(self, root: Path) -> None:
        self.root, self.clock = root, Clock()
        self.store = InMemoryStore(CODEC, self.clock)
        self.steps = Steps(self.store, self.clock)
        self.archive = Archive(Directory(root), b"key")
        numbers, policies = count(1), [RetentionPolicy("old", Action.ARCHIVE, idle=DAY)]
        self.runner = RetentionRunner(self.store, self.archive, self.steps, policies, self.clock, lambda: f"{next(numbers):04}")
        guard = RetentionGuard(self.store, self.runner, SweepGuard(0), clock=self.clock, monotonic=self.clock)
        self.service = RetentionService(RetentionParts(self.runner, self.archive, guard, self.steps, self.clock))
        self.noted: list[int] = []
        self.erasure = ArchiveErasure(self.archive, self.store, lambda _tenant, _scope, number: self.noted.append(number))

    async def session(self, name: str = "s1", labels: dict[str, str] | None = None) -> None:
        await session_with(self.store, draft("one"), session_id=name, labels=labels or {})
        self.clock.now += 2 * DAY

    async def erase(self, scope: ErasureScope = ANN, until: float | None = None) -> tuple[bool, int]:
        """Erases the sessions and the archives of a scope. Returns whether it has ended, and the number of archives so far."""
        wanted = Erasure(TENANT, "r1", scope, self.clock.now)
        latest = time.monotonic() + 60 if until is None else until
        erased = await self.store.erase(wanted, 60, lambda start: self.erasure.erase(wanted, start, latest))
        return erased.finish_time is not None, await self.erasure.count(wanted, erased.start_time)

    def files(self, pattern: str) -> list[Path]:
        return list(self.root.glob(pattern))

    def left(self) -> list[str]:
        """Returns the files and folders that name a user."""
        found = [path.relative_to(self.root).as_posix() for path in self.root.rglob("*")]
        texts = [path.name for path in self.root.rglob("*") if path.is_file() and b"alice" in path.read_bytes()]
        return [name for name in found if "alice" in name] + texts


async def test_nothing_of_a_user_is_left_and_the_count_is_reported_again(tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    for number in range(3):
        await parts.session(f"s{number}", {"kind": "chat", "number": str(number)})
    await parts.runner.run(TENANT, 10)
    assert len(parts.files("labels/**/session=s1/0*")) == 2
    [receipt] = parts.files("archives/**/session=s2/*.json")
    receipt.unlink()
    [folder] = parts.files("archives/**/session=s1")
    (folder / ".killed.partial").write_bytes(b"half")
    assert await parts.erase() == (True, 3)
    assert (await parts.erase(), parts.noted) == ((True, 3), [3])
    assert parts.left() == []
    [run] = [json.loads(path.read_text()) for path in parts.files("runs/*/*.json")]
    assert [sorted(each) for each in run["sessions"]] == [["outcome", "policy", "receipt", "sha256", "uid"]] * 3
    parts.clock.now += 31 * DAY
    await parts.erasure.erase(Erasure(TENANT, "r2", ANN, parts.clock.now), parts.clock.now, time.monotonic() + 60)
    assert parts.files("erasures/*/*") == [], "counts are kept as long as results"


async def test_a_long_erasure_ends_after_several_calls_and_counts_all(tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    for number in range(40):
        await parts.session(f"s{number}")
    await parts.runner.run(TENANT, 100)
    calls = [await parts.erase(until=0.0) for _ in range(4)]
    assert calls == [(False, 16), (False, 32), (False, 40), (True, 40)]
    assert parts.left() == []


async def test_labels_select_archives_and_an_archive_without_known_labels_is_reported(tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    await parts.session("s1", {"kind": "chat"})
    await parts.session("s2", {"kind": "draft"})
    await parts.runner.run(TENANT, 10)
    assert await parts.erase(ErasureScope(labels={"kind": "chat"})) == (True, 1)
    [left] = await parts.archive.receipts(TENANT, Named(), 10)
    assert left.ref.session_id == "s2"
    [receipt] = parts.files("archives/**/*.json")
    receipt.unlink()
    drafts = Erasure(TENANT, "r2", ErasureScope(labels={"kind": "draft"}), parts.clock.now)
    with pytest.raises(ArchiveFailed, match="its labels are not known"):
        await parts.erasure.erase(drafts, parts.clock.now, time.monotonic() + 60)


@pytest.mark.parametrize("failing", range(5))
async def test_an_erasure_by_label_that_fails_at_any_object_leaves_nothing_when_it_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    parts = Parts(tmp_path)
    await parts.session("s1", {"kind": "chat", "topic": "tea", "hot": ""})
    await parts.runner.run(TENANT, 10)
    remove, removed = Directory.remove, count()

    async def fails_once(storage: Directory, name: str) -> None:
        if next(removed) == failing:
            raise StorageFailed("the disk is read-only")
        await remove(storage, name)

    monkeypatch.setattr(Directory, "remove", fails_once)
    chats = ErasureScope(labels={"kind": "chat"})
    with pytest.raises(ArchiveFailed, match="the disk is read-only"):
        await parts.erase(chats)
    assert await parts.erase(chats) == (True, 1)
    assert parts.left() == []


async def test_a_run_that_fails_before_its_labels_are_indexed_is_settled_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = Parts(tmp_path)
    await parts.session("s1", {"kind": "chat"})

    async def fails(*_: Any) -> None:
        raise StorageFailed("the disk is read-only")

    with monkeypatch.context() as broken:
        broken.setattr(LabelIndex, "add", fails)
        await parts.runner.run(TENANT, 10)
    await parts.store.delete_session(TENANT, ref("s1"))
    assert [each.outcome for each in await parts.runner.settle(TENANT)] == [Outcome.DELETED]
    assert await parts.erase(ErasureScope(labels={"kind": "chat"})) == (True, 0)
    assert parts.left() == []


@pytest.mark.parametrize("killed", [False, True])
async def test_what_a_run_archives_during_the_erasure_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    parts = Parts(tmp_path)
    await parts.session(labels={"kind": "chat"})
    parts.steps.writing = parts.erase
    if killed:

        async def dies(*_: Any) -> bool:
            raise KeyboardInterrupt

        monkeypatch.setattr(parts.store, "delete_unchanged", dies)
        with pytest.raises(KeyboardInterrupt):
            await parts.runner.run(TENANT, 10)
        assert parts.left() != []
        assert await parts.runner.settle(TENANT) == []
    else:
        [receipt] = (await parts.runner.run(TENANT, 10)).receipts
        assert receipt.outcome is Outcome.CHANGED
    assert parts.files("pending/*/*") == parts.left() == []


async def test_a_session_that_a_run_deleted_before_the_erasure_looked_has_no_receipt_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = Parts(tmp_path)
    await parts.session()
    delete = parts.store.delete_unchanged

    async def erased_then(*arguments: Any) -> bool:
        done = await delete(*arguments)
        assert await parts.erase() == (True, 1)
        return done

    monkeypatch.setattr(parts.store, "delete_unchanged", erased_then)
    await parts.runner.run(TENANT, 10)
    assert parts.files("archives/**/*.*") == parts.files("pending/*/*") == []


async def test_an_archive_that_was_erased_is_not_restored(tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    await parts.session()
    await parts.runner.run(TENANT, 10)
    copies = {path: path.read_bytes() for path in parts.files("archives/**/*.*")}
    parts.steps.reading = parts.erase
    with pytest.raises(ArchiveFailed, match="was erased"):
        await parts.service.restore(CALLER, ref(), "")
    for path, content in copies.items():  # a backup of the archive comes back
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    with pytest.raises(ArchiveFailed, match="was erased"):
        await parts.service.restore(CALLER, ref(), "")
    assert (await parts.store.list_users(TENANT, None, 10)).users == []


async def test_an_erasure_ends_only_when_the_archives_are_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts(tmp_path)
    await parts.session("s1")
    await parts.runner.run(TENANT, 10)
    await parts.session("s2")

    async def fails(*_: Any) -> None:
        raise StorageFailed("the disk is read-only")

    with monkeypatch.context() as broken:
        broken.setattr(Directory, "remove", fails)
        for _ in range(2):
            with pytest.raises(ArchiveFailed, match="the disk is read-only; what is in the database is erased"):
                await parts.erase()
    assert await parts.erase() == (True, 1)
    erased = await parts.store.erase(Erasure(TENANT, "r1", ANN, parts.clock.now), 60)
    assert erased.sessions == 1
    assert parts.left() == []


async def test_another_place_than_the_archive_is_refused(tmp_path: Path) -> None:
    parts = Parts(tmp_path / "mounted")
    await parts.session("s1")
    await parts.runner.run(TENANT, 10)
    await parts.session("s2")
    (tmp_path / "mounted").rename(tmp_path / "elsewhere")
    with pytest.raises(StorageFailed, match="mount the archive"):
        await parts.runner.run(TENANT, 10)
    for _ in range(2):
        with pytest.raises(ArchiveFailed, match="mount the archive"):
            await parts.erase()
    with pytest.raises(ArchiveFailed, match="mount the archive"):
        await parts.erasure.session(TENANT, ref("s1"))
    (tmp_path / "elsewhere").rename(tmp_path / "mounted")
    assert await parts.erase() == (True, 1)


async def test_a_pending_receipt_that_was_changed_stops_an_erasure(tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    pending = tmp_path / "pending" / f"={TENANT}" / "0001.json"
    pending.parent.mkdir(parents=True)
    pending.write_bytes(b"{}")
    with pytest.raises(ArchiveFailed, match="was changed"):
        await parts.erase()


async def test_the_archives_of_a_session_are_erased_and_those_of_others_stay(tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    for name in ("s1", "s2"):
        await parts.session(name)
    await parts.runner.run(TENANT, 10)
    assert await parts.erasure.session(TENANT, ref("s1")) == 1
    assert await parts.erasure.session(TENANT, ref("s1")) == 0
    assert [each.ref for each in await parts.archive.receipts(TENANT, Named(), 10)] == [ref("s2")]
    assert parts.noted == [1]
