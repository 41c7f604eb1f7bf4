"""Rewinds: the window and the state of a session become those of an earlier moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Connection, Row
from sqlalchemy.sql import ColumnElement, Select

from ....domain.errors import StateTooLarge
from ....domain.model import POSITION_STEP, Counters, Tools
from ....domain.removals import MOST_REWOUND
from ....domain.state.state import StatePatch, StateRecord, StateScope
from ...contract.history import AsOf, LogPoint
from ...contract.removals import RemovalRequest, check_rewound
from ..encryption.codec import StoredCodec
from ..engine.statements import Statements
from ..history.moments import Moment
from ..history.points import find_point
from ..log.rows import content_of
from ..log.slices.archivings import mark_events, was_archived_before
from ..log.writing.version_names import name_versions
from ..schema.history import ALL_LEADS, past_archivings
from ..schema.removals import log_erasures
from ..schema.state import past_values, state_values
from ..schema.tables import INSERTED, events
from ..state.group import Planned, StateGroup, Wanted
from ..state.statements import StateStatements

_e = events.c
COLUMNS = (_e.id, _e.event_id, _e.seq, _e.position, _e.turn_start, _e.size, _e.tokens, _e.archived, _e.tools, _e.content_bytes)
_ROWS_AT_ONCE = 500
_ACTIVATE = events.update().where(_e.id == sa.bindparam("row")).values(archived=False, archived_version=0)


@dataclass(frozen=True, slots=True)
class Rewinding:
    """What comes back: events that are active again, events that are archived again, and values of state. `through`: the last
    seq of the point."""

    through: int
    restored: Sequence[Row[Any]] = ()
    again: Sequence[Row[Any]] = ()
    state: tuple[StateGroup, Planned] | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        return bool(self.restored) or bool(self.again) or self.state is not None

    @property
    def content(self) -> int:
        return sum(content_of(row) for row in self.restored)

    @property
    def counters(self) -> Counters:
        rows = self.restored
        return Counters(
            len(rows), sum(bool(row.turn_start) for row in rows), sum(row.size for row in rows), sum(row.tokens for row in rows)
        )


def plan(
    connection: Connection, codec: StoredCodec, statements: Statements, session: Row[Any], request: RemovalRequest, at: AsOf
) -> tuple[Sequence[Row[Any]], Rewinding]:
    """Returns the events that leave, in window order, and what comes back. Raises InvalidField, HistoryUnknown."""
    point, moment = find_point(connection, statements, request.ref, session, at)
    gone = _after(connection, session.id, point.seq, erase=request.erase)
    restored = _of_then(connection, session.id, point, moment)
    again = _archived_then(connection, session.id, point)
    check_rewound(at, len(gone) + len(restored) + len(again))
    state = _state(connection, codec, statements, session.id, request.tenant, point.log_version)
    return gone, Rewinding(point.seq, restored, again, state)


def _after(connection: Connection, session: int, seq: int, *, erase: bool) -> list[Row[Any]]:
    """Returns the events after a seq that are to leave, in window order; not many more than may."""
    left: ColumnElement[bool] = _e.tools != int(Tools.ERASED) if erase else sa.literal_column("NOT archived", sa.Boolean)
    appended = (_e.position > seq * POSITION_STEP, sa.text(f"NOT ({INSERTED})"))
    inserted = (sa.text(INSERTED), _e.seq > seq)
    found: list[Row[Any]] = []
    for after in (appended, inserted):
        query: Select[Any] = sa.select(*COLUMNS).where(_e.session == session, left, *after).order_by(_e.position)
        found += connection.execute(query.limit(MOST_REWOUND + 1)).all()
    return sorted(found, key=lambda row: row.position)


def _of_then(connection: Connection, session: int, point: LogPoint, moment: Moment) -> list[Row[Any]]:
    """Returns the archived events that were active then, in window order; not many more than may. Events below the floors of
    the moment were not."""
    then = sa.literal(point.log_version, BigInteger)
    # What a clear erases is gone, also if it is not yet.
    cleared = sa.select(log_erasures.c.through).where(log_erasures.c.session == session).scalar_subquery()
    kept = _e.seq > sa.func.coalesce(cleared, sa.literal_column("0"))
    since = (kept, _e.archived, _e.archived_version > then, _e.tools != int(Tools.ERASED), sa.not_(was_archived_before(then)))
    conversation = (_e.position > moment.conversation_floor, _e.position < (point.seq + 1) * POSITION_STEP)
    leads = (sa.text(ALL_LEADS), _e.position > min(moment.summaries_floor, moment.prompts_floor))
    found: dict[int, Row[Any]] = {}
    for place in (conversation, leads):
        query = sa.select(*COLUMNS).where(_e.session == session, _e.seq <= point.seq, *since, *place)
        found |= {row.id: row for row in connection.execute(query.order_by(_e.position).limit(MOST_REWOUND + 1))}
    return sorted(found.values(), key=lambda row: row.position)


def _archived_then(connection: Connection, session: int, point: LogPoint) -> Sequence[Row[Any]]:
    """Returns the active events that were archived then: a later rewind has made them active."""
    p = past_archivings.c
    covers = (p.session == session, p.since <= point.log_version, p.until > point.log_version)
    joined: Select[Any] = sa.select(*COLUMNS).join(past_archivings, p.event == _e.id)
    wanted = (_e.session == session, _e.seq <= point.seq, sa.not_(_e.archived))
    return connection.execute(joined.where(*covers, *wanted).order_by(_e.position).limit(MOST_REWOUND + 1)).all()


def restore(connection: Connection, session: int, rewinding: Rewinding, version: int) -> None:
    """Makes events active again, and others archived, with the ids that they had. `version`: the log version with it."""
    mark_events(connection, [row.id for row in rewinding.again], version)
    keys = [row.id for row in rewinding.restored]
    for start in range(0, len(keys), _ROWS_AT_ONCE):
        some = keys[start : start + _ROWS_AT_ONCE]
        until = sa.literal(version, BigInteger)
        past = sa.select(_e.id, until, _e.archived_version, _e.session).where(_e.id.in_(some))
        connection.execute(past_archivings.insert().from_select(["event", "until", "since", "session"], past))
        connection.execute(_ACTIVATE, [{"row": key} for key in some])
    name_versions(connection, session, rewinding.through)


# --- state


def _state(
    connection: Connection, codec: StoredCodec, statements: Statements, session: int, tenant: str, then: int
) -> tuple[StateGroup, Planned] | None:
    """Returns the change of the state that brings back the values of a log version; None without a difference."""
    now, past = state_values.c, past_values.c
    changed = connection.execute(sa.select(now.key).where(now.owner == session, now.since > then)).scalars().all()
    covers = (past.owner == session, past.since <= then, past.until > then)
    was = {row.key.decode(): row.value for row in connection.execute(sa.select(past.key, past.value).where(*covers))}
    gone = tuple(sorted(key for key in (column.decode() for column in changed) if key not in was))
    patch = StatePatch({key: codec.decrypt(value).decode() for key, value in was.items()}, gone)
    if not patch:
        return None
    group = StateGroup(codec, StateStatements(statements))
    group.load(connection, [Wanted(session, tenant, [patch])])
    planned = group.plan(session, patch, "state")
    if isinstance(planned, StateTooLarge):
        raise planned
    return None if planned is None else (group, planned)


def restore_state(connection: Connection, rewinding: Rewinding, version: int) -> StateRecord | None:
    """Writes the values, and returns the record of the change."""
    if rewinding.state is None:
        return None
    group, planned = rewinding.state
    record = group.apply(planned, StateScope.SESSION, version)
    group.write(connection)
    return record
