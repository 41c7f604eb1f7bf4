"""Subscriptions from the log to live and back, without gaps or repetitions."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import pytest

from tests.support.clock import NOW
from tests.support.codec import CODEC, draft
from tests.support.sessions import TENANT, append, create, ref
from tests.unit.feed.lines import Watcher, tailing
from threadkeep_server.domain.errors import ServerDraining
from threadkeep_server.domain.feed import BEGINNING, FeedScope, FeedTrimmed, Position
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.model import Role
from threadkeep_server.feed.live.tail import Tail
from threadkeep_server.store.inmemory import InMemoryStore


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore(CODEC)


@pytest.fixture
async def tail(store: InMemoryStore) -> AsyncIterator[Tail]:
    async with tailing(store) as tail:
        yield tail


async def filled(store: InMemoryStore, count: int, session_id: str = "s1") -> None:
    await create(store, session_id)
    for _ in range(count):
        await append(store, draft("hello"), to=ref(session_id))


async def test_a_subscription_reads_from_the_beginning_to_live(store: InMemoryStore, tail: Tail) -> None:
    await filled(store, 2)
    async with Watcher(store, tail, start=BEGINNING) as watcher:
        assert await watcher.lines(5) == [
            "#STARTED @0",
            "CREATED s1  @1",
            "APPENDED s1 1 @2",
            "APPENDED s1 2 @3",
            "#CAUGHT_UP @3",
        ]
        await append(store, draft(), draft())
        assert await watcher.line() == "APPENDED s1 3,4 @4"


async def test_a_live_subscription_starts_with_the_next_change(store: InMemoryStore, tail: Tail) -> None:
    await filled(store, 2)
    async with Watcher(store, tail, start=await store.feed_head()) as watcher:
        assert await watcher.lines(2) == ["#STARTED @3", "#CAUGHT_UP @3"]
        await append(store, draft())
        assert await watcher.line() == "APPENDED s1 3 @4"


async def test_a_change_between_start_and_attachment_is_not_missed(store: InMemoryStore, tail: Tail) -> None:
    await filled(store, 1)
    async with Watcher(store, tail, start=BEGINNING) as first:
        await first.caught_up()
        start = await store.feed_head()
        await append(store, draft())
        assert await first.line() == "APPENDED s1 2 @3"  # the tail has passed it when the second subscriber attaches
        async with Watcher(store, tail, start=start) as second:
            assert await second.caught_up() == ["APPENDED s1 2 @3"]


async def test_filtered_changes_are_not_sent_but_advance_tokens(store: InMemoryStore) -> None:
    async with tailing(store, heartbeat=0.05) as tail:
        await filled(store, 0)
        async with Watcher(
            store, tail, wanted=EventFilter(roles=frozenset({Role.TOOL})), start=await store.feed_head()
        ) as watcher:
            await watcher.lines(2)
            await append(store, draft())
            await append(store, draft(), draft(role=Role.TOOL))
            while (line := await watcher.line()).startswith("#HEARTBEAT"):  # how many there are depends on the machine
                pass
            assert line == "APPENDED s1 3 @3"
            await append(store, draft())
            while (line := await watcher.line()) == "#HEARTBEAT @3":
                pass
            assert line == "#HEARTBEAT @4"


async def test_text_filters_apply_live_and_from_the_log(store: InMemoryStore, tail: Tail) -> None:
    await create(store)
    await append(store, draft("a needle"), draft("hay"))
    async with Watcher(store, tail, wanted=EventFilter(keyword="NEEDLE"), start=BEGINNING) as watcher:
        assert await watcher.caught_up() == ["CREATED s1  @1", "APPENDED s1 1 @2"]
        await append(store, draft("hay"))
        await append(store, draft("hay"), draft("Needle"))
        assert await watcher.line() == "APPENDED s1 5 @4"


async def test_events_up_to_a_seq_are_left_out_of_a_change_with_later_ones(store: InMemoryStore, tail: Tail) -> None:
    await create(store)
    await append(store, draft(), draft(), draft())
    start = await store.locate(TENANT, ref(), 2)
    async with Watcher(store, tail, FeedScope(TENANT, *ref()), start=start, skip_seq=2) as watcher:
        # A resume here must also start after the seq.
        assert await watcher.line() == "#STARTED @1 skipping 2"
        assert await watcher.caught_up() == ["APPENDED s1 3 @2"]
        await append(store, draft())
        assert await watcher.line() == "APPENDED s1 4 @3"


async def test_a_subscriber_that_does_not_read_falls_behind_and_catches_up(store: InMemoryStore) -> None:
    async with tailing(store, kept_bytes=200) as tail:
        await filled(store, 0)
        async with Watcher(store, tail, start=await store.feed_head()) as slow, Watcher(store, tail, start=BEGINNING) as quick:
            await slow.lines(2)
            await quick.caught_up()
            for seq in range(1, 101):
                await append(store, draft())
                assert await quick.line() == f"APPENDED s1 {seq} @{seq + 1}"
            assert tail.stats().kept_bytes <= 200
            lines = await slow.lines(102)
            assert [line for line in lines if not line.startswith("#")] == [f"APPENDED s1 {n} @{n + 1}" for n in range(1, 101)]
            assert [line.split()[0] for line in lines if line.startswith("#")] == ["#FELL_BEHIND", "#CAUGHT_UP"]
            assert tail.stats().fell_behind == 1
            assert tail.stats().behind == 0


async def test_drain_ends_with_a_checkpoint_to_resume_from(store: InMemoryStore, tail: Tail) -> None:
    await filled(store, 1)
    async with Watcher(store, tail, start=BEGINNING) as watcher:
        await watcher.caught_up()
        tail.drain()
        assert await watcher.line() == "#DRAINING @2"
        with pytest.raises(ServerDraining):
            await watcher.line()


async def test_a_position_before_the_floor_is_an_error(store: InMemoryStore, tail: Tail) -> None:
    await filled(store, 5)
    await store.trim_feed(NOW + 1, 3)
    async with Watcher(store, tail, start=Position(0, 1)) as watcher:
        assert await watcher.line() == "#STARTED @1"
        with pytest.raises(FeedTrimmed) as trimmed:
            await watcher.line()
        assert trimmed.value.floor == (0, 3)


async def test_the_tail_sleeps_without_subscribers(store: InMemoryStore, tail: Tail, monkeypatch: pytest.MonkeyPatch) -> None:
    await filled(store, 1)
    async with Watcher(store, tail, start=BEGINNING) as watcher:
        await watcher.caught_up()
    await asyncio.sleep(0.1)
    monkeypatch.setattr(store, "changes", None)
    await append(store, draft())
    await asyncio.sleep(0.1)  # a read would fail with a warning
    monkeypatch.undo()
    async with Watcher(store, tail, start=BEGINNING) as watcher:
        assert (await watcher.caught_up())[-1] == "APPENDED s1 2 @3"


async def test_former_subscribers_leave_no_state(store: InMemoryStore, tail: Tail) -> None:
    await filled(store, 1)
    async with Watcher(store, tail, start=BEGINNING) as watcher:
        await watcher.caught_up()
        await append(store, draft())
        await watcher.line()
        assert tail.stats().kept_bytes > 0
    stats = tail.stats()
    assert (stats.subscribers, stats.channels, stats.kept_bytes, stats.behind) == (0, 0, 0, 0)


async def test_a_failing_store_delays_changes_and_loses_none(
    store: InMemoryStore, tail: Tail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threadkeep_server.feed.live.tail._RETRY_S", 0.05)
    await filled(store, 1)
    async with Watcher(store, tail, start=BEGINNING) as watcher:
        await watcher.caught_up()
        monkeypatch.setattr(store, "change_events", None)
        await append(store, draft())
        await asyncio.sleep(0.1)
        monkeypatch.undo()
        assert await watcher.line() == "APPENDED s1 2 @3"


async def test_wait_beyond_ends_with_a_change_or_with_time(store: InMemoryStore, tail: Tail) -> None:
    await filled(store, 1)
    head = await store.feed_head()
    await asyncio.wait_for(tail.wait_beyond(BEGINNING, 60), 30)
    waiting = asyncio.create_task(tail.wait_beyond(head, 60))
    await asyncio.sleep(0.02)
    assert not waiting.done()
    await append(store, draft())
    await asyncio.wait_for(waiting, 30)
    await asyncio.wait_for(tail.wait_beyond(await store.feed_head(), 0.05), 30)


async def write_at_random(store: InMemoryStore, rng: random.Random) -> None:
    for _ in range(150):
        await append(store, *(draft() for _ in range(rng.randint(1, 3))), to=ref(f"s{rng.randint(1, 3)}"))
        if rng.random() < 0.3:
            await asyncio.sleep(rng.random() * 0.004)


async def read_at_random(store: InMemoryStore, tail: Tail, rng: random.Random, end: int) -> list[int]:
    """Returns the changes up to `end`, seen by a subscriber that pauses, leaves and resumes."""
    seen: list[int] = []
    at = 0
    while at < end:
        async with Watcher(store, tail, start=Position(0, at)) as watcher:
            for _ in range(rng.randint(1, 40)):
                line = await watcher.line()
                at = int(line.rsplit("@", 1)[1])
                if not line.startswith("#"):
                    seen.append(at)
                if rng.random() < 0.1:
                    await asyncio.sleep(rng.random() * 0.01)
                if at == end:
                    break
    return seen


@pytest.mark.parametrize("seed", range(20))
async def test_every_reader_sees_every_change_once_and_in_order(store: InMemoryStore, seed: int) -> None:
    rng = random.Random(seed)
    for session_id in ("s1", "s2", "s3"):
        await create(store, session_id)
    async with tailing(store, kept_bytes=rng.choice([0, 100, 1000, 1 << 20])) as tail:
        end = 3 + 150
        readers = [read_at_random(store, tail, rng, end) for _ in range(4)]
        _, *all_seen = await asyncio.gather(write_at_random(store, rng), *readers)
    for seen in all_seen:
        assert seen == list(range(1, end + 1))
