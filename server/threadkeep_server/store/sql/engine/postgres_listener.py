"""Hints between the servers on one PostgreSQL database: LISTEN and NOTIFY on a separate connection.

A notification says that something was committed, not what. It may be lost: readers of the feed also poll.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import asyncpg

from .postgres_hosts import PostgresHosts

_log = logging.getLogger(__name__)

CHANNEL = "threadkeep_feed"
APPLICATION_NAME = "threadkeep listener"

_TIMEOUT_S = 10.0
_FIRST_DELAY_S, _LONGEST_DELAY_S = 0.1, 5.0
# Between two notifications. PostgreSQL lets transactions that notify commit one at a time, and wakes every listener for each.
_LEAST_INTERVAL_S = 0.002
# An idle connection is checked this often: the network may have dropped it silently.
_IDLE_S = 30.0
# This connection writes nothing, so its commits need not wait for the disk; a waiting one would delay the feed.
_SETTINGS = {"application_name": APPLICATION_NAME, "synchronous_commit": "off"}


class PostgresListener:
    """Receives notifications of other servers' commits and sends this server's. `problem` describes an error in words."""

    def __init__(self, hosts: PostgresHosts, problem: Callable[[BaseException], str | None]) -> None:
        self._hosts = hosts
        self._problem = problem
        self._wake = asyncio.Event()
        self._announced = False
        self._out = False

    def announce(self) -> None:
        """Schedules a notification: one for all announcements until it is sent."""
        self._announced = True
        self._wake.set()

    async def run(self, heard: Callable[[], None]) -> None:
        """Calls `heard` for each notification, and whenever one may have been missed. Runs until canceled."""
        failures = 0
        while True:
            began = time.monotonic()
            try:
                async with self._connected(heard) as connection:
                    self._is_back()
                    heard()
                    await self._send(connection)
            except Exception as exc:  # a lost database, a wrong URL: nothing depends on the hints
                self._is_out(exc)
            if time.monotonic() - began > _LONGEST_DELAY_S:
                failures = 0
            longest = min(_FIRST_DELAY_S * 2**failures, _LONGEST_DELAY_S)
            failures = min(failures + 1, 10)
            await asyncio.sleep(random.uniform(longest / 2, longest))  # noqa: S311 - so that servers do not reconnect at once

    @asynccontextmanager
    async def _connected(self, heard: Callable[[], None]) -> AsyncIterator[asyncpg.Connection]:
        connection = await self._hosts.connect(timeout=_TIMEOUT_S, server_settings=_SETTINGS)
        try:
            connection.add_termination_listener(lambda _: self._wake.set())
            me = connection.get_server_pid()

            def notified(_: asyncpg.Connection, sender: int, __: str, ___: object) -> None:
                if sender != me:
                    heard()

            await connection.add_listener(CHANNEL, notified)
            yield connection
        finally:
            with contextlib.suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
                await connection.close(timeout=1)

    async def _send(self, connection: asyncpg.Connection) -> None:
        """Sends announcements. Never returns; raises when the connection is lost."""
        while True:
            if not self._announced:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_IDLE_S):
                        await self._wake.wait()
            self._wake.clear()
            if connection.is_closed():
                raise asyncpg.ConnectionDoesNotExistError("the connection was closed")
            # Before it is sent: its receivers may read before the next announced commit.
            announced, self._announced = self._announced, False
            try:
                statement = f"SELECT pg_notify('{CHANNEL}', '')" if announced else "SELECT 1"
                await connection.execute(statement, timeout=_TIMEOUT_S)
            except BaseException:
                self._announced |= announced
                raise
            await asyncio.sleep(_LEAST_INTERVAL_S)

    def _is_out(self, exc: Exception) -> None:
        if not self._out:
            why = self._problem(exc) or type(exc).__name__
            _log.warning("changes of other servers are found by polling until they can be listened for again: %s", why)
        self._out = True

    def _is_back(self) -> None:
        if self._out:
            _log.info("changes of other servers are listened for again")
        self._out = False
