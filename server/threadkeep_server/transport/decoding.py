"""Decodes requests, for every front end. Large ones are decoded in a thread, so that the calls of others continue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from google.protobuf.message import Message

from ..domain.errors import RateLimited
from .rpc import Method

# JSON of up to this size is decoded on the event loop; that takes 15 ms at worst. So does counting the fields of so many bytes.
_JSON_BYTES = 8 << 10
_PROTO_BYTES = 256 << 10
# Bytes that may wait for the thread; a single request may have more. Four appends of the largest default size.
_MOST_WAITING = 128 << 20


class Decoder:
    """Decodes large requests one at a time: however many callers send them, the event loop competes with one for the
    interpreter."""

    def __init__(self, most_waiting: int = _MOST_WAITING) -> None:
        self._most_waiting = most_waiting
        self._waiting = 0
        self._thread = ThreadPoolExecutor(1, "decoder")

    async def proto(self, method: Method, raw: bytes) -> Message:
        """Returns the request. Raises InvalidField, and RateLimited if too many bytes wait to be decoded."""
        if len(raw) <= _PROTO_BYTES:
            return method.parse(raw)
        return await self._in_thread(method.parse, raw)

    async def json(self, method: Method, raw: bytes) -> Message:
        """The same for JSON."""
        if len(raw) <= _JSON_BYTES:
            return method.parse_json(raw)
        return await self._in_thread(method.parse_json, raw)

    async def _in_thread(self, parse: Callable[[bytes], Message], raw: bytes) -> Message:
        size = len(raw)
        if self._waiting and self._waiting + size > self._most_waiting:
            raise RateLimited("large_requests")
        self._waiting += size
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, parse, raw)
        finally:
            self._waiting -= size


DECODER: Final = Decoder()
"""That of the process: all of its front ends have one interpreter."""
