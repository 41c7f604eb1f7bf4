"""Sessions that are remembered before they expire; in simulated time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import pytest

from tests.support.sessions import TENANT, ref
from tests.support.simulated import clock, simulate
from tests.unit.service.memory.ingesting import Faulty, Server
from tests.unit.service.search.searching import ALICE, ANYONE
from threadkeep_server.domain.errors import InvalidField, PermissionDenied, StoreUnavailable
from threadkeep_server.domain.model import SECOND_NS, SessionChange, SessionRef
from threadkeep_server.domain.validation import Limits
from threadkeep_server.service.memory.ingestion import MOST_ATTEMPTS, AutoIngestion
from threadkeep_server.service.memory.memories import TEXT_ONLY, Ingested, IngestOptions
from threadkeep_server.service.sessions import SessionService
from threadkeep_server.store.contract.sessions import Expired
from threadkeep_server.transport.wire.memory_text import MemoryTextReader


def test_no_session_expires_before_ingestion() -> None:
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


def test_expired_sessions_are_swept_together_despite_failures() -> None:
    async def main() -> None:
        server = Server()
        for number in range(50):
            await server.say(f"s{number}", f"text {number}", expires_in=number + 1)
        server.memory.fails = {f"s{number}": RuntimeError("no") for number in range(0, 50, 2)}
        await asyncio.sleep(100)
        assert await server.sessions.sweep() == 25
        assert len(await server.remembered()) == 25
        server.memory.fails = {}
        assert await server.sessions.delete_expired(ALICE, Expired(app="none")) == 0
        assert await server.sessions.delete_expired(ALICE, Expired(before=clock() - 60 * SECOND_NS)) == 20
        with pytest.raises(PermissionDenied):
            await server.sessions.delete_expired(ALICE, Expired(user_id="bob"))
        with pytest.raises(InvalidField, match="before must not be in the future"):
            await server.sessions.delete_expired(ANYONE, Expired(before=clock() + 61 * SECOND_NS))
        assert await server.sessions.delete_expired(ANYONE) == 5
        assert len(await server.remembered()) == 50

    simulate(main())


def test_a_session_that_cannot_be_ingested_is_kept_for_a_few_sweeps_only(caplog: pytest.LogCaptureFixture) -> None:
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
    assert f"failed {MOST_ATTEMPTS} times; deleting it" in caplog.records[-1].getMessage()


def test_expired_sessions_are_kept_while_the_store_is_unavailable() -> None:
    async def main() -> None:
        server = Server()
        server.memory.fails = {"s1": StoreUnavailable("no")}
        await server.say("s1", "one", expires_in=1)
        await asyncio.sleep(2)
        for _ in range(3 * MOST_ATTEMPTS):
            assert await server.sessions.sweep() == 0

    simulate(main())


@pytest.mark.parametrize("change", ["append", "extend", "delete"])
def test_a_session_that_changes_during_ingestion_is_left_to_the_next_sweep(change: str) -> None:
    class Meanwhile(Faulty):
        async def ingest(self, tenant: str, ref: SessionRef, what: IngestOptions = TEXT_ONLY) -> Ingested:
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
        memory = Meanwhile(server.store, Limits(), MemoryTextReader(), None, clock)
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


def test_without_ingestion_sessions_expire_as_usual() -> None:
    async def main() -> Sequence[str]:
        server = Server()
        sessions = SessionService(server.store, Limits(), clock, lambda: "id")
        await server.say("s1", "one", expires_in=1)
        await asyncio.sleep(2)
        assert await sessions.sweep() == 1
        return await server.remembered()

    assert simulate(main()) == []
