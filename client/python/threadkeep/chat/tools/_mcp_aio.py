"""A connection to an MCP server. `_mcp_threads` is the synchronous counterpart."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, TypeVar

from .._extra import required
from ..errors import ChatError

if TYPE_CHECKING:
    from mcp import Client

_T = TypeVar("_T")
NOT_CONNECTED = "the MCP server is not connected: its tools work within `with` only"


class Connection:
    """One task opens and closes the connection, as the library's task groups require; any task may call.

    A ClientSession, or a connected Client, is used as it is and not closed.
    """

    def __init__(self, target: Any) -> None:
        library = required("mcp", "McpServer")
        self._given = target if isinstance(target, library.ClientSession) or is_connected(target) else None
        self._target = target
        self._server: Any = self._given
        self._holder: asyncio.Task[None] | None = None
        self._closing: asyncio.Event | None = None

    async def open(self, timeout: float) -> None:
        """Connects. Raises the library's errors, and TimeoutError after `timeout` seconds."""
        if self._given is not None:
            return
        opened, self._closing = asyncio.Event(), asyncio.Event()

        def connected(server: Client) -> None:
            self._server = server
            opened.set()

        holder = asyncio.create_task(hold(self._target, connected, self._closing))
        holder.add_done_callback(lambda _: opened.set())
        try:
            async with asyncio.timeout(timeout):
                await opened.wait()
        except BaseException:
            holder.cancel()
            await asyncio.wait([holder])
            raise
        if holder.done():
            holder.result()
        self._holder = holder

    async def close(self) -> None:
        """Disconnects; pending calls fail."""
        holder, self._holder = self._holder, None
        if self._given is None:
            self._server = None
        if holder is not None and self._closing is not None:
            self._closing.set()
            await holder

    async def ask(self, call: Callable[[Any], Awaitable[_T]]) -> _T:
        """Returns the result of the call, which receives the connected client. Raises ChatError if there is none."""
        if self._server is None:
            raise ChatError(NOT_CONNECTED)
        return await call(self._server)


async def hold(target: Any, connected: Callable[[Client], object], closing: asyncio.Event) -> None:
    """Connects, passes on the client, and keeps the connection until `closing` is set."""
    from mcp import Client

    async with AsyncExitStack() as stack:
        if not isinstance(target, Client) and callable(target):
            target = await stack.enter_async_context(target())
        client = target if isinstance(target, Client) else Client(target)
        connected(await stack.enter_async_context(client))
        await closing.wait()


def is_connected(target: Any) -> bool:
    """Returns whether the target is a connected Client."""
    from mcp import Client

    if not isinstance(target, Client):
        return False
    try:
        return target.session is not None
    except RuntimeError:
        return False
