"""The unit of work that finds the keys of events by session and seq."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy import Connection

from ....domain.model import POSITION_STEP, SessionRef
from ..log.rows import named
from ..schema.tables import INSERTED, events, sessions


def event_keys(connection: Connection, tenant: str, places: Sequence[tuple[SessionRef, int]]) -> Sequence[int]:
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
