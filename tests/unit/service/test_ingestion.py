"""Sessions that are remembered by themselves: when compacted, when idle, before they expire; in simulated time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from recollect_server.domain.errors import PermissionDenied, StoreUnavailable
from recollect_server.domain.memories import MemoryFilter
from recollect_server.domain.model import SECOND_NS, SessionChange, SessionRef
from recollect_server.domain.rules import Limits
from recollect_server.service.ingestion import MOST_ATTEMPTS, AutoIngestion
from recollect_server.service.memory import TEXT_ONLY, Ingested, MemoryService, Remembering
from recollect_server.service.sessions import SessionService
from recollect_server.store.memory import MemoryStore
from recollect_server.transport.remembering import WireReader
from tests.support.codec import CODEC, draft
from tests.support.sessions import TENANT, append, compact, create, ref
from tests.support.simulated import clock, simulate
from tests.unit.service.recalling import ALICE, ANYONE, SCOPE

MINUTE_NS = 60 * SECOND_NS


class Faulty(MemoryService):
    """Memory that fails for some sessions."""

    fails: dict[str, Exception]
    ingested: list[str]

    async def ingest(self, tenant: str, ref: SessionRef, what: Remembering = TEXT_ONLY) -> Ingested:
        self.ingested.append(ref.session_id)
        if ref.session_id in self.fails:
            raise self.fails[ref.session_id]
        return await super().ingest(tenant, ref, what)


class Server:
    """One server's ingestion on a store."""

    def __init__(self, store: MemoryStore | None = None, owner: str = "me", **policies: Any) -> None:
        self.store = store or MemoryStore(CODEC, clock)
        self.memory = Faulty(self.store, Limits(), WireReader(), None, clock)
        self.memory.fails, self.memory.ingested = {}, []
        self.ingestion = AutoIngestion(self.store, self.memory, clock, owner, **policies)
        self.sessions = SessionService(self.store, Limits(), clock, lambda: "id", self.ingestion.before_delete)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.ingestion.run())
        try:
            yield
            assert not task.done(), task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def say(self, session_id: str, *texts: str, expires_in: int | None = None) -> None:
        session = ref(session_id)
        if (TENANT, session) not in self.store._logs:
            expire_time = None if expires_in is None else clock() + expires_in * SECOND_NS
            await create(self.store, session_id, create_time=clock(), expire_time=expire_time)
        if texts:
            await append(self.store, *(draft(text, event_id=text) for text in texts), to=session, now=clock())

    async def remembered(self) -> list[str]:
        page = await self.memory.list(ANYONE, SCOPE, MemoryFilter(), 1000, None)
        return sorted(memory.draft.text for memory in page.memories)


# --- on compaction


def test_on_compaction_the_whole_session_is_remembered() -> None:
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


def test_what_was_not_ingested_when_the_server_died_is_ingested_by_the_next() -> None:
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


def test_on_idle_a_session_is_remembered_once_nothing_was_appended_for_so_long() -> None:
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


def test_a_session_that_fell_idle_while_no_server_ran_is_remembered_by_the_next() -> None:
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


def test_what_fell_idle_first_is_not_passed_by_because_another_goes_on() -> None:
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


def test_deleted_sessions_are_forgotten_by_it_and_created_ones_are_nothing_yet() -> None:
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


def test_what_already_was_in_the_feed_when_it_was_switched_on_is_remembered_too() -> None:
    async def main() -> None:
        server = Server(idle_ns=MINUTE_NS)
        await server.say("s1", "one")
        await asyncio.sleep(3600)
        async with server.running():
            await asyncio.sleep(10)
            assert await server.remembered() == ["one"]

    simulate(main())


def test_a_feed_that_was_trimmed_meanwhile_is_followed_from_where_it_begins(caplog: pytest.LogCaptureFixture) -> None:
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
    assert "some sessions may not be remembered" in caplog.text


# --- trouble, and several servers


def test_one_sessions_trouble_does_not_stop_the_others_and_is_given_up_in_the_end(caplog: pytest.LogCaptureFixture) -> None:
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
    assert f"given up after {MOST_ATTEMPTS} attempts" in caplog.text
    assert "s1" not in caplog.text  # no name of a session, and no text


def test_a_store_that_is_away_is_waited_for_and_nothing_is_given_up() -> None:
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


def test_of_several_servers_one_follows_and_another_takes_over_when_it_dies() -> None:
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


def test_with_neither_policy_nothing_runs() -> None:
    async def main() -> None:
        server = Server()
        await server.ingestion.run()
        assert await server.store.note("ingestion") is None

    simulate(main())


# --- before they expire


def test_nothing_expires_unremembered() -> None:
    async def main() -> None:
        server = Server()
        await server.say("s1", "one", "two", expires_in=60)
        await server.say("s2", "three")
        assert await server.sessions.sweep() == 0
        assert server.memory.ingested == []
        await asyncio.sleep(61)
        assert await server.sessions.sweep() == 1
        assert await server.remembered() == ["one", "two"]
        assert {session.session_id for _, session in server.store._logs} == {"s2"}

    simulate(main())


def test_many_expired_sessions_are_swept_at_once_whatever_fails_among_them() -> None:
    async def main() -> None:
        server = Server()
        for number in range(50):
            await server.say(f"s{number}", f"text {number}", expires_in=number + 1)
        server.memory.fails = {f"s{number}": RuntimeError("no") for number in range(0, 50, 2)}
        await asyncio.sleep(100)
        assert await server.sessions.sweep() == 25
        assert len(await server.remembered()) == 25
        server.memory.fails = {}
        assert await server.sessions.delete_expired(ANYONE) == 25
        assert len(await server.remembered()) == 50
        with pytest.raises(PermissionDenied):
            await server.sessions.delete_expired(ALICE)

    simulate(main())


def test_a_session_that_cannot_be_remembered_stays_for_some_sweeps_only(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        server = Server()
        server.memory.fails = {"s1": RuntimeError("no")}
        await server.say("s1", "one", expires_in=1)
        await asyncio.sleep(2)
        for _ in range(MOST_ATTEMPTS - 1):
            assert await server.sessions.sweep() == 0
        assert await server.sessions.sweep() == 1
        assert await server.remembered() == []

    with caplog.at_level(logging.WARNING):
        simulate(main())
    assert "expires without being remembered" in caplog.records[-1].getMessage()


def test_a_store_that_is_away_keeps_expired_sessions() -> None:
    async def main() -> None:
        server = Server()
        server.memory.fails = {"s1": StoreUnavailable("no")}
        await server.say("s1", "one", expires_in=1)
        await asyncio.sleep(2)
        for _ in range(3 * MOST_ATTEMPTS):
            assert await server.sessions.sweep() == 0

    simulate(main())


@pytest.mark.parametrize("change", ["append", "extend", "delete"])
def test_a_session_that_changes_while_it_is_remembered_is_left_to_the_next_sweep(change: str) -> None:
    class Meanwhile(Faulty):
        async def ingest(self, tenant: str, ref: SessionRef, what: Remembering = TEXT_ONLY) -> Ingested:
            done = await super().ingest(tenant, ref, what)
            await work.pop()() if work else None
            return done

    async def say() -> None:
        await server.say("s1", "last words")

    async def extend() -> None:
        later = SessionChange(frozenset({"expiry"}), clock(), clock() + 60 * SECOND_NS)
        await server.store.update_session(TENANT, ref(), later)

    async def delete() -> None:
        await server.store.delete_session(TENANT, ref())

    work = [{"append": say, "extend": extend, "delete": delete}[change]]
    server: Server

    async def main() -> None:
        nonlocal server
        server = Server()
        memory = Meanwhile(server.store, Limits(), WireReader(), None, clock)
        memory.fails, memory.ingested = {}, []
        ingestion = AutoIngestion(server.store, memory, clock, "me")
        sessions = SessionService(server.store, Limits(), clock, lambda: "id", ingestion.before_delete)
        await server.say("s1", "one", expires_in=1)
        await asyncio.sleep(2)
        assert await sessions.sweep() == 0
        await asyncio.sleep(120)
        assert await sessions.sweep() == (0 if change == "delete" else 1)
        assert await server.remembered() == (["last words", "one"] if change == "append" else ["one"])

    simulate(main())


def test_without_the_hook_sessions_expire_as_ever() -> None:
    async def main() -> Sequence[str]:
        server = Server()
        sessions = SessionService(server.store, Limits(), clock, lambda: "id")
        await server.say("s1", "one", expires_in=1)
        await asyncio.sleep(2)
        assert await sessions.sweep() == 1
        return await server.remembered()

    assert simulate(main()) == []
