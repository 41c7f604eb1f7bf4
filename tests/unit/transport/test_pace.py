"""Calls that start within a turn of the event loop."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.asgi_call import Call
from threadkeep.v1 import event_service_pb2
from threadkeep_server.domain.model import Caller
from threadkeep_server.service.call_limit import CallLimit
from threadkeep_server.transport.auth import Authenticator
from threadkeep_server.transport.http import connect_adapter
from threadkeep_server.transport.http.connect_adapter import connect_app
from threadkeep_server.transport.pace import Pace
from threadkeep_server.transport.rpc import Service

ALICE, BOB = Caller("acme", "alice"), Caller("acme", "bob")
MOST = 4


class Turns:
    """Counts the turns of the event loop, and the calls that start in each."""

    def __init__(self) -> None:
        self.now = 0
        self.starts: list[tuple[int, Caller]] = []

    @contextmanager
    def counting(self) -> Iterator[None]:
        handle = asyncio.get_running_loop().call_soon(self._turn)
        try:
            yield
        finally:
            handle.cancel()
            self._counts = False

    _counts = True

    def _turn(self) -> None:
        self.now += 1
        if self._counts:
            asyncio.get_running_loop().call_soon(self._turn)

    async def call(self, pace: Pace, caller: Caller) -> None:
        await pace.start(caller)
        self.starts.append((self.now, caller))

    def most(self) -> int:
        numbers = [turn for turn, _ in self.starts]
        return max(map(numbers.count, numbers))


async def test_calls_at_once_start_a_few_in_a_turn() -> None:
    pace, turns = Pace(MOST), Turns()
    with turns.counting():
        await asyncio.gather(*(turns.call(pace, ALICE) for _ in range(100)))
    assert len(turns.starts) == 100
    assert turns.most() == MOST


async def test_a_call_behind_those_of_another_caller_starts_in_the_next_turns() -> None:
    pace, turns = Pace(MOST), Turns()
    with turns.counting():
        many = [asyncio.create_task(turns.call(pace, ALICE)) for _ in range(100)]
        await asyncio.sleep(0)
        began = turns.now
        await turns.call(pace, BOB)
        assert turns.now - began <= 3
        await asyncio.gather(*many)
    assert turns.now > 20


async def test_few_calls_do_not_wait() -> None:
    pace, turns = Pace(MOST), Turns()
    with turns.counting():
        for _ in range(10):
            began = turns.now
            for _ in range(MOST):
                await turns.call(pace, ALICE)
            assert turns.now == began
            await asyncio.sleep(0)
            await asyncio.sleep(0)


async def test_a_call_that_is_canceled_while_it_waits_takes_no_start() -> None:
    pace, turns = Pace(1), Turns()
    with turns.counting():
        calls = [asyncio.create_task(turns.call(pace, ALICE)) for _ in range(50)]
        await asyncio.sleep(0)
        for call in calls[1:-1]:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
    assert len(turns.starts) == 2
    assert turns.now < 10


class Servicer:
    """Answers nothing."""

    def __getattr__(self, name: str) -> Any:
        return None


def compressed(limit: CallLimit) -> list[Call]:
    """Twenty compressed requests over HTTP, none of which is one of its method."""
    service = Service(event_service_pb2.DESCRIPTOR.services_by_name["EventService"], Servicer())
    app = connect_app([service], Authenticator({}), max_bytes=1 << 20, calls=limit)
    body, path = gzip.compress(b"no JSON"), "/threadkeep.v1.EventService/ListEvents"
    headers: dict[str, Any] = {"content_type": "application/json", "content_encoding": "gzip"}
    return [Call(app, path, body, **headers) for _ in range(20)]


async def test_compressed_requests_over_http_are_decompressed_one_in_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    turns, decompress = Turns(), connect_adapter._Gzip.decompress

    def counted(*args: Any) -> bytes:
        turns.starts.append((turns.now, ALICE))
        return decompress(*args)

    monkeypatch.setattr(connect_adapter._Gzip, "decompress", counted)
    with turns.counting():
        await asyncio.gather(*(call.response() for call in compressed(CallLimit(100))))
    assert len(turns.starts) == 20
    assert turns.most() == 1


async def test_a_compressed_request_that_is_canceled_while_it_waits_is_no_call_in_flight() -> None:
    limit = CallLimit(20)
    calls = compressed(limit)
    await asyncio.sleep(0)
    for call in calls:
        call.task.cancel()
    await asyncio.gather(*(call.task for call in calls), return_exceptions=True)
    assert limit._count == 0
