"""The events of a request as pyvoy delivers them, and as apps expect them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, MutableMapping
from typing import Any

import pytest

from threadkeep_server.transport.envoy.receiving import LOOKS_WITHIN_S, Looks, until_departure

PART, END, LEFT = (
    {"type": "http.request", "body": b"a", "more_body": True},
    {"type": "http.request", "body": b"", "more_body": False},
    {"type": "http.disconnect"},
)


class Pyvoy:
    """Delivers these events, then the last one at once, again and again."""

    def __init__(self, *events: dict[str, Any]) -> None:
        self._events = list(events)
        self.received = 0

    async def receive(self) -> MutableMapping[str, Any]:
        self.received += 1
        return self._events.pop(0) if len(self._events) > 1 else self._events[0]


async def test_after_the_end_of_a_request_receiving_waits_for_the_departure() -> None:
    pyvoy = Pyvoy(PART, END, END, LEFT)
    receive = until_departure(pyvoy.receive, Looks())
    assert [await receive() for _ in range(3)] == [PART, END, LEFT]


@pytest.mark.parametrize("events", [(END,), (PART, END)])
async def test_who_waits_for_a_departure_does_not_keep_the_event_loop_busy(events: tuple[dict[str, Any], ...]) -> None:
    pyvoy = Pyvoy(*events)
    receive = until_departure(pyvoy.receive, Looks())
    for _ in events:
        await receive()
    waiting = asyncio.ensure_future(receive())
    for _ in range(100):
        await asyncio.sleep(0)
    assert pyvoy.received == len(events)
    waiting.cancel()


async def test_receiving_may_be_canceled_and_the_event_still_arrive() -> None:
    event: asyncio.Future[MutableMapping[str, Any]] = asyncio.get_running_loop().create_future()

    def receive() -> Awaitable[MutableMapping[str, Any]]:
        return event

    waiting = asyncio.ensure_future(until_departure(receive, Looks())())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    event.set_result(LEFT)
    assert event.result() == LEFT


@pytest.mark.parametrize(("calls", "longest"), [(1, 0.1), (1000, 1.0), (1_000_000, LOOKS_WITHIN_S)])
async def test_the_fewer_calls_the_sooner_a_departure_is_noticed(
    calls: int, longest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, pauses = Looks(), list[float]()
    looks.calls = calls

    async def paused(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("threadkeep_server.transport.envoy.receiving.asyncio.sleep", paused)
    receive = until_departure(Pyvoy(*[END] * 20, LEFT).receive, looks)
    assert [await receive(), await receive()] == [END, LEFT]
    assert max(pauses) == longest
