"""Sessions that are remembered by themselves when compacted and when idle; in simulated time."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tests.support.sessions import TENANT, compact, ref
from tests.support.simulated import clock, simulate
from tests.unit.service.memory.ingesting import Server
from threadkeep_server.domain.errors import StoreUnavailable
from threadkeep_server.domain.model import SECOND_NS
from threadkeep_server.service.memory.ingestion import MOST_ATTEMPTS

MINUTE_NS = 60 * SECOND_NS


# --- on compaction


def test_a_compaction_ingests_the_whole_session() -> None:
    async def main() -> None:
        server = Server(on_compaction=True)
        await server.say("s1", "one", "two")
        await server.say("s2", "other")
        async with server.running():
            await asyncio.sleep(20)
            assert await server.remembered() == []
            await compact(server.store, ["one"], now=clock())
            await asyncio.sleep(2)
            assert await server.remembered() == ["one", "two"]
            await asyncio.sleep(600)
            assert server.memory.ingested == ["s1"]

    simulate(main())


def test_a_compaction_while_no_server_ran_is_caught_up_with() -> None:
    async def main() -> None:
        first = Server(on_compaction=True)
        await first.say("s1", "one", "two")
        async with first.running():
            await asyncio.sleep(20)
        await compact(first.store, ["one"], now=clock())
        second = Server(first.store, owner="again", on_compaction=True)
        async with second.running():
            await asyncio.sleep(70)
            assert await second.remembered() == ["one", "two"]

    simulate(main())


def test_ingestion_continues_on_the_next_server_after_a_kill() -> None:
    """The place that is noted never passes what is still to be done."""

    async def main() -> None:
        first = Server(on_compaction=True, idle_ns=10 * MINUTE_NS)
        first.memory.fails = {"s1": RuntimeError("no"), "s3": RuntimeError("no")}
        async with first.running():
            for name in ("s1", "s2", "s3"):
                await first.say(name, f"{name}-a", f"{name}-b")
                await compact(first.store, [f"{name}-a"], of=ref(name), now=clock())
                await first.say(name, f"{name}-c")
                await asyncio.sleep(10)
            assert {text[:2] for text in await first.remembered()} == {"s2"}
        second = Server(first.store, owner="again", on_compaction=True)
        async with second.running():
            await asyncio.sleep(70)
            assert len(await second.remembered()) == 9

    simulate(main())


# --- on idle


def test_an_idle_session_is_ingested_after_the_idle_time() -> None:
    async def main() -> None:
        server = Server(idle_ns=10 * MINUTE_NS)
        async with server.running():
            await server.say("s1", "one")
            for number in range(5):
                await asyncio.sleep(300)
                await server.say("s1", f"more {number}")
                assert await server.remembered() == []
            await asyncio.sleep(595)
            assert await server.remembered() == []
            await asyncio.sleep(10)
            assert len(await server.remembered()) == 6
            await server.say("s1", "again")
            await asyncio.sleep(610)
            assert len(await server.remembered()) == 7
            await asyncio.sleep(3600)
            assert server.memory.ingested == ["s1", "s1"]

    simulate(main())


def test_a_session_that_became_idle_without_a_server_is_ingested_by_the_next_one() -> None:
    async def main() -> None:
        first = Server(idle_ns=10 * MINUTE_NS)
        async with first.running():
            await first.say("s1", "one")
            await asyncio.sleep(300)
        await asyncio.sleep(3600)
        second = Server(first.store, owner="again", idle_ns=10 * MINUTE_NS)
        async with second.running():
            await asyncio.sleep(10)
            assert await second.remembered() == ["one"]

    simulate(main())


def test_the_first_idle_session_is_not_skipped_while_another_is_active() -> None:
    async def main() -> None:
        first = Server(idle_ns=10 * MINUTE_NS)
        async with first.running():
            for name in ("s1", "s2"):
                await first.say(name, f"{name}-a")
            await asyncio.sleep(10)
            await first.say("s1", "s1-b")
            await asyncio.sleep(100)
        await asyncio.sleep(3600)
        second = Server(first.store, owner="again", idle_ns=10 * MINUTE_NS)
        async with second.running():
            await asyncio.sleep(10)
            assert await second.remembered() == ["s1-a", "s1-b", "s2-a"]

    simulate(main())


def test_deleted_and_empty_sessions_are_not_ingested() -> None:
    async def main() -> None:
        server = Server(idle_ns=MINUTE_NS)
        async with server.running():
            await server.say("s1", "one")
            await server.say("s2")
            await asyncio.sleep(30)
            await server.store.delete_session(TENANT, ref("s1"))
            await asyncio.sleep(600)
            assert server.memory.ingested == []

    simulate(main())


def test_changes_from_before_ingestion_was_enabled_are_ingested() -> None:
    async def main() -> None:
        server = Server(idle_ns=MINUTE_NS)
        await server.say("s1", "one")
        await asyncio.sleep(3600)
        async with server.running():
            await asyncio.sleep(10)
            assert await server.remembered() == ["one"]

    simulate(main())


def test_a_feed_trimmed_meanwhile_is_followed_from_its_new_beginning(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        first = Server(idle_ns=MINUTE_NS)
        await first.say("s1", "one")
        async with first.running():
            await asyncio.sleep(20)
        await asyncio.sleep(3600)
        await first.say("s2", "two")
        await first.store.trim_feed(clock(), 3)
        await first.say("s3", "three")
        second = Server(first.store, owner="again", idle_ns=MINUTE_NS)
        async with second.running():
            await asyncio.sleep(100)
            assert "three" in await second.remembered()

    with caplog.at_level(logging.WARNING):
        simulate(main())
    assert "sessions may be missed" in caplog.text


# --- trouble, and several servers


def test_a_failing_session_does_not_stop_the_others_and_is_finally_skipped(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        server = Server(on_compaction=True)
        server.memory.fails = {"s1": RuntimeError("no")}
        for name in ("s1", "s2"):
            await server.say(name, f"{name}-a", f"{name}-b")
            await compact(server.store, [f"{name}-a"], of=ref(name), now=clock())
        async with server.running():
            await asyncio.sleep(1)
            assert await server.remembered() == ["s2-a", "s2-b"]
            await asyncio.sleep(3600)
            assert server.memory.ingested.count("s1") == MOST_ATTEMPTS
            assert server.memory.ingested.count("s2") == 1

    with caplog.at_level(logging.WARNING):
        simulate(main())
    assert f"failed {MOST_ATTEMPTS} times" in caplog.text
    assert "s1" not in caplog.text  # no name of a session, and no text


def test_an_unavailable_store_is_retried_and_no_work_is_dropped() -> None:
    async def main() -> None:
        server = Server(on_compaction=True)
        server.memory.fails = {"s1": StoreUnavailable("the database does not answer")}
        await server.say("s1", "one", "two")
        await compact(server.store, ["one"], now=clock())
        async with server.running():
            await asyncio.sleep(3600)
            assert len(server.memory.ingested) > MOST_ATTEMPTS
            server.memory.fails = {}
            await asyncio.sleep(400)
            assert await server.remembered() == ["one", "two"]

    simulate(main())


def test_one_of_several_servers_follows_and_another_takes_over_when_it_dies() -> None:
    async def main() -> None:
        first = Server(on_compaction=True)
        second = Server(first.store, owner="other", on_compaction=True)
        async with second.running():
            async with first.running():
                await asyncio.sleep(600)
                for name in ("s1", "s2"):
                    await first.say(name, f"{name}-a", f"{name}-b")
                    await compact(first.store, [f"{name}-a"], of=ref(name), now=clock())
                    await asyncio.sleep(100)
                assert sorted(first.memory.ingested + second.memory.ingested) == ["s1", "s2"]
                worker = first if first.memory.ingested else second
                assert worker.memory.ingested == ["s1", "s2"]
            await first.say("s3", "s3-a", "s3-b")
            await compact(first.store, ["s3-a"], of=ref("s3"), now=clock())
            await asyncio.sleep(100)
            assert len(await second.remembered()) == 6

    simulate(main())


def test_without_any_policy_no_compaction_runs() -> None:
    async def main() -> None:
        server = Server()
        await server.ingestion.run()
        assert await server.store.note("ingestion") is None

    simulate(main())
