"""Compaction with kill -9: a window is the one before a compaction or the one after it, and no event is lost.

THREADKEEP_KILLS sets the number of kills on each engine.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import pytest

import threadkeep
from tests.support.marks import summarizing
from tests.support.models.model_endpoint import ModelEndpoint, endpoint, hangs
from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import KILLS
from tests.support.servers.server_process import url_settings
from threadkeep.v1 import compaction_pb2 as pb

from ..conftest import ServerMaker
from ..harness.background_tasks import background
from ..harness.compactors import Score, TurnLedger, apply_each, replace_once, run_strategies
from ..harness.ledger import append_each, append_until_acknowledged, connect
from ..harness.policy import LEASE_S, TRIM, leases_of, set_policy, summarizer
from ..harness.window_invariants import check_session
from ..harness.wire import Wire, wire

SESSIONS = ("applied", "replaced", "strategies", "policy")
STRATEGIES = [
    pb.CompactionStrategy(sliding_window=pb.SlidingWindow(max_events=12)),
    TRIM,
    pb.CompactionStrategy(
        pipeline=pb.StrategyPipeline(steps=[TRIM, pb.CompactionStrategy(turn_window=pb.TurnWindow(max_turns=3))])
    ),
]


@pytest.mark.timeout(600 + 20 * KILLS)
async def test_a_compaction_interrupted_by_a_kill_is_atomic(
    make_server: ServerMaker, database_url: str | None, say: Say
) -> None:
    ledger, score = TurnLedger(), Score()
    async with endpoint("openai") as model:
        model.does(summarizing(model, slowest=0.05))
        settings = {**url_settings(database_url), **summarizer(model)}
        server = await asyncio.to_thread(make_server(prelude=leases_of(LEASE_S), **settings).start)
        async with connect(server.address) as client, wire(server.address) as to:
            for session in SESSIONS:
                await client.create_session(session, never_expires=True)
            await set_policy(to, "policy")
            for _ in range(KILLS):
                async with background(
                    append_each(ledger, client, "applied", "w0"),
                    append_each(ledger, client, "applied", "w1"),
                    apply_each(to, "applied", score),
                    append_and_replace(ledger, client, to, score),
                    append_each(ledger, client, "strategies", "w0"),
                    run_strategies(to, "strategies", score, STRATEGIES),
                    append_each(ledger, client, "policy", "w0"),
                    append_each(ledger, client, "policy", "w1"),
                ) as working:
                    await working.until(_more(ledger, score, model))
                    await asyncio.sleep(random.uniform(0, 0.2))
                    server.kill()
                await asyncio.to_thread(server.start)
                await ledger.check(server.address)
                await _records(to, score)
            await _policy_goes_on(ledger, client, to)
            made = await _records(to, score)
            assert all(made.values()), "every kind of compaction was tried"
    engine = "sqlite" if database_url is None else "postgresql"
    records = " ".join(f"{session}={len(made[session])}" for session in SESSIONS)
    say(f"{engine}: kills={KILLS} acknowledged={ledger.acknowledged} compactions: {records} {dict(score.outcomes)}")
    problems = set(ledger.problems) | set(score.problems)
    assert problems <= {"UNAVAILABLE", "DEADLINE_EXCEEDED"}, problems


def _more(ledger: TurnLedger, score: Score, model: ModelEndpoint) -> Callable[[], bool]:
    """Reports whether every client has appended and compacted since then, and a policy has called the model."""
    said, requested = ledger.acknowledged + 60, len(model.requests) + 1
    compacted = {session: len(score.records[session]) for session in SESSIONS if session != "policy"}
    return lambda: (
        ledger.acknowledged >= said
        and len(model.requests) >= requested
        and all(len(score.records[session]) > before for session, before in compacted.items())
    )


async def _records(to: Wire, score: Score) -> dict[str, list[pb.Compaction]]:
    """Checks the invariants of each session and returns its compactions."""
    return {
        session: await check_session(to, session, score.records[session], summarized=session != "strategies")
        for session in SESSIONS
    }


async def append_and_replace(ledger: TurnLedger, client: threadkeep.AsyncClient, to: Wire, score: Score) -> None:
    """A replacement requires that nothing changed since its read, so one task alternates between both."""
    for batch in ledger.batches("replaced", "w0"):
        await append_until_acknowledged(ledger, client, "replaced", batch)
        if random.random() < 0.3:
            await replace_once(to, "replaced", score)


async def _policy_goes_on(ledger: TurnLedger, client: threadkeep.AsyncClient, to: Wire) -> None:
    """The lease of a dead server blocks others only until it expires."""
    version = (await to.session("policy")).window_version
    async with asyncio.timeout(60):
        for batch in ledger.batches("policy", "w0"):
            await append_until_acknowledged(ledger, client, "policy", batch)
            if (await to.session("policy")).window_version > version:
                return
            await asyncio.sleep(0.02)


async def test_a_lease_of_a_killed_server_is_taken_over(make_server: ServerMaker, database_url: str | None) -> None:
    """The server dies during a model call; the next one compacts after the lease has expired."""
    ledger = TurnLedger()
    async with endpoint("openai") as model:
        model.does(hangs)
        settings = {**url_settings(database_url), **summarizer(model)}
        server = await asyncio.to_thread(make_server(prelude=leases_of(8), **settings).start)
        async with connect(server.address) as client, wire(server.address) as to:
            await client.create_session("policy")
            await set_policy(to, "policy")
            async with background(append_each(ledger, client, "policy", "w0")):
                await asyncio.wait_for(model.requested.wait(), 60)
                requested = asyncio.get_running_loop().time()
                await asyncio.to_thread(server.kill)
            model.does(summarizing(model))
            await asyncio.to_thread(server.start)
            await _policy_goes_on(ledger, client, to)
            assert asyncio.get_running_loop().time() - requested > 2.5, "the lease was not the dead server's any more"
            await ledger.check(server.address)
            await check_session(to, "policy", {}, summarized=True)
