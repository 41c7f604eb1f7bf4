"""Which version of an event has the id that its caller gave it; the others have names of their own.

An append that replaces an event decides it. Where earlier versions become active again, it is decided here: the active version
has the id; without one, the version that has it keeps it, unless it is later than a seq: then the newest up to there gets it.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Connection

from .....domain.removals import superseded_id
from ...schema.removals import superseded_events
from ...schema.tables import events

_e, _x = events.c, superseded_events.c
_h = events.alias("holder")


def name_versions(connection: Connection, session: int, through: int) -> None:
    """Decides for the versions of a session, which are marked already. `through`: the seq."""
    holder = sa.and_(_h.c.session == session, _h.c.event_id == _x.event_id)
    joined = superseded_events.join(events, _e.id == _x.event).outerjoin(_h, holder)
    mine = (_x.session == session, _e.session == session)
    columns = (_x.event_id, _h.c.id.label("holder"), _h.c.seq.label("later"))
    active = sa.select(*columns, _e.id).select_from(joined).where(*mine, sa.not_(_e.archived))
    for row in connection.execute(active).all():
        _give(connection, session, row.event_id, row.id, row.holder, row.later)
    late = (_e.seq <= through, sa.or_(_h.c.id.is_(None), _h.c.seq > through))
    newest = sa.select(*columns, sa.func.max(_e.seq).label("seq")).select_from(joined).where(*mine, *late)
    for row in connection.execute(newest.group_by(_x.event_id, _h.c.id, _h.c.seq)).all():
        named = (_e.session == session, _e.event_id == superseded_id(row.event_id, row.seq))
        key = connection.execute(sa.select(_e.id).where(*named)).scalar_one()
        _give(connection, session, row.event_id, key, row.holder, row.later)


def _give(connection: Connection, session: int, event_id: str, key: int, holder: int | None, seq: int | None) -> None:
    """Gives the id to the event with the row id `key`. `holder`, `seq`: of the event that has it."""
    if holder is not None and seq is not None:
        name = superseded_id(event_id, seq)
        connection.execute(events.update().where(_e.id == holder).values(event_id=name))
        connection.execute(superseded_events.insert(), {"event": holder, "session": session, "event_id": event_id})
    connection.execute(events.update().where(_e.id == key).values(event_id=event_id))
    connection.execute(superseded_events.delete().where(_x.session == session, _x.event == key))
