"""Records the changes of windows."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy import Connection

from ....domain.model import POSITION_STEP, Versions
from ...contract.compaction import floor_of
from ..log.change_details import state_columns
from ..log.slices.archivings import is_unlisted, window_of
from ..schema.history import FLOORS, window_changes
from ..schema.tables import ACTIVE_LEAD, LEAD, events

_e = events.c
_w = window_changes.c


def record_window(connection: Connection, session: int, after: Versions, inserted: Sequence[int] = ()) -> None:
    """Records a change that archived or inserted events, in its transaction and after it wrote them. `inserted`: the positions
    that inserted events got."""
    start = min([_conversation_floor(connection, session), *map(floor_of, inserted)])
    found = (_oldest(connection, session, start), *_leads(connection, session))
    end = after.last_seq * POSITION_STEP
    floors = [end if position is None else floor_of(position) for position in found]
    row = {"session": session, "migrated": False, **dict(zip(FLOORS, floors, strict=True)), **state_columns(after)}
    connection.execute(window_changes.insert(), row)


def _conversation_floor(connection: Connection, session: int) -> int:
    newest = sa.select(_w.conversation_floor).where(_w.session == session).order_by(_w.log_version.desc()).limit(1)
    return connection.execute(newest).scalar() or 0


def _oldest(connection: Connection, session: int, start: int) -> int | None:
    """Returns the position of the oldest active event of the conversation. Below `start` is none."""
    oldest = sa.select(_e.position).where(*window_of(session), sa.text(f"NOT ({LEAD})"), _e.position > start)
    return connection.execute(oldest.order_by(_e.position).limit(1)).scalar()


def _leads(connection: Connection, session: int) -> tuple[int | None, int | None]:
    """Returns the positions of the oldest active summary and SYSTEM event."""
    lowest = sa.func.min(_e.position)
    active = (_e.session == session, sa.text(ACTIVE_LEAD), is_unlisted())
    summaries, prompts = connection.execute(
        sa.select(lowest.filter(_e.synthetic), lowest.filter(sa.not_(_e.synthetic))).where(*active)
    ).one()
    return summaries, prompts
