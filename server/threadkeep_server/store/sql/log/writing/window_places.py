"""Positions for events that are inserted into the window, between others."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Connection

from .....domain.model import POSITION_STEP
from ....contract.compaction import floor_of, parted, spread
from ...schema.tables import events

_e = events.c
_MOVE = events.update().where(_e.id == sa.bindparam("row")).values(position=sa.bindparam("to"))


class WindowPlaces:
    """The places of one session, which is locked. `session`: the id of its row."""

    def __init__(self, connection: Connection, session: int) -> None:
        self._connection = connection
        self._session = session

    def positions(self, anchor: int | None, count: int, last_seq: int) -> list[int]:
        """Returns positions before the event with the row id `anchor`; None: after all events."""
        low, high = self._gap(anchor, last_seq)
        found = spread(low, high, count)
        if found is None:
            self._make_room(high)
            found = spread(*self._gap(anchor, last_seq), count)
        assert found is not None  # noqa: S101 - nobody inserts a hundred thousand events between two others
        return found

    def position(self, key: int) -> int:
        """Returns that of the event with this row id."""
        position: int = self._connection.execute(sa.select(_e.position).where(_e.id == key)).scalar_one()
        return position

    def _gap(self, anchor: int | None, last_seq: int) -> tuple[int, int]:
        """Returns the positions to insert between: after all events, or between the row `anchor` and the event before it.

        The range never contains a multiple of POSITION_STEP: such a position means that its event was appended.
        """
        if anchor is None:
            return last_seq * POSITION_STEP, (last_seq + 1) * POSITION_STEP
        high = self.position(anchor)
        floor = floor_of(high)
        between = (_e.session == self._session, _e.position > floor, _e.position < high)
        low = self._connection.execute(sa.select(sa.func.max(_e.position)).where(*between)).scalar()
        return low or floor, high

    def _make_room(self, high: int) -> None:
        """Spreads the events that were inserted between two appended ones, so that a wide gap is before `high`."""
        floor = floor_of(high)
        within = (_e.session == self._session, _e.position > floor, _e.position < floor + POSITION_STEP)
        rows = self._connection.execute(sa.select(_e.id, _e.position).where(*within).order_by(_e.position)).all()
        before = sum(row.position < high for row in rows)
        offsets = parted(before, len(rows) - before, POSITION_STEP)
        # Moves them out of the way first: no two events may have one position, not even for a moment.
        self._connection.execute(events.update().where(*within).values(position=-_e.position))
        moved = [{"row": row.id, "to": floor + offset} for row, offset in zip(rows, offsets, strict=True)]
        if moved:
            self._connection.execute(_MOVE, moved)
