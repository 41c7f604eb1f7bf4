"""Starts a bounded number of calls in each turn of the event loop, so that thousands at once do not delay all others.

A short read may run within one turn. Without a bound, a turn takes as long as all reads that have arrived, and an append needs
several turns. Behind Envoy that was more than a second, with 3,000 reads in flight.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from google.protobuf.message import Message

from ..domain.model import Caller
from .rpc import Method

_PER_TURN: Final = 4


class Pace:
    """Callers take turns, and the calls of one start in their order. While few arrive, none waits."""

    def __init__(self, most: int = _PER_TURN) -> None:
        """`most`: calls that start in a turn."""
        self._most = most
        self._waiting: OrderedDict[Caller, deque[asyncio.Future[None]]] = OrderedDict()
        self._started = 0
        self._scheduled = False

    async def start(self, caller: Caller) -> None:
        """Returns when a call may start."""
        self._schedule()
        if not self._waiting and self._started < self._most:
            self._started += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(turn)
        await turn

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._scheduled, self._started = False, 0
        while self._waiting and self._started < self._most:
            caller, line = self._waiting.popitem(last=False)
            turn = line.popleft()
            if line:
                self._waiting[caller] = line
            if not turn.done():  # else its call was canceled
                turn.set_result(None)
                self._started += 1
        if self._started:
            self._schedule()


def paced(pace: Pace) -> Callable[[Method], Method]:
    """Returns what paces a method. Calls that write are not paced: they wait for their group. Nor are streams: each is one call
    for a long time."""

    def changed(method: Method) -> Method:
        if method.streaming or not method.read_only:
            return method

        async def call(request: Message, caller: Caller) -> Any:  # Any: the response's class differs by method
            await pace.start(caller)
            return await method.call(request, caller)

        return replace(method, call=call)

    return changed
