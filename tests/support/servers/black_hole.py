"""A proxy whose traffic can vanish as in a broken network: its kernel acknowledges nothing, and nothing is closed.

A proxy that only stops reading is no such network: its kernel still acknowledges what arrives, so the timeouts of TCP of its
peers never run out.
"""

from __future__ import annotations

import asyncio
import ctypes
import socket
import struct
from typing import Self

from .server_process import free_port

_CHUNK = 1 << 16
# Of Linux; Python has no names for them.
_SO_ATTACH_FILTER, _SO_DETACH_FILTER = 26, 27
_RETURN = 0x06
# One instruction of a socket filter: of each packet, keep nothing.
_NOTHING = ctypes.create_string_buffer(struct.pack("HBBI", _RETURN, 0, 0, 0))
_FILTER = struct.pack("HP", 1, ctypes.addressof(_NOTHING))
_NO_FILTER = struct.pack("i", 0)


class BlackHole:
    """Forwards a port to another one of this machine, until `drop`. A context manager."""

    def __init__(self, target: int) -> None:
        self.port = free_port()
        self._target = target
        self._sockets: set[socket.socket] = set()
        self._busy: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._busy:
            task.cancel()
        await asyncio.gather(*self._busy, return_exceptions=True)

    def drop(self) -> None:
        """From now on packets of callers vanish, also those that would begin a connection. Raises OSError where the system has
        no socket filters."""
        for each in (*self._server.sockets, *self._sockets):
            each.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, _FILTER)

    def pass_again(self) -> None:
        for each in (*self._server.sockets, *self._sockets):
            each.setsockopt(socket.SOL_SOCKET, _SO_DETACH_FILTER, _NO_FILTER)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task, near = asyncio.current_task(), writer.get_extra_info("socket")
        assert task is not None
        self._busy.add(task)
        self._sockets.add(near)
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
            try:
                await asyncio.gather(_pass(reader, far_writer), _pass(far_reader, writer))
            finally:
                far_writer.transport.abort()
        except OSError:
            pass  # one of the two has ended
        finally:
            self._busy.discard(task)
            self._sockets.discard(near)
            writer.transport.abort()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_CHUNK):
        writer.write(data)
        await writer.drain()
    writer.close()
