"""Sessions that another transaction has locked do not hold up the writes of others. In simulated time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.support.codec import draft
from tests.support.sessions import TENANT, ref
from tests.unit.service.feed.group import seconds, simulated
from threadkeep_server.domain.errors import RateLimited, StoreUnavailable
from threadkeep_server.store.contract.events import AppendRequest
from threadkeep_server.store.sql.log.group_commit import LOCK_WAIT_MS, Writer
from threadkeep_server.store.sql.log.group_unit import Request, names_of
from threadkeep_server.store.sql.log.set_aside import LONGEST_WAIT_S

SLACK_S = 1.0
"""The longest pause between two looks at what is locked, and the look."""


class LockTimeout(Exception):
    """The database gave up a wait."""


class Database:
    """Sessions that may be locked. `committed`: the texts of the requests, group by group."""

    def __init__(self) -> None:
        self.locked: set[str] = set()
        self.table_locked = False
        self.committed: list[list[str]] = []

    async def commit(self, requests: Sequence[Request], wait_ms: int) -> Sequence[Any]:
        waited = 0.0
        while self.table_locked or self.locked & {request.ref.session_id for request in requests}:
            await asyncio.sleep(0.01)
            waited += 10
            if wait_ms and waited > wait_ms:
                raise LockTimeout
        self.committed.append([text_of(request) for request in requests])
        return [text_of(request) for request in requests]

    async def held(self, names: Collection[tuple[str, str]]) -> Collection[tuple[str, str]]:
        return [(tenant, name) for tenant, name in names if name in self.locked]

    def waited_for_lock(self, error: BaseException) -> bool:
        return isinstance(error, LockTimeout)

    def problem(self, error: BaseException) -> str | None:
        return None


def text_of(request: Request) -> str:
    assert isinstance(request, AppendRequest)
    return request.drafts[0].event_id


def said(text: str, session: str) -> AppendRequest:
    return AppendRequest(TENANT, ref(session), (draft("x", event_id=text),), 0)


@asynccontextmanager
async def writing(database: Database, *, max_pending_bytes: int = 1 << 20) -> AsyncIterator[Writer]:
    writer = Writer(database, max_pending_bytes=max_pending_bytes)
    running = asyncio.create_task(writer.run())
    yield writer
    writer.close()
    await running


@simulated
async def test_other_sessions_are_written_while_one_is_locked() -> None:
    database = Database()
    database.locked = {"stuck"}
    async with writing(database) as writer:
        stuck, other = writer.write(said("a", "stuck")), writer.write(said("b", "other"))
        assert await other == "b"
        assert seconds() < LOCK_WAIT_MS / 1000 + SLACK_S
        began = seconds()
        assert await writer.write(said("c", "other")) == "c"
        assert seconds() == began
        assert not stuck.done()
        database.locked.clear()
        assert await stuck == "a"
        assert seconds() < began + SLACK_S


@simulated
async def test_writes_of_a_locked_session_keep_their_order() -> None:
    database = Database()
    database.locked = {"stuck"}
    async with writing(database) as writer:
        waiting = [writer.write(said(f"{number}", "stuck")) for number in range(3)]
        await asyncio.sleep(2)
        waiting += [writer.write(said(f"{number}", "stuck")) for number in range(3, 6)]
        await asyncio.sleep(0.1)
        database.locked.clear()
        waiting += [writer.write(said(f"{number}", "stuck")) for number in range(6, 9)]
        assert await asyncio.gather(*waiting) == [f"{number}" for number in range(9)]
    assert [text for group in database.committed for text in group] == [f"{number}" for number in range(9)]


@simulated
async def test_a_write_of_a_session_that_stays_locked_fails_and_names_it() -> None:
    database = Database()
    database.locked = {"stuck"}
    async with writing(database) as writer:
        with pytest.raises(StoreUnavailable, match="another transaction of the database has locked session 'stuck'"):
            await writer.write(said("a", "stuck"))
        assert LONGEST_WAIT_S <= seconds() < LONGEST_WAIT_S + 2 * SLACK_S
        again, began = writer.write(said("b", "stuck")), seconds()
        assert await writer.write(said("c", "other")) == "c"
        assert seconds() == began, "the session is still set aside"
        database.locked.clear()
        assert await again == "b"


@simulated
async def test_a_transaction_that_has_locked_many_sessions_holds_others_up_once() -> None:
    database = Database()
    database.locked = {f"stuck{number}" for number in range(20)}
    async with writing(database) as writer:
        waiting = []
        for number in range(20):
            waiting.append(writer.write(said(f"{number}", f"stuck{number}")))
            assert await writer.write(said("other", "other")) == "other"
        assert seconds() < LOCK_WAIT_MS / 1000 + SLACK_S
        database.locked.clear()
        assert await asyncio.gather(*waiting) == [f"{number}" for number in range(20)]


@simulated
async def test_writes_wait_for_a_lock_that_is_of_no_session() -> None:
    database = Database()
    database.table_locked = True
    async with writing(database) as writer:
        waiting = writer.write(said("a", "one"))
        await asyncio.sleep(5)
        assert not waiting.done()
        database.table_locked = False
        assert await waiting == "a"


@simulated
async def test_a_closing_store_writes_what_is_set_aside() -> None:
    database = Database()
    database.locked = {"stuck"}
    writer = Writer(database, max_pending_bytes=1 << 20)
    running = asyncio.create_task(writer.run())
    stuck = writer.write(said("a", "stuck"))
    await asyncio.sleep(1)
    writer.close()
    await asyncio.sleep(1)
    assert not running.done()
    database.locked.clear()
    await running
    assert stuck.result() == "a"


@simulated
async def test_what_is_set_aside_counts_as_pending_until_it_is_settled() -> None:
    database = Database()
    database.locked = {"stuck"}
    size = said("a", "stuck").size
    async with writing(database, max_pending_bytes=size) as writer:
        stuck = writer.write(said("a", "stuck"))
        await asyncio.sleep(1)
        with pytest.raises(RateLimited):
            writer.write(said("b", "other"))
        database.locked.clear()
        await stuck
        assert await writer.write(said("b", "other")) == "b"


def test_the_names_of_a_request_are_what_it_locks() -> None:
    request = said("a", "one")
    assert names_of(request) == ((TENANT, "one"),)
