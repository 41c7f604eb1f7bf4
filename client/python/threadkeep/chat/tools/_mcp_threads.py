"""A connection to an MCP server, in an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

from .._extra import required
from ..errors import ChatError
from ._mcp_aio import NOT_CONNECTED, hold, is_connected

_T = TypeVar("_T")


class Connection:
    """Any thread may call. Raises TypeError for a connected client, which belongs to an event loop."""

    def __init__(self, target: Any) -> None:
        library = required("mcp", "McpServer")
        if isinstance(target, library.ClientSession) or is_connected(target):
            raise TypeError(
                "this connection belongs to an event loop; use AsyncMcpServer, or pass the parameters of the connection"
            )
        self._target = target
        self._server: Any = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: Callable[[], object] = lambda: None

    def open(self, timeout: float) -> None:
        """Connects. Raises the library's errors, and TimeoutError after `timeout` seconds."""
        opened: Future[Any] = Future()
        begun: Future[None] = Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._live(begun, opened)), name="threadkeep-mcp", daemon=True
        )
        self._thread.start()
        begun.result()
        try:
            self._server = opened.result(timeout)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Disconnects and waits for the thread; pending calls fail."""
        thread, self._thread, self._server = self._thread, None, None
        if thread is not None:
            self._end()
            thread.join()

    def ask(self, call: Callable[[Any], Awaitable[_T]]) -> _T:
        """Returns the result of the call, which receives the connected client. Raises ChatError if there is none."""
        server, loop = self._server, self._loop
        if server is None or loop is None or loop.is_closed():
            raise ChatError(NOT_CONNECTED)

        async def requested() -> _T:
            return await call(server)

        future = asyncio.run_coroutine_threadsafe(requested(), loop)
        try:
            return future.result()
        except CancelledError:
            raise ChatError("the MCP server was disconnected before it answered") from None
        except BaseException:
            future.cancel()
            raise

    async def _live(self, begun: Future[None], opened: Future[Any]) -> None:
        self._loop = asyncio.get_running_loop()
        closing = asyncio.Event()
        holder = asyncio.ensure_future(hold(self._target, opened.set_result, closing))

        def end() -> None:
            closing.set()
            if not opened.done():
                holder.cancel()

        loop = self._loop
        self._end = lambda: None if loop.is_closed() else loop.call_soon_threadsafe(end)
        begun.set_result(None)
        await asyncio.wait([holder])
        failure = None if holder.cancelled() else holder.exception()
        if failure is not None and not opened.done():
            opened.set_exception(failure)
