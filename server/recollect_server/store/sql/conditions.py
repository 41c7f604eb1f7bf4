"""EventFilter as SQL: everything but the text conditions and the window. Held equal to domain.filters by property tests."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from ...domain.branches import visible_from
from ...domain.filters import Authors, EventFilter
from .schema import POSITION_STEP, events

# No log is longer; keeps seq * POSITION_STEP within 64 bits whatever a caller asks for.
_MAX_SEQ = 1 << 42


def conditions(wanted: EventFilter) -> list[ColumnElement[bool]]:
    """What an event's columns must satisfy."""
    e = events.c
    found: list[ColumnElement[bool]] = []
    if wanted.exclude_synthetic:
        found.append(e.synthetic.is_(sa.false()))
    if wanted.exclude_archived:
        found.append(e.archived.is_(sa.false()))
    if wanted.from_time is not None:
        found.append(e.time >= wanted.from_time)
    if wanted.to_time is not None:
        found.append(e.time <= wanted.to_time)
    if wanted.after_seq is not None:
        found.append(e.seq > _clamp(wanted.after_seq))
    if wanted.before_seq is not None:
        found.append(e.seq < _clamp(wanted.before_seq))
    if wanted.roles:
        found.append(e.role.in_(sorted(wanted.roles)))
    found.extend(_by(step.authors) if step.include else sa.not_(_by(step.authors)) for step in wanted.authors)
    if wanted.branch:
        found.append(e.branch.in_(sorted(visible_from(wanted.branch))))
    return found


def _by(authors: Authors) -> ColumnElement[bool]:
    by_id = events.c.author.in_(sorted(authors.ids))
    by_role = sa.and_(events.c.author_role != "", events.c.author_role.in_(sorted(authors.roles)))
    return sa.or_(by_id, by_role)


def seq_bounds(session: int, wanted: EventFilter) -> list[ColumnElement[bool]]:
    """Bounds on position that follow from those on seq, so that an index on (session, position) serves both.

    An appended event stands at seq * POSITION_STEP; a compaction inserts events before that place, never behind it.
    """
    bounds: list[ColumnElement[bool]] = []
    if wanted.before_seq is not None:
        bounds.append(events.c.position < _clamp(wanted.before_seq) * POSITION_STEP)
    if wanted.after_seq is not None:
        after = _clamp(wanted.after_seq)
        inserted = sa.and_(events.c.session == session, sa.text(f"position % {POSITION_STEP} <> 0"), events.c.seq > after)
        lowest = sa.select(sa.func.min(events.c.position)).where(inserted).correlate(None).scalar_subquery()
        appended = after * POSITION_STEP + 1
        bounds.append(events.c.position >= sa.case((lowest < appended, lowest), else_=appended))
    return bounds


def _clamp(seq: int) -> int:
    return max(-1, min(seq, _MAX_SEQ))
