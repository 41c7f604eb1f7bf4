"""Proxies in front of the nodes of a cluster, which can drop traffic as a broken network does: without an error, and without
closing a connection."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Collection
from pathlib import Path
from typing import Self

from tests.support.servers.server_process import free_port

_CHUNK = 1 << 16
_AGAIN_S = 0.2
# Of Linux: the state of a connection that neither end has closed.
_ESTABLISHED = 1


def has_socket(pid: int, port: int, to: int) -> bool:
    """Whether the process has the connection from one port to another of this machine."""
    table = Path("/proc/net/tcp").read_bytes()
    row = table.find(f":{port:04X} 0100007F:{to:04X} ".encode())
    if row < 0:
        return False
    # What follows the two addresses: state, queues, timer, retransmits, user, timeout, inode.
    inode = table[row : row + 150].split()[8].decode()
    with contextlib.suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if str(descriptor.readlink()) == f"socket:[{inode}]":
                    return True
    return False


class Link:
    """A port that forwards to another one. What a cut link holds back arrives when it is joined, as TCP would repeat it, but no
    request whose caller has given up before it was connected. `cut_off`: the processes whose new connections it holds back."""

    def __init__(self, target: int, cut_off: Collection[int]) -> None:
        self.port = free_port()
        self.target = target
        self._cut_off = cut_off
        self._passes = asyncio.Event()
        self._passes.set()
        self._busy: set[asyncio.Task[None]] = set()

    async def serve(self) -> asyncio.Server:
        return await asyncio.start_server(self._accepted, "127.0.0.1", self.port)

    def cut(self) -> None:
        self._passes.clear()

    def join(self) -> None:
        self._passes.set()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        task.add_done_callback(self._busy.discard)
        await self._passes.wait()
        # In a thread: it reads all connections of the machine. Where there are many, nothing else would pass meanwhile.
        caller = await asyncio.to_thread(self._cut_off_caller, writer.get_extra_info("peername")[1])
        while caller in self._cut_off:  # noqa: ASYNC110 - another thread changes it
            await asyncio.sleep(_AGAIN_S)
        # A closed connection has no process any more: one that was cut off looks like any other. On a busy machine this comes
        # seconds after the call, and a call of a primary that is cut off would have the replicas wait for it.
        if writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != _ESTABLISHED:
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        try:
            await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer))
        finally:
            writer.transport.abort()
            far_writer.transport.abort()

    def _cut_off_caller(self, port: int) -> int | None:
        return next((pid for pid in self._cut_off if has_socket(pid, port, self.port)), None)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(_CHUNK):
                await self._passes.wait()
                writer.write(data)
                await writer.drain()
            await self._passes.wait()
        except OSError:
            await self._passes.wait()
            writer.transport.abort()
        with contextlib.suppress(OSError):
            writer.close()


class Network:
    """The links of all nodes, in a thread of their own. A context manager."""

    def __init__(self) -> None:
        self.cut_off: set[int] = set()
        """Processes that reach nobody through a link."""
        self._servers: list[asyncio.Server] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="network", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def link(self, target: int, *, of_nodes: bool = False) -> Link:
        """Returns an open link to a port. `of_nodes`: processes that are cut off would call it."""

        async def opened() -> Link:
            link = Link(target, self.cut_off if of_nodes else ())
            self._servers.append(await link.serve())
            return link

        return asyncio.run_coroutine_threadsafe(opened(), self._loop).result(10)

    def set(self, link: Link, *, passes: bool) -> None:
        self._loop.call_soon_threadsafe(link.join if passes else link.cut)

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
