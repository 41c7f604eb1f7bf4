"""The incarnations of a database, and the key of the tokens that name them. Facts of the database, so a copy has them too.

On SQLite every start begins one, because a file may have been replaced between any two. Servers share a PostgreSQL database, so
there one begins only where the database itself was started again (a physical restore, a failover) or its rows were written
again (a dump).
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from ....domain.feed import BEGINNING, Incarnation, Incarnations, Position
from ..engine.base import Engine
from .tables import INCARNATIONS, changes, feed_floor, meta
from .versions import get, put

_TOKEN_KEY = "token_key"  # noqa: S105 - a name
_TOKEN_KEY_BYTES = 32
# Starts of a SQLite database within the retention of its feed. Tokens of earlier ones are refused.
_MOST = 1000


class Begun(NamedTuple):
    """What tokens are made with: the stored form of the incarnations, and the key in hex."""

    stored: str
    token_key: str


def begin(connection: Connection, engine: Engine) -> Begun:
    """Begins an incarnation if the database may have been restored. A unit of work that runs alone."""
    mark = sa.text(f"SELECT value, {engine.sql.row_mark} FROM {meta.name} WHERE key = :key")  # noqa: S608 - constants
    row = connection.execute(mark, {"key": INCARNATIONS}).one_or_none()
    if row is None or json.loads(row[0])["mark"] != row[1]:
        if engine.sql.no_changes:
            # A change is then committed either before the incarnation, and not after its start, or after it.
            connection.exec_driver_sql(engine.sql.no_changes)
        known = _begun(read(row[0]).known if row else (), *_ends(connection, engine))
        new_mark = connection.exec_driver_sql(f"SELECT {engine.sql.mark}").scalar_one()
        put(connection, INCARNATIONS, json.dumps({"mark": new_mark, "known": [[each.number, *each.start] for each in known]}))
    if get(connection, _TOKEN_KEY) is None:
        put(connection, _TOKEN_KEY, secrets.token_hex(_TOKEN_KEY_BYTES))
    return Begun(get(connection, INCARNATIONS) or "", get(connection, _TOKEN_KEY) or "")


def read(stored: str) -> Incarnations:
    known: list[list[int]] = json.loads(stored)["known"]
    return Incarnations(tuple(Incarnation(number, Position(xid, change)) for number, xid, change in known))


def _ends(connection: Connection, engine: Engine) -> tuple[Position, Position]:
    """Returns the floor of the feed and its newest change, readable or not."""
    floor = Position(*connection.execute(sa.select(feed_floor.c.xid, feed_floor.c.change)).one())
    newest = sa.select(changes.c.xid, changes.c.id).order_by(*(each.desc() for each in engine.sql.change_order)).limit(1)
    row = connection.execute(newest).one_or_none()
    return floor, max(floor, BEGINNING if row is None else Position(*row))


def _begun(known: Sequence[Incarnation], floor: Position, newest: Position) -> Sequence[Incarnation]:
    """Returns these incarnations and a new one. Without those that have no change, and those whose positions have expired."""
    with_changes = [each for each in known if each.start < newest]
    number = secrets.randbits(31) or 1
    all_of_them = [*with_changes, Incarnation(number, newest)]
    expired = sum(follower.start < floor for follower in all_of_them[1:])
    return all_of_them[expired:][-_MOST:]


class SeenIncarnations:
    """The incarnations of a database as this server last read them."""

    def __init__(self, stored: str) -> None:
        self._stored = stored
        self.current = read(stored)
        self._listeners: list[Callable[[], None]] = []

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Calls the listener when another incarnation has begun."""
        self._listeners.append(listener)

    def see(self, stored: Any) -> None:
        """Takes over what a read found; None if it was not read."""
        if stored is None or stored == self._stored:
            return
        self._stored, self.current = stored, read(stored)
        for listener in self._listeners:
            listener()
