"""The sweeper keeps sessions whose expiry a wrong clock may claim."""

from __future__ import annotations

import pytest

from tests.support.clock import NOW, Clock
from tests.support.codec import CODEC
from tests.support.memories import memory, remember, remembered, texts
from tests.support.sessions import create
from threadkeep_server.domain.model import SECOND_NS
from threadkeep_server.domain.sweeping import Hold, SweepGuard
from threadkeep_server.domain.validation import Limits
from threadkeep_server.service.sessions import SessionService
from threadkeep_server.service.sweeper import Sweeper
from threadkeep_server.store.inmemory import InMemoryStore

DAY = 86_400 * SECOND_NS


async def test_a_clock_that_jumps_deletes_no_session_before_the_hold_has_passed(caplog: pytest.LogCaptureFixture) -> None:
    clock, monotonic = Clock(), Clock(0)
    store = InMemoryStore(CODEC, clock)
    await create(store, expire_time=NOW + 60 * DAY)
    sessions = SessionService(store, Limits(), clock, lambda: "id")
    sweeper = Sweeper(sessions, store, SweepGuard(DAY), 60.0, clock=clock, monotonic=monotonic)
    assert await sweeper.sweep() == 0
    assert sweeper.hold is None

    clock.now += 61 * DAY
    for _ in range(2):
        assert await sweeper.sweep() == 0
    assert held_by(sweeper) is Hold.JUMP
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "1 sessions and 0 memories have expired and are kept for now: the clock has moved" in caplog.text

    clock.now += DAY
    monotonic.now += DAY
    assert await sweeper.sweep() == 1
    assert held_by(sweeper) is None


async def test_expired_memories_are_swept_unless_the_clock_has_jumped() -> None:
    clock, monotonic = Clock(), Clock(0)
    store = InMemoryStore(CODEC, clock)
    await remember(store, memory("note", ttl=DAY), memory("kept"), now=NOW)
    sweeper = Sweeper(
        SessionService(store, Limits(), clock, lambda: "id"), store, SweepGuard(DAY), 60.0, clock=clock, monotonic=monotonic
    )
    await sweeper.sweep()
    clock.now += 2 * DAY
    await sweeper.sweep()
    assert (held_by(sweeper), len(await remembered(store))) == (Hold.JUMP, 2)
    clock.now += DAY
    monotonic.now += DAY
    await sweeper.sweep()
    assert (held_by(sweeper), texts(await remembered(store))) == (None, ["kept"])


def held_by(sweeper: Sweeper) -> Hold | None:
    return sweeper.hold
