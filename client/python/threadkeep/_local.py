"""A server in this process, for `Client.local` and `Client(":memory:")`: a thread with an event loop and a loopback port."""

from __future__ import annotations

import asyncio
import importlib
import logging
import secrets
import threading
import weakref
from pathlib import Path
from typing import Any

MEMORY = ":memory:"
STARTED_WITHIN = 60.0
"""Seconds that the server may take to open its database."""


class LocalServer:
    """A server that only this process can call: it requires a random token.

    `database`: a SQLite file, or ":memory:", where everything is lost when the server stops.
    """

    def __init__(self, database: str) -> None:
        if not isinstance(database, str) or not database:
            raise TypeError(f'database must be a path or ":memory:", not {database!r}')
        self.database = database
        self.token = secrets.token_urlsafe(32)
        self._lock = threading.Lock()
        self._stop: weakref.finalize[..., Any] | None = None
        self._target = ""

    def start(self) -> str:
        """Starts the server unless it runs; returns its address. Blocks until it serves.

        Raises ImportError without the extra `server`, and the server's own errors, for example for a file that is in use.
        """
        with self._lock:
            if not self._target:
                settings, serve = self._parts()
                run = _Run(settings, serve)
                self._target = f"127.0.0.1:{run.start()}"
                self._stop = weakref.finalize(self, run.stop)
            return self._target

    def stop(self) -> None:
        """Stops the server and waits until it has closed its database."""
        with self._lock:
            if self._stop is not None:
                self._stop()
            self._target, self._stop = "", None

    def _parts(self) -> tuple[Any, Any]:
        """The settings and the function that serves."""
        try:
            settings = importlib.import_module("threadkeep_server.config.settings").Settings
            serve = importlib.import_module("threadkeep_server.app.fronts").serve
        except ModuleNotFoundError as error:
            missing = error.name or "threadkeep_server"
            raise ImportError(
                f'a server in this process needs {missing}, which is not installed: pip install "threadkeep[server]"',
                name=missing,
            ) from None
        path = Path(self.database).expanduser().resolve()
        logging.getLogger("threadkeep_server").addHandler(logging.NullHandler())
        return settings(
            database_url="memory://" if self.database == MEMORY else f"sqlite:///{path}",
            data_dir=path.parent,
            grpc_address="127.0.0.1:0",
            http_address="",
            auth_tokens={self.token: {"tenant": "default"}},
            drain_grace="1s",
        ), serve


class _Run:
    """The thread of one server. It ends with the process."""

    def __init__(self, settings: Any, serve: Any) -> None:
        self._settings, self._serve = settings, serve
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._done: asyncio.Event | None = None
        self._port = 0
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._target, name="threadkeep-local", daemon=True)

    def start(self) -> int:
        self._thread.start()
        if not self._ready.wait(STARTED_WITHIN):
            raise TimeoutError(f"the server in this process did not start within {STARTED_WITHIN:g} s")
        if self._error is not None:
            raise self._error
        return self._port

    def stop(self) -> None:
        if self._loop is not None and self._done is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._done.set)
        self._thread.join(30)

    def _target(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:
            self._error = error
        finally:
            self._ready.set()

    async def _main(self) -> None:
        self._loop, self._done = asyncio.get_running_loop(), asyncio.Event()
        async with self._serve(self._settings) as running:
            self._port = running.grpc_port
            self._ready.set()
            await self._done.wait()
