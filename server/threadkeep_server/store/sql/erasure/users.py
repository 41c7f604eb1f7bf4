"""The unit of work that lists users: for each, a step in the indexes of names of every table that has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.sql import ColumnElement, Select

from ...contract.erasure import UserName, UserPage
from ..schema.memories import memories
from ..schema.state import shared_states
from ..schema.tables import sessions

_NAMED = (sessions.c, memories.c, shared_states.c)


def list_users(connection: Connection, tenant: str, app: str | None, limit: int, after: UserName | None) -> UserPage:
    """Runs in a snapshot."""
    found: list[UserName] = []
    for user in _users(connection, tenant, app, after):
        if len(found) == limit:
            return UserPage(found, found[-1])
        found.append(user)
    return UserPage(found)


def _users(connection: Connection, tenant: str, app: str | None, after: UserName | None) -> Iterator[UserName]:
    """Not one statement: for a DISTINCT, or a comparison of both names, a database may read all rows. It compares, because each
    has its own order of text."""
    at = after.app if after is not None else app if app is not None else _next_app(connection, tenant, None)
    user_id = "" if after is None else after.user_id
    while at is not None:
        while (next_id := _next_user(connection, tenant, at, user_id)) is not None:
            user_id = next_id
            yield UserName(at, user_id)
        at, user_id = _next_app(connection, tenant, at) if app is None else None, ""


def _next_user(connection: Connection, tenant: str, app: str, after: str) -> str | None:
    """The state of an app has an empty user_id, after which all users are."""
    return _first(connection, (_lowest(of.user_id, of.tenant == tenant, of.app == app, of.user_id > after) for of in _NAMED))


def _next_app(connection: Connection, tenant: str, after: str | None) -> str | None:
    """Returns the next app that has users."""
    return _first(
        connection,
        (
            _lowest(of.app, of.tenant == tenant, of.app >= "" if after is None else of.app > after, of.user_id != "")
            for of in _NAMED
        ),
    )


def _lowest(column: Any, *where: ColumnElement[bool]) -> Select[Any]:
    return sa.select(column.label("name")).where(*where).order_by(column).limit(1)


def _first(connection: Connection, lowest: Iterable[Select[Any]]) -> str | None:
    each = sa.union_all(*(sa.select(one.subquery().c.name) for one in lowest)).subquery()
    found: str | None = connection.execute(sa.select(each.c.name).order_by(each.c.name).limit(1)).scalar()
    return found
