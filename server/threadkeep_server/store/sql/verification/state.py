"""Checks state: the totals of each scope against its values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from ..schema.erasures import erasures
from ..schema.state import past_values, shared_states, state_totals, state_values
from ..schema.tables import sessions
from .findings import Findings
from .keys import Keys
from .streams import Stream


class StateCheck:
    """Reads the state of every scope. `unowned`: row ids whose values wait for their removal, or for their session."""

    def __init__(self, connection: Connection, keys: Keys, unowned: Collection[int], findings: Findings) -> None:
        self._connection = connection
        self._keys = keys
        self._unowned = unowned
        self._findings = findings
        running = sa.select(erasures.c.id).where(erasures.c.finish_time.is_(None)).limit(1)
        # It removes the values of users and apps in parts, and the totals at the end.
        self._erasing = connection.execute(running).scalar() is not None

    def run(self) -> None:
        t, v, p = state_totals.c, state_values.c, past_values.c
        values = Stream(self._connection, sa.select(v.owner, v.key, v.value).order_by(v.owner, v.key), "owner")
        past = Stream(self._connection, sa.select(p.owner, p.value).order_by(p.owner, p.key), "owner")
        tenant = sa.func.coalesce(sessions.c.tenant, shared_states.c.tenant).label("tenant")
        joined = state_totals.outerjoin(sessions, sessions.c.id == t.owner)
        joined = joined.outerjoin(shared_states, shared_states.c.id == -t.owner)
        totals = Stream(self._connection, sa.select(state_totals, tenant).select_from(joined).order_by(t.owner), "owner")
        for row in totals.before(None):
            for stream in (values, past):
                self._unclaimed({each.owner for each in stream.before(row.owner)})
            self._check(row, values, past)
        for stream in (values, past):
            self._unclaimed({each.owner for each in stream.before(None)})

    def _check(self, totals: Row[Any], values: Stream, past: Stream) -> None:
        name = f"state of the {'session' if totals.owner > 0 else 'user or app'} with the row id {abs(totals.owner)}"
        if totals.tenant is None and totals.owner not in self._unowned:
            self._findings.add("state", name, "whose it is does not exist")
        keys, size, readable = 0, 0, True
        for row in values.of(totals.owner):
            value = self._keys.opened(row.value, totals.tenant, name)
            keys += 1
            readable = readable and value is not None
            size += len(row.key) + len(value or b"")
        earlier = 0
        for row in past.of(totals.owner):
            self._keys.opened(row.value, totals.tenant, name)
            earlier += 1
        counted: Mapping[str, tuple[int, int]] = {
            "keys": (totals.keys, keys),
            "bytes": (totals.bytes, size if readable else totals.bytes),
            "earlier values": (totals.past, earlier),
        }
        if self._erasing and totals.owner < 0:
            return
        for what, (stored, found) in counted.items():
            if stored != found:
                self._findings.add("state", name, f"it counts {stored} {what}; it has {found}")

    def _unclaimed(self, owners: set[int]) -> None:
        for owner in sorted(owners.difference(self._unowned)):
            self._findings.add("state", f"owner {owner}", "it has values of state and no totals")
