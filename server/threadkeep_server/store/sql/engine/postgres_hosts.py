"""Connections to the hosts of a PostgreSQL cluster, of which one is the primary at a time.

The driver tries hosts one after the other, and one that does not answer takes all the time there is. Here each has a head start
only, the last one that served being first. A host that vanished closes nothing: `watch` finds out when another one took over,
and drops the connections to the old one, so that what waits for it fails and is repeated.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import time
import weakref
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import asyncpg
import sqlalchemy as sa

_HEAD_START_S = 0.25
_TIMEOUT_S = 10.0
# How often it is found out which host is the primary: more often while a unit waits for long.
_IDLE_S, _SUSPICIOUS_S = 5.0, 1.0
_ANSWERS_WITHIN_S = 2.0
# The timeline is the number of the promotion that made a host the primary: the first part of the name of a log file.
_PRIMARY = "SELECT CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END"
_READ_WRITE = "read-write"
_ERRORS = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
# Arguments in the URL that are for SQLAlchemy, not for the driver.
_OF_SQLALCHEMY = ("prepared_statement_cache_size", "prepared_statement_name_func", "async_creator_fn")
# A peer that vanished is noticed within this time; the system's own defaults are 15 minutes, and 2 hours if nothing is sent.
_VANISHED_S = 30
_KEEPALIVE = {"TCP_USER_TIMEOUT": _VANISHED_S * 1000, "TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 4}


class Host(NamedTuple):
    name: str
    port: int


class PostgresHosts:
    """The hosts of a URL, and the open connections to them. Several hosts without `target_session_attrs` are those of a
    primary and its replicas: `wanted` is its default. `spread`: connections go to all of the hosts alike."""

    def __init__(self, url: str, *, wanted: str = _READ_WRITE, spread: bool = False) -> None:
        arguments = connect_arguments(url)
        self.of_sqlalchemy = {name: arguments.pop(name) for name in _OF_SQLALCHEMY if name in arguments}
        """Arguments in the URL that are not for the driver."""
        self._arguments = arguments
        names, ports = self._arguments.pop("host", ""), self._arguments.pop("port", 5432)
        several = isinstance(names, list)
        self._hosts = [Host(*each) for each in zip(names, ports, strict=True)] if several else [Host(names, ports)]
        self._wanted = self._arguments.pop("target_session_attrs", wanted if len(self._hosts) > 1 else "any")
        self._spread = spread
        self._newest = ""
        """The timeline of the primary that was promoted last, of those that `watch` has found."""
        self._connections: weakref.WeakKeyDictionary[asyncpg.Connection, Host] = weakref.WeakKeyDictionary()

    async def connect(self, **options: Any) -> asyncpg.Connection:
        """Returns a connection to a host that serves as is wanted. `options`: those of asyncpg, without the hosts. Raises what
        the last host answered."""
        if len(self._hosts) == 1:
            return await self._one(self._hosts[0], options)
        tries: set[asyncio.Task[asyncpg.Connection]] = set()
        error: BaseException = ConnectionError("no host of the database answers")
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                left = list(self._order())
                while left or tries:
                    if left:
                        tries.add(asyncio.create_task(self._one(left.pop(0), options)))
                    done, tries = await asyncio.wait(
                        tries, timeout=_HEAD_START_S if left else None, return_when=asyncio.FIRST_COMPLETED
                    )
                    failed = [exc for each in done if (exc := each.exception()) is not None]
                    if len(failed) < len(done):
                        connected = [each.result() for each in done if each.exception() is None]
                        for unused in connected[1:]:
                            unused.terminate()
                        return connected[0]
                    error = failed[-1] if failed else error
            raise error
        finally:
            for each in tries:
                each.add_done_callback(_drop)
                each.cancel()

    def _order(self) -> Sequence[Host]:
        """Returns the hosts in the order to try them: the one with the most connections first."""
        hosts = random.sample(self._hosts, len(self._hosts))
        used = list(self._connections.values())
        return hosts if self._spread else sorted(hosts, key=used.count, reverse=True)

    async def _one(self, host: Host, options: dict[str, Any]) -> asyncpg.Connection:
        given = {"timeout": _TIMEOUT_S, **self._arguments, **options}
        where = {"host": host.name, "port": host.port} if host.name else {}
        try:
            connection = await asyncpg.connect(**where, **given, target_session_attrs=self._wanted)
        except asyncpg.TargetServerAttributeNotMatched as exc:
            raise ConnectionError(f"the host is not {self._wanted}") from exc
        _keep_alive(connection)
        self._connections[connection] = host
        return connection

    async def watch(self, waits: Callable[[], bool]) -> None:
        """Drops the connections to a host when another one is the primary. `waits` returns whether a unit has been
        running for long. Runs until canceled; returns at once for a single host, or if any host will do."""
        if len(self._hosts) == 1 or self._wanted != _READ_WRITE:
            return
        idle = _IDLE_S
        while True:
            began = time.monotonic()
            if idle >= _IDLE_S or waits():
                idle = 0.0
                primary = await self._primary()
                if primary is not None:
                    self.drop({host for host in self._hosts if host != primary})
            # A host that vanished takes longer than that.
            await asyncio.sleep(max(0.0, _SUSPICIOUS_S - (time.monotonic() - began)))
            idle += _SUSPICIOUS_S

    async def _primary(self) -> Host | None:
        """Returns the host that was made the primary last; None if none answers. One that was promoted later than any found
        before is returned at once: a host that vanished would delay all others."""
        timelines = {asyncio.create_task(self._timeline(host)): host for host in self._hosts}
        left, newest, primary = set(timelines), "", None
        try:
            while left and (not self._newest or newest <= self._newest):
                done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
                for each in done:
                    if each.result() > newest:
                        newest, primary = each.result(), timelines[each]
        finally:
            for each in left:
                each.cancel()
            await asyncio.gather(*left, return_exceptions=True)
        self._newest = max(self._newest, newest)
        return primary

    async def _timeline(self, host: Host) -> str:
        """Returns the timeline of a primary; empty for other hosts, and for one that does not answer."""
        where = {"host": host.name, "port": host.port}
        with contextlib.suppress(*_ERRORS):
            async with asyncio.timeout(_ANSWERS_WITHIN_S):
                connection = await asyncpg.connect(**where, **self._arguments, timeout=_ANSWERS_WITHIN_S)
                try:
                    return str(await connection.fetchval(_PRIMARY))
                finally:
                    connection.terminate()
        return ""

    def drop(self, hosts: Collection[Host]) -> None:
        """Ends the connections to these hosts. What waits on one of them fails."""
        for connection, host in list(self._connections.items()):
            if host in hosts and not connection.is_closed():
                connection.terminate()


def _drop(connecting: asyncio.Task[asyncpg.Connection]) -> None:
    """Ends a connection that came too late."""
    if not connecting.cancelled() and connecting.exception() is None:
        connecting.result().terminate()


def _keep_alive(connection: asyncpg.Connection) -> None:
    """Has the system end the connection when its peer does not answer; as far as the system can."""
    peer = connection._transport.get_extra_info("socket")  # noqa: SLF001 - the driver has no other way to its socket
    if peer is None or peer.family == socket.AF_UNIX:
        return
    with contextlib.suppress(OSError):
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE.items():
            if hasattr(socket, name):
                peer.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def connect_arguments(url: str) -> dict[str, Any]:
    """Returns the arguments of asyncpg for a URL, as SQLAlchemy derives them."""
    parsed = sa.make_url(url).set(drivername="postgresql+asyncpg")
    return dict(parsed.get_dialect()().create_connect_args(parsed)[1])
