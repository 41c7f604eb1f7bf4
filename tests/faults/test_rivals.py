"""Writers, readers, competing compactors and a policy on one session; on PostgreSQL with two servers."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack

from tests.support.marks import summarizing
from tests.support.models.model_endpoint import endpoint
from tests.support.runs.printed import Say
from tests.support.servers.server_process import url_settings

from .conftest import ServerMaker
from .harness.background_tasks import background
from .harness.compactors import Score, TurnLedger, apply_each, replace_each, run_strategies
from .harness.ledger import append_each, connect
from .harness.policy import SUMMARIZE, set_policy, summarizer
from .harness.watchers import Watch
from .harness.window_invariants import check_session, still
from .harness.wire import wire

SECONDS, AT_MOST = 4.0, 120.0
SESSION = "shared"


async def test_concurrent_compactions_expose_no_invalid_window(
    make_server: ServerMaker, database_url: str | None, say: Say
) -> None:
    ledger, score, watch = TurnLedger(), Score(), Watch()
    until = time.monotonic() + AT_MOST
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(endpoint("openai"))
        model.does(summarizing(model, slowest=0.02))
        settings = {**url_settings(database_url), **summarizer(model)}
        servers = [make_server(**settings).start() for _ in range(1 if database_url is None else 2)]
        one, other = servers[0].address, servers[-1].address
        clients = [await stack.enter_async_context(connect(address, timeout=30)) for address in (one, other)]
        wires = [await stack.enter_async_context(wire(address, seconds=30)) for address in (one, other)]
        await clients[0].create_session(SESSION)
        await set_policy(wires[0], SESSION)
        async with background(
            *(append_each(ledger, clients[number % 2], SESSION, f"w{number}") for number in range(4)),
            *(apply_each(to, SESSION, score, keep=12, alone=False) for to in wires),
            replace_each(wires[1], SESSION, score),
            run_strategies(wires[0], SESSION, score, [SUMMARIZE]),
            *(read(to, SESSION) for to in wires for read in (watch.windows, watch.contexts)),
            watch.follow(wires[1], SESSION),
            watch.history(wires[0], SESSION),
        ) as working:
            await asyncio.sleep(SECONDS)
            while not (enough := _enough(score, watch)) and time.monotonic() < until:  # noqa: ASYNC110 - a slow machine
                await asyncio.sleep(0.1)
            working.check()
        await ledger.check(one)
        records = await check_session(wires[1], SESSION, score.records[SESSION], summarized=True)
        _, _, log = await still(wires[0], SESSION)  # the policy may still be at work
        watch.check(log)
    by_policy = sum(record.actor == "policy" for record in records)
    engine = "sqlite" if database_url is None else "postgresql, two servers"
    found = f"events={len(log)} compactions={len(records)} by policy={by_policy} reads={len(watch.sights)}"
    say(f"{engine}: {found} {dict(score.outcomes)}")
    assert not ledger.problems
    assert not score.problems
    assert enough


def _enough(score: Score, watch: Watch) -> bool:
    """There were races, and reads during the growth of the log."""
    read = len({sight.last_seq for sight in watch.sights})
    return score.outcomes["won"] > 10 and score.outcomes["lost"] > 0 and read > 10
