"""Carrying out policies in the background: when, how often, by whom, and what becomes of trouble."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tests.support.codec import draft
from tests.support.sessions import TENANT, append, ref
from tests.unit.service.background import SERVER, background
from tests.unit.service.bench import CALLER, Bench, key, log
from threadkeep_server.domain.model import SECOND_NS, Caller, SessionRef
from threadkeep_server.service.compaction import auto_compaction
from threadkeep_server.store.contract.compaction import PolicyScope
from threadkeep_server.transport.convert.strategies import policy_from_json

BARE = SessionRef("", "", "s1")


def policy(trigger: str = '{"events": 5}', strategy: str = '{"slidingWindow": {"maxEvents": 2}}') -> bytes:
    return policy_from_json(f'{{"trigger": {trigger}, "strategy": {strategy}}}')


SUMMARIZING = policy(strategy='{"recursiveSummary": {"maxEventsToKeep": 2, "overlap": 0}}')


async def test_a_policy_does_not_compact_up_to_its_threshold(bench: Bench) -> None:
    await bench.session()
    async with background(bench, policy()) as working:
        assert await working.say("U1 U2 U3 U4") == []
        assert await bench.active() == "U1 U2 U3 U4"
        assert await working.say("U5") == ["get_session", "lease", "read_window", "compact", "release"]
        assert await bench.active() == "U4 U5"
        assert await working.say("U6 U7") == []
    [done] = (await bench.service.compactions(CALLER, ref(), 10, None)).compactions
    assert (done.actor, done.strategy, done.archived) == ("policy", "sliding_window", 3)


async def test_without_a_policy_of_the_tenant_the_store_is_not_called(bench: Bench) -> None:
    await bench.session()
    await bench.policies.set(Caller("other"), SERVER, policy())
    async with background(bench) as working:
        assert await working.say("U1 U2 U3 U4 U5 U6") == []
        assert await working.say("U7", to=BARE) == []


async def test_a_bare_session_id_is_resolved_once_per_interval(bench: Bench) -> None:
    await bench.session()
    async with background(bench, policy()) as working:
        assert await working.say("U1 U2 U3 U4", to=BARE) == ["get_session"]
        assert await working.say("U5", to=BARE) == ["get_session", "lease", "read_window", "compact", "release"]
        assert await bench.active() == "U4 U5"
        bench.clock.advance(61)
        assert await working.say("U6 U7", to=BARE) == ["get_session"]


async def test_a_bare_id_may_later_select_another_session(bench: Bench) -> None:
    await bench.session(user="bob")
    async with background(bench) as working:
        await bench.policies.set(CALLER, key(PolicyScope.USER, user_id="alice"), policy())
        await working.say("U1", to=BARE)
        await bench.store.delete_session(TENANT, ref(user="bob"))
        await bench.session()
        bench.clock.advance(61)
        await working.say("U1 U2 U3 U4 U5", to=BARE)
        assert await bench.active() == "U4 U5"


async def test_one_session_under_two_names_is_compacted_by_one_worker_at_a_time(bench: Bench) -> None:
    await bench.session()
    at_once = most = 0

    async def write() -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        for _ in range(20):
            await asyncio.sleep(0)
        at_once -= 1

    bench.model.meanwhile = write
    async with background(bench, SUMMARIZING) as working:
        for number in range(40):
            await append(bench.store, *log(f"U{number}"), to=BARE if number % 2 else ref())
        await working.settle()
    assert most == 1
    assert len((await bench.active()).split()) < 5


async def test_events_appended_during_a_compaction_are_compacted_afterwards(bench: Bench) -> None:
    """Nobody appends anything later that could call for it."""
    await bench.session()
    late = iter(["U6 U7 U8 U9"])

    async def write() -> None:
        for each in log(next(late, "")):
            await append(bench.store, each)

    bench.model.meanwhile = write
    async with background(bench, SUMMARIZING) as working:
        await working.say("U1 U2 U3 U4 U5")
        assert (await bench.active()).split()[-2:] == ["U8", "U9"]
        assert (await bench.look()).window.events == 4
        assert len(bench.model.prompts) == 2


@pytest.mark.parametrize("moment", ["release", "lease", "get_session", "read_window", "compact"])
async def test_an_append_at_any_moment_is_compacted(bench: Bench, moment: str) -> None:
    await bench.session()
    async with background(bench, policy()) as working:
        await working.say("U1 U2 U3 U4")
        bench.store.before[moment] = lambda: append(bench.store, *log("U6 U7 U8"))
        await working.say("U5")
        assert (await bench.active()).split()[-1] == "U8"
        assert (await bench.look()).window.events < 5


async def test_a_policy_without_effect_is_not_retried_until_the_window_grows(bench: Bench) -> None:
    await bench.session()
    async with background(bench, policy('{"bytes": 10}', '{"turnWindow": {"maxTurns": 30}}')) as working:
        await append(bench.store, *log("U1 " + " ".join(f"A{n}" for n in range(39))))
        await working.settle()
        assert await working.say("A40 A41 A42") == []
        assert await working.say("A43 A44") == ["get_session", "lease", "read_window", "release"]
        # Larger by bytes alone counts too.
        bench.store.calls.clear()
        await append(bench.store, draft("x" * 5000, event_id="big"))
        await working.settle()
        assert bench.store.calls.count("read_window") == 1


async def test_another_policy_is_tried_at_once(bench: Bench) -> None:
    await bench.session()
    async with background(bench, policy('{"events": 5}', '{"turnWindow": {"maxTurns": 30}}')) as working:
        await working.say(" ".join(f"U{n}" for n in range(20)))
        await bench.policies.set(CALLER, SERVER, policy())
        await working.say("Ux")
        assert await bench.active() == "U19 Ux"


async def test_a_window_that_stays_too_large_is_summarized_once(bench: Bench) -> None:
    await bench.session()
    bench.model.text = "long " * 200
    async with background(
        bench, policy('{"tokens": 20}', '{"recursiveSummary": {"maxEventsToKeep": 2, "overlap": 1}}')
    ) as working:
        await working.say("U1 A1 U2 A2 U3")
        await append(bench.store, draft("x" * 400, event_id="long"), *log("U4"))
        await working.settle()
        paid = len(bench.model.prompts)
        assert paid == 1
        assert working.timers.pending == []


async def test_another_servers_lease_is_respected_and_waited_for(bench: Bench) -> None:
    await bench.session()
    now = bench.clock.now
    assert await bench.store.lease(TENANT, ref(), "another", now, now + 60 * SECOND_NS)
    async with background(bench, policy()) as working:
        await working.say("U1 U2 U3 U4 U5")
        assert await bench.active() == "U1 U2 U3 U4 U5"
        assert await working.say("U6 U7") == [], "appends do not request the lease again"
        working.timers.fire()
        await working.settle()
        assert await bench.active() == "U1 U2 U3 U4 U5 U6 U7"
        bench.clock.advance(61)
        working.timers.fire()
        await working.settle()
        assert await bench.active() == "U6 U7"
        assert working.timers.pending == []
    assert await bench.store.lease(TENANT, ref(), "another", bench.clock.now, bench.clock.now + 1)


async def test_two_servers_share_the_work(bench: Bench) -> None:
    await bench.session()
    async with background(bench, SUMMARIZING, owner="one") as one, background(bench, owner="two"):
        await one.say("U1 U2 U3 U4 U5")
        assert len(bench.model.prompts) == 1


async def test_a_failing_model_is_retried_after_growing_delays(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    await bench.session()
    bench.model.problem = "timed out"
    async with background(bench, SUMMARIZING) as working:
        with caplog.at_level(logging.WARNING):
            await working.say("U1 U2 U3 U4 U5")
            before = await bench.everything()
            delays = []
            for _ in range(12):
                delays.append(working.timers.fire())
                await working.settle()
        assert await bench.everything() == before
        for number, delay in enumerate(delays):
            longest = min(2.0**number, 300)
            assert longest / 2 <= delay <= longest
        requested = len(bench.model.prompts)
        await working.say("U6")
        assert len(bench.model.prompts) == requested, "an append does not cut the wait short"
        bench.model.problem = ""
        working.timers.fire()
        await working.settle()
        assert (await bench.active()).split()[-2:] == ["U5", "U6"]
        bench.model.problem = "timed out"
        await working.say("U7 U8 U9")
        assert working.timers.fire() <= 1, "a success forgives"
    assert "timed out" in caplog.text
    assert "text of" not in caplog.text


async def test_a_policy_that_is_removed_ends_the_attempts(bench: Bench) -> None:
    await bench.session()
    bench.model.problem = "timed out"
    async with background(bench, SUMMARIZING) as working:
        await working.say("U1 U2 U3 U4 U5")
        await bench.policies.set(CALLER, SERVER, None)
        working.timers.fire()
        await working.settle()
        assert working.timers.pending == []
        await bench.policies.set(CALLER, SERVER, SUMMARIZING)
        await working.say("U6")
        assert working.timers.fire() <= 1, "what failed under another policy does not count"


async def test_work_that_takes_too_long_is_canceled_and_its_lease_released(bench: Bench) -> None:
    await bench.session()
    held: list[bool] = []

    async def hang() -> None:  # looks itself: the work may be canceled before the test continues
        held.append(not await bench.store.lease(TENANT, ref(), "another", bench.clock.now + SECOND_NS, 1 << 62))
        await asyncio.Event().wait()

    bench.model.meanwhile = hang
    async with background(bench, SUMMARIZING, longest_s=0.02) as working:
        await working.say("U1 U2 U3 U4 U5")
        async with asyncio.timeout(60):
            while not working.timers.pending:  # noqa: ASYNC110 - there is no signal for it
                await asyncio.sleep(0.005)
        assert held == [True]
        assert await bench.store.lease(TENANT, ref(), "another", bench.clock.now, 1 << 62)


async def test_a_deleted_session_is_not_retried(bench: Bench) -> None:
    await bench.session()
    bench.model.problem = "timed out"
    async with background(bench, SUMMARIZING) as working:
        await working.say("U1 U2 U3 U4 U5", to=BARE)
        await bench.store.delete_session(TENANT, ref())
        working.timers.fire()
        await working.settle()
        assert working.timers.pending == []
        bench.model.problem = ""
        await bench.session()
        await working.say("U1 U2 U3 U4 U5", to=BARE)
        assert (await bench.active()).split()[-2:] == ["U4", "U5"]


async def test_a_session_deleted_during_compaction_causes_no_error(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    await bench.session()
    bench.model.meanwhile = lambda: bench.store.delete_session(TENANT, ref())
    async with background(bench, SUMMARIZING) as working:
        await working.say("U1 U2 U3 U4 U5")
        assert working.timers.pending == []
    assert caplog.text == ""


async def test_an_event_id_used_in_several_sessions_causes_no_error(bench: Bench) -> None:
    await bench.session()
    async with background(bench, policy()) as working:
        await append(bench.store, *log("U1"), to=BARE)
        await bench.session(user="bob")
        await working.settle()
        assert working.timers.pending == []
        await working.say("U2 U3 U4 U5")
        assert await bench.active() == "U4 U5"


async def test_a_failing_session_does_not_affect_others(bench: Bench) -> None:
    await bench.session()
    other = await bench.session(session_id="s2")

    async def fail() -> None:
        raise RuntimeError("a fault")

    async with background(bench, policy()) as working:
        await working.say("U1 U2 U3 U4")
        bench.store.before["lease"] = fail
        await working.say("U5")
        await working.say("U1 U2 U3 U4 U5", to=other)
        assert await bench.active(other) == "U4 U5"
        working.timers.fire()
        await working.settle()
        assert await bench.active() == "U4 U5"


@pytest.mark.parametrize("moment", ["model", "lease", "compact"])
async def test_stopping_releases_the_lease(bench: Bench, moment: str) -> None:
    await bench.session()
    reached = asyncio.Event()

    async def hang() -> None:
        reached.set()
        await asyncio.Event().wait()

    async with background(bench, SUMMARIZING) as working:
        await working.say("U1 U2 U3 U4")
        before = await bench.everything()
        if moment == "model":
            bench.model.meanwhile = hang
        else:
            bench.store.before[moment] = hang
        await append(bench.store, *log("U5"))
        await reached.wait()
        assert working.task is not None
        working.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working.task
    assert await bench.store.lease(TENANT, ref(), "another", bench.clock.now, bench.clock.now + 1)
    assert (await bench.look()).window_version == before[0].window_version


async def test_stopping_cancels_delayed_work(bench: Bench) -> None:
    await bench.session()
    bench.model.problem = "timed out"
    async with background(bench, SUMMARIZING) as working:
        await working.say("U1 U2 U3 U4 U5")
        assert len(working.timers.pending) == 1
    assert working.timers.cancelled == 1


async def test_a_lease_is_extended_for_as_long_as_the_work_takes(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto_compaction, "_LEASE_EXTENDED_S", 0.01)
    await bench.session()
    bench.model.meanwhile = asyncio.Event().wait
    async with background(bench, SUMMARIZING) as working:
        await working.say("U1 U2 U3 U4 U5")
        bench.clock.now += 3600 * SECOND_NS
        async with asyncio.timeout(60):
            while await bench.store.lease(TENANT, ref(), "another", bench.clock.now, bench.clock.now):
                await bench.store.release(TENANT, ref(), "another")
                await asyncio.sleep(0.005)
