"""Rate limits and the limit of open streams, for every front end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from google.protobuf.message import Message

from ..domain.errors import RateLimited
from ..domain.model import Caller
from ..domain.rates import RateLimiter
from ..service.feed.subscriptions import Quota
from .rpc import Handler, Method

_SEARCHES = frozenset(
    {
        "/threadkeep.v1.SearchService/SearchEvents",
        "/threadkeep.v1.MemoryService/SearchMemory",
        "/threadkeep.v1.ToolService/CallTool",
    }
)
_LONGEST_WAIT_S = 1.0


def limiting(rates: RateLimiter, streams: Quota | None) -> Callable[[Method], Method]:
    """Returns what limits a method."""

    def limited(method: Method) -> Method:
        limits = _Limits(method, rates)
        call: Handler = method.call
        if rates.active:
            call = limits.stream if method.streaming else limits.unary
        if streams is not None and method.streaming:
            call = _counted(call, streams)
        return replace(method, call=call)

    return limited


class _Limits:
    """The limited calls of a method."""

    def __init__(self, method: Method, rates: RateLimiter) -> None:
        self._method = method
        self._rates = rates
        self._search = method.path in _SEARCHES

    def _admit(self, caller: Caller, request: Message) -> None:
        self._rates.admit(caller, request.ByteSize() if self._rates.counts_bytes else 0, search=self._search)

    async def unary(self, request: Message, caller: Caller) -> Any:  # Any: the response's class differs by method
        self._admit(caller, request)
        if not self._search:
            return await self._method.call(request, caller)
        began = time.monotonic()
        try:
            return await self._method.call(request, caller)
        finally:
            self._rates.searched(caller, time.monotonic() - began)

    def stream(self, request: Any, caller: Caller) -> Any:
        if self._method.client_streaming:
            return self._method.call(self._slowed(request, caller), caller)
        self._admit(caller, request)
        return self._method.call(request, caller)

    async def _slowed(self, requests: AsyncIterator[Message], caller: Caller) -> AsyncIterator[Message]:
        """Reads no further until the rate allows it: a stream is slowed by flow control, not ended."""
        async for request in requests:
            while True:
                try:
                    self._admit(caller, request)
                    break
                except RateLimited as error:
                    wait = min(error.retry_after_s, _LONGEST_WAIT_S)
                await asyncio.sleep(wait)
            yield request


def _counted(call: Handler, streams: Quota) -> Handler:
    async def counted(request: Any, caller: Caller) -> AsyncIterator[Any]:
        async with streams.soon(caller), aclosing(call(request, caller)) as responses:
            async for response in responses:
                yield response

    return counted
