"""Scopes of ranked searches: as conditions on events, and as markers in the index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from ....domain.model import SessionRef
from ....domain.scopes import AppScope, EventScope, UserScope
from ..log.conditions import Conditions, parameter
from ..log.markers import scope_marker, session_marker
from ..log.rows import require
from ..log.scan import Scanner
from ..schema.tables import events, sessions


@dataclass(frozen=True, slots=True)
class Place:
    """A scope that was looked up."""

    marker: str
    session: int | None
    owner: dict[str, str] = field(default_factory=dict)

    def holding(self) -> Conditions:
        """The condition that an event, found by its key, is in the scope. Written so that no planner scans the scope
        instead."""
        found = Conditions()
        if self.session is None:
            found.add(partial(_owned, self.owner), **self.owner)
        else:
            found.add(_of_session_found, scope_session=self.session)
        return found

    def reading(self) -> Conditions:
        """The same, for a query of the scope's events joined with their sessions."""
        found = Conditions()
        if self.session is None:
            for name, value in self.owner.items():
                found.add(partial(_session_has, name), **{name: value})
        else:
            found.add(_of_session, scope_session=self.session)
        return found

    @property
    def key(self) -> Mapping[str, str | int]:
        """Returns the column values of the scope's sessions, and of no others."""
        return self.owner if self.session is None else {"id": self.session}

    def size(self) -> ColumnElement[int]:
        """Counts the events in the scope; the parameters are those of `key`. The cost grows with the sessions of the scope."""
        total = sa.func.coalesce(sa.func.sum(sessions.c.last_seq), sa.literal_column("0"))
        return sa.select(total).where(*map(_session_has, self.key)).scalar_subquery()


def place_of(scanner: Scanner, tenant: str, scope: EventScope) -> Place:
    """Raises SessionNotFound, AmbiguousSession."""
    if isinstance(scope, SessionRef):
        key = require(scanner.connection, tenant, scope, columns=sa.select(sessions.c.id)).id
        return Place(session_marker(key), key)
    return Place(scope_marker(tenant, scope), None, owner_of(tenant, scope))


def owner_of(tenant: str, scope: UserScope | AppScope) -> dict[str, str]:
    """Returns the column values of a scope's sessions."""
    user = {"user_id": scope.user_id} if isinstance(scope, UserScope) else {}
    return {"tenant": tenant, **user, **({} if scope.app is None else {"app": scope.app})}


def owned(tenant: str, scope: UserScope | AppScope) -> Conditions:
    """Conditions on sessions."""
    return Place("", None, owner_of(tenant, scope)).reading()


def _session_has(name: str) -> ColumnElement[bool]:
    return sessions.c[name] == parameter(name, sessions.c[name])


def _owned(owner: dict[str, str]) -> ColumnElement[bool]:
    mine = sa.and_(sessions.c.id == events.c.session, *map(_session_has, owner))
    # Not EXISTS, which PostgreSQL converts to a join that begins with the sessions.
    return sa.select(sessions.c.id).where(mine).correlate(events).scalar_subquery().is_not(None)


def _of_session() -> ColumnElement[bool]:
    return events.c.session == parameter("scope_session", events.c.session)


def _of_session_found() -> ColumnElement[bool]:
    # The sign prevents the use of the index on sessions.
    return sa.literal_column("+events.session", sa.BigInteger) == parameter("scope_session", events.c.session)
