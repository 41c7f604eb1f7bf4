"""Retention of the feed: changes that are too old are deleted in small steps, also after failures."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import cast

import pytest

from tests.support.clock import NOW, Clock
from threadkeep_server.domain.errors import StoreUnavailable
from threadkeep_server.domain.model import SECOND_NS
from threadkeep_server.service.feed.feed_retention import FeedRetention
from threadkeep_server.store.contract.feed import FeedStore

HOUR = 3600 * SECOND_NS


class Feed:
    """As much of a feed as is trimmed: the times of its changes, oldest first."""

    def __init__(self, *ages: int) -> None:
        self.times = sorted(NOW - age for age in ages)
        self.steps: list[int] = []
        self.failures: list[Exception] = []

    async def trim_feed(self, before: int, limit: int) -> int:
        if self.failures:
            raise self.failures.pop()
        old = sum(time < before for time in self.times[:limit])
        del self.times[:old]
        self.steps.append(old)
        return old


def caring(feed: Feed, clock: Clock, *, retention: int = HOUR, interval: float = 60.0) -> FeedRetention:
    return FeedRetention(cast("FeedStore", feed), clock, retention=retention, interval=interval)


@asynccontextmanager
async def at_work(care: FeedRetention) -> AsyncIterator[None]:
    task = asyncio.create_task(care.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(happened: Callable[[], bool]) -> None:
    for _ in range(5000):
        if happened():
            return
        await asyncio.sleep(0.001)
    pytest.fail("it did not happen")


async def test_only_changes_older_than_the_retention_are_trimmed(clock: Clock) -> None:
    feed = Feed(HOUR + 1, HOUR, 0)
    assert await caring(feed, clock).trim() == 1
    assert feed.times == [NOW - HOUR, NOW]
    clock.advance(1)
    assert await caring(feed, clock).trim() == 1
    assert feed.times == [NOW]


async def test_a_large_deletion_runs_in_small_steps_that_yield_to_others(clock: Clock) -> None:
    feed = Feed(*[2 * HOUR] * 2500, 0)
    between = 0

    async def other() -> None:
        nonlocal between
        while True:
            await asyncio.sleep(0)
            between += len(feed.steps) in {1, 2}

    task = asyncio.create_task(other())
    assert await caring(feed, clock).trim() == 2500
    task.cancel()
    assert feed.steps == [1000, 1000, 500]
    assert between


async def test_a_feed_that_ages_during_a_sweep_is_trimmed_to_the_time_of_each_step(clock: Clock) -> None:
    feed = Feed(*[2 * HOUR] * 1000, HOUR)
    care = caring(feed, clock)
    trimming = asyncio.create_task(care.trim())
    await until(lambda: bool(feed.steps))
    clock.advance(1)
    assert await trimming == 1001


async def test_retention_trims_at_start_and_at_every_interval(clock: Clock) -> None:
    feed = Feed(2 * HOUR, 0)
    async with at_work(caring(feed, clock, interval=0.01)):
        await until(lambda: feed.times == [NOW])
        clock.advance(3601)
        await until(lambda: not feed.times)


async def test_retention_sleeps_without_work(clock: Clock) -> None:
    feed = Feed(2 * HOUR)
    async with at_work(caring(feed, clock)):
        await until(lambda: not feed.times)
        await asyncio.sleep(0.05)
    assert feed.steps == [1]


async def test_a_failure_is_logged_and_tried_again(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    feed = Feed(2 * HOUR)
    feed.failures = [StoreUnavailable("the disk is full"), RuntimeError("hush")]
    async with at_work(caring(feed, clock, interval=0.01)):
        await until(lambda: not feed.times)
    reported = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert [each.rpartition(": ")[2] for each in reported] == ["RuntimeError", "StoreUnavailable"]
    assert "hush" not in caplog.text


async def test_a_feed_kept_without_a_limit_is_never_trimmed(clock: Clock) -> None:
    feed = Feed(1000 * HOUR)
    async with asyncio.timeout(1):
        await caring(feed, clock, retention=0).run()
    assert (feed.steps, len(feed.times)) == ([], 1)
