"""The tail with store calls that overlap, are late or fail: nothing is lost or repeated, and subscribers are independent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest

from tests.support.codec import CODEC, draft
from tests.support.sessions import TENANT, append, create, ref
from tests.unit.feed.lines import Lines, Watcher, tailing
from threadkeep_server.domain.feed import BEGINNING, Change, ChangePage, FeedEvent, FeedScope, FeedTrimmed, Position
from threadkeep_server.domain.filters import ALL
from threadkeep_server.store.inmemory import InMemoryStore


@pytest.fixture
async def store() -> InMemoryStore:
    made = InMemoryStore(CODEC)
    await create(made)
    return made


async def test_a_change_committed_while_the_head_is_read_is_not_lost(
    store: InMemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, changes = store.feed_head, store.changes
    head_told, page_told = asyncio.Event(), asyncio.Event()

    async def late_head() -> Position:
        found = await head()
        await head_told.wait()
        return found

    async def late_page(after: Position, *args: Any, **options: Any) -> ChangePage:
        if after == (0, 2):
            await page_told.wait()
        return await changes(after, *args, **options)

    monkeypatch.setattr(store, "feed_head", late_head)
    monkeypatch.setattr(store, "changes", late_page)
    async with tailing(store) as tail:
        waiting = asyncio.create_task(tail.wait_beyond(Position(0, 99), 60))
        for _ in range(2):
            await asyncio.sleep(0.01)
            await append(store, draft())
        await asyncio.sleep(0.01)
        head_told.set()
        async with Watcher(store, tail, start=Position(0, 1)) as watcher:
            page_told.set()
            lines = [line for line in await watcher.lines(4) if not line.startswith("#")]
            assert lines == ["APPENDED s1 1 @2", "APPENDED s1 2 @3"]
        waiting.cancel()


async def test_who_waits_is_woken_when_the_tail_goes_on_at_the_head_of_another_incarnation(
    store: InMemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a failover: the tail publishes nothing of what it passes over."""
    changes = store.changes
    begin_again: list[Callable[[], None]] = []

    async def of_another_incarnation(*args: Any, **options: Any) -> ChangePage:
        page = await changes(*args, **options)
        if page.changes and begin_again:
            begin_again.pop()()
        return page

    monkeypatch.setattr(store, "on_incarnation", begin_again.append)
    monkeypatch.setattr(store, "changes", of_another_incarnation)
    async with tailing(store) as tail:
        waiting = asyncio.create_task(tail.wait_beyond(Position(0, 1), 3600))
        await asyncio.sleep(0.01)
        await append(store, draft())
        await asyncio.wait_for(waiting, 60)
        assert not begin_again
        assert (tail.incarnations, tail.position) == (1, Position(0, 2))


async def test_the_tail_survives_a_failure_after_trimming(store: InMemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("threadkeep_server.feed.live.tail._RETRY_S", 0.02)
    tried = asyncio.Event()

    async def trimmed(*_: Any, **__: Any) -> ChangePage:
        raise FeedTrimmed(Position(0, 1))

    async def gone() -> Position:
        tried.set()
        raise ConnectionError

    async with tailing(store) as tail, Watcher(store, tail, start=BEGINNING) as watcher:
        await watcher.caught_up()
        with monkeypatch.context() as patched:
            patched.setattr(store, "changes", trimmed)
            patched.setattr(store, "feed_head", gone)
            await asyncio.wait_for(tried.wait(), 60)
        await append(store, draft())
        while (line := await watcher.line()).startswith("#"):
            pass
        assert line == "APPENDED s1 1 @2"


class _Faulty(Lines):
    def change(self, change: Change, events: Sequence[FeedEvent], before: Position, skip_seq: int = 0) -> list[bytes]:
        if change.position.change == 3:
            raise ValueError
        return super().change(change, events, before, skip_seq)


async def test_a_change_that_fails_to_encode_for_one_subscriber_is_sent_once_to_others(store: InMemoryStore) -> None:
    async with tailing(store) as tail, Watcher(store, tail, start=BEGINNING) as watcher:
        await watcher.caught_up()
        scope = FeedScope(TENANT, user_id="alice")
        faulty = await tail.attach("faulty", scope, ALL, _Faulty())
        try:
            for _ in range(4):
                await append(store, draft())
            await asyncio.sleep(0.1)
            assert await watcher.lines(4) == [f"APPENDED s1 {seq} @{seq + 1}" for seq in range(1, 5)]
            assert faulty.covered >= (0, 3)
        finally:
            tail.detach(faulty)
        assert watcher.channel is not None
        assert tail.stats().kept_bytes == sum(frame.size for frame in watcher.channel.kept())


async def test_after_seq_does_not_apply_to_a_later_session_of_the_name(store: InMemoryStore) -> None:
    for _ in range(5):
        await append(store, draft())
    start = await store.locate(TENANT, ref(), 5)
    async with (
        tailing(store, kept_bytes=0) as tail,
        Watcher(store, tail, FeedScope(TENANT, *ref()), start=start, skip_seq=5) as watcher,
    ):
        assert await watcher.caught_up() == []
        await store.delete_session(TENANT, ref())
        await create(store)
        for _ in range(2):
            await append(store, draft())
            await asyncio.sleep(0.02)  # has its own frame, which displaces the others
        assert await watcher.line() == "#FELL_BEHIND @6 skipping 5"
        expected = ["DELETED s1  @7", "CREATED s1  @8", "APPENDED s1 1 @9", "APPENDED s1 2 @10"]
        assert await watcher.lines(4) == expected


async def test_events_up_to_a_seq_are_left_out_of_a_change_that_settles_later(
    store: InMemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await append(store, draft(), draft(), draft())
    start = await store.locate(TENANT, ref(), 2)

    async def nothing_settled(after: Position, *_: Any, **__: Any) -> ChangePage:
        return ChangePage([], after, unsettled=True)

    async def settled_before() -> Position:
        return Position(0, 1)

    async with tailing(store) as tail, AsyncExitStack() as stack:
        with monkeypatch.context() as patched:
            patched.setattr(store, "changes", nothing_settled)
            patched.setattr(store, "feed_head", settled_before)
            watching = Watcher(store, tail, FeedScope(TENANT, *ref()), start=start, skip_seq=2)
            watcher = await stack.enter_async_context(watching)
            assert await watcher.caught_up() == []
        assert await watcher.line() == "APPENDED s1 3 @2"
        await append(store, draft())
        assert await watcher.line() == "APPENDED s1 4 @3"


async def test_subscribers_share_a_change_larger_than_the_kept_bytes(store: InMemoryStore) -> None:
    async with tailing(store, kept_bytes=10) as tail, AsyncExitStack() as stack:
        watchers = [await stack.enter_async_context(Watcher(store, tail, start=BEGINNING)) for _ in range(3)]
        for watcher in watchers:
            await watcher.caught_up()
        lines = [asyncio.create_task(watcher.line()) for watcher in watchers]
        await asyncio.sleep(0)
        await append(store, draft())
        assert await asyncio.gather(*lines) == ["APPENDED s1 1 @2"] * 3
        assert tail.stats().fell_behind == 0
        # The next frame displaces it.
        await append(store, draft())
        assert [await watcher.line() for watcher in watchers] == ["APPENDED s1 2 @3"] * 3
        assert tail.stats().kept_bytes == len("APPENDED s1 2 @3\n")


async def test_a_drain_does_not_wait_for_the_rest_of_a_page(store: InMemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("threadkeep_server.feed.live.catch_up.MOST_FRAME_BYTES", 1)
    for _ in range(20):
        await append(store, draft())
    async with tailing(store) as tail, Watcher(store, tail, start=BEGINNING) as watcher:
        assert await watcher.lines(3) == ["#STARTED @0", "CREATED s1  @1", "APPENDED s1 1 @2"]
        tail.drain()
        assert await watcher.line() == "#DRAINING @2"


async def test_subscriptions_that_ended_leave_nothing(store: InMemoryStore) -> None:
    start = await store.feed_head()
    async with tailing(store) as tail, Watcher(store, tail, FeedScope(TENANT, user_id="nobody"), start=start):
        for _ in range(20):
            head = await store.feed_head()
            async with Watcher(store, tail, start=head):
                await append(store, draft())
                await tail.wait_beyond(head, 60)
                assert len(tail._kept) == 1
        assert len(tail._kept) == 0
        assert (tail.stats().channels, tail.stats().kept_bytes) == (1, 0)
