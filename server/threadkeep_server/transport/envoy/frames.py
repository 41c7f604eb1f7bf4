"""The messages of gRPC within the bodies of HTTP/2: a byte for compression, four for the length, then the message."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator
from typing import Final

from ...domain.errors import InvalidField
from ..asgi import Receive
from ..rpc import most_decompressed, too_large

PREFIX: Final = 5
_GZIP: Final = 31  # zlib's window bits for a gzip stream
_DEFLATE: Final = 15
_WINDOW_BITS: Final = {b"gzip": _GZIP, b"deflate": _DEFLATE}
ENCODINGS: Final = b"identity,gzip,deflate"
"""What requests may be compressed with."""


class Disconnected(Exception):
    """The client is gone, or has canceled the call."""


class StatusError(Exception):
    """A gRPC status that is no error of the domain."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


UNIMPLEMENTED: Final = 12
NOT_FOUND: Final = 5


def framed(message: bytes) -> bytes:
    return b"\0" + len(message).to_bytes(4, "big") + message


class Messages:
    """The messages of a request. The body is received as they are taken, so that a slow reader holds up its client."""

    def __init__(self, receive: Receive, encoding: bytes, most: int) -> None:
        """`encoding`: of compressed messages. `most`: bytes of the largest message, uncompressed."""
        self._receive = receive
        self._encoding = encoding
        self._most = most
        self._buffer = bytearray()
        self._more = True

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        message = await self._next()
        if message is None:
            raise StopAsyncIteration
        return message

    async def only(self) -> bytes:
        """Returns the message of a request that has exactly one."""
        message = await self._next()
        if message is None or await self._next() is not None:
            raise InvalidField("request", "must be exactly one message")
        return message

    async def _next(self) -> bytes | None:
        buffer = self._buffer
        while len(buffer) < PREFIX or len(buffer) < PREFIX + self._length():
            if not self._more:
                if buffer:
                    raise InvalidField("request", "ends within a message")
                return None
            event = await self._receive()
            if event["type"] == "http.disconnect":
                raise Disconnected
            buffer += event.get("body", b"")
            self._more = event.get("more_body", False)
        end = PREFIX + self._length()
        message, compressed = bytes(buffer[PREFIX:end]), buffer[0]
        del buffer[:end]
        return self._decompressed(message) if compressed else message

    def _length(self) -> int:
        length = int.from_bytes(self._buffer[1:PREFIX], "big")
        if length > self._most:
            raise too_large(self._most)
        return length

    def _decompressed(self, message: bytes) -> bytes:
        if self._encoding not in _WINDOW_BITS:
            name = self._encoding.decode("latin-1")
            raise StatusError(UNIMPLEMENTED, f"grpc-encoding {name!r} is not supported; use one of {ENCODINGS.decode()}")
        decompressor = zlib.decompressobj(_WINDOW_BITS[self._encoding])
        most = most_decompressed(len(message), self._most)
        try:
            whole = decompressor.decompress(message, most)
        except zlib.error:
            raise InvalidField("request", f"is not valid {self._encoding.decode()}") from None
        if decompressor.unconsumed_tail:
            raise too_large(most, self._most)
        return whole
