"""A load balancer of connections, as operators have one before their servers."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Self


class Balancer:
    """Gives each new connection to the next server. An asynchronous context manager."""

    def __init__(self, *ports: int) -> None:
        self._ports = list(ports)
        self._pumps: set[asyncio.Task[None]] = set()
        self.address = ""

    def add(self, port: int) -> None:
        self._ports.append(port)

    def remove(self, port: int) -> None:
        """New connections go to the others. Those that exist stay."""
        self._ports.remove(port)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for each in self._pumps:
            each.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await self._connected()
        if there is None:
            writer.close()
            return
        for task in (asyncio.create_task(_pump(reader, there[1])), asyncio.create_task(_pump(there[0], writer))):
            self._pumps.add(task)
            task.add_done_callback(self._pumps.discard)

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        for _ in range(len(self._ports)):
            port = self._ports.pop(0)
            self._ports.append(port)
            with contextlib.suppress(OSError):
                return await asyncio.open_connection("127.0.0.1", port)
        return None


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(1 << 16):
            target.write(data)
            await target.drain()
    except OSError:
        pass
    finally:
        target.close()
