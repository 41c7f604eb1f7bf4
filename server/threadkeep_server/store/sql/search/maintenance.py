"""What runs beside the calls, on a database: store.upkeep.UpkeepStore. And keys of events, for searches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy import Connection

from ....domain.model import Session, SessionRef
from ...contract.sessions import EXPIRED, Expired
from ..engine.unit_runner import Running
from ..log.rows import named, session_of
from ..log.session_queries import expired
from ..schema import versions
from ..schema.tables import INSERTED, POSITION_STEP, events, meta, sessions

_NOTES = "n:"
"""What keys of notes begin with in the table of facts."""


class SqlUpkeep(Running):
    """The part of the store that reads and notes."""

    async def expired_sessions(
        self, tenant: str | None, now: int, limit: int, skip: int = 0, which: Expired = EXPIRED
    ) -> Sequence[tuple[str, Session]]:
        ordered = sa.select(sessions).where(*expired(tenant, now, which)).order_by(sessions.c.expire_time, sessions.c.id)
        query = ordered.limit(limit).offset(skip)
        rows = await self._read(lambda connection: connection.execute(query).all())
        return [(row.tenant, session_of(row)) for row in rows]

    async def note(self, name: str) -> str | None:
        return await self._read(lambda connection: versions.get(connection, _NOTES + name))

    async def put_note(self, name: str, value: str, expected: str | None) -> bool:
        return await self._write(lambda connection: _put_note(connection, _NOTES + name, value, expected))

    async def event_keys(self, tenant: str, places: Sequence[tuple[SessionRef, int]]) -> Sequence[int]:
        return await self._read(lambda connection: _event_keys(connection, tenant, places))


def _put_note(connection: Connection, key: str, value: str, expected: str | None) -> bool:
    if expected is None:
        statement = "INSERT INTO threadkeep_meta (key, value) VALUES (:key, :value) ON CONFLICT (key) DO NOTHING"
        return bool(connection.execute(sa.text(statement), {"key": key, "value": value}).rowcount)
    changed = meta.update().where(meta.c.key == key, meta.c.value == expected).values(value=value)
    return bool(connection.execute(changed).rowcount)


def _event_keys(connection: Connection, tenant: str, places: Sequence[tuple[SessionRef, int]]) -> Sequence[int]:
    seqs: defaultdict[SessionRef, list[int]] = defaultdict(list)
    for ref, seq in places:
        seqs[ref].append(seq)
    keys: dict[tuple[SessionRef, int], int] = {}
    for ref, wanted in seqs.items():
        session = connection.execute(sa.select(sessions.c.id).where(named(tenant, ref))).scalar()
        if session is not None:
            of_session = sa.select(events.c.id, events.c.seq).where(events.c.session == session)
            appended = of_session.where(events.c.position.in_([seq * POSITION_STEP for seq in wanted]))
            inserted = of_session.where(sa.text(INSERTED), events.c.seq.in_(wanted))
            for query in (appended, inserted):
                keys |= {(ref, row.seq): row.id for row in connection.execute(query)}
    return [keys[place] for place in places if place in keys]
