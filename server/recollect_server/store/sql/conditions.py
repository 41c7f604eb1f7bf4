"""EventFilter as SQL: everything but the text conditions and the window. Held equal to domain.filters by property tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BindParameter
from sqlalchemy.sql import ColumnElement

from ...domain.branches import visible_from
from ...domain.filters import Authors, EventFilter
from .schema import POSITION_STEP, events

# No log is longer; keeps seq * POSITION_STEP within 64 bits whatever a caller asks for.
_MAX_SEQ = 1 << 42
_e = events.c


@dataclass(slots=True)
class Conditions:
    """Conditions on an event's columns, and the values of their parameters. Filters of one `shape` have the same conditions
    and differ in values only."""

    where: list[ColumnElement[bool]] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)

    @property
    def shape(self) -> tuple[str, ...]:
        return (*self.flags, *self.values)

    def bind(self, name: str, value: Any, column: ColumnElement[Any]) -> BindParameter[Any]:
        self.values[name] = value
        return sa.bindparam(name, type_=column.type)

    def among(self, name: str, values: Iterable[Any], column: ColumnElement[Any]) -> ColumnElement[bool]:
        bound = [self.bind(f"{name}_{i}", value, column) for i, value in enumerate(sorted(values))]
        return sa.or_(*(column == each for each in bound)) if bound else sa.false()

    def flag(self, name: str, condition: ColumnElement[bool]) -> None:
        self.flags.append(name)
        self.where.append(condition)


def conditions(wanted: EventFilter) -> Conditions:
    """What an event's columns must satisfy."""
    found = Conditions()
    if wanted.exclude_synthetic:
        found.flag("real", _e.synthetic.is_(sa.false()))
    if wanted.exclude_archived:
        found.flag("active", _e.archived.is_(sa.false()))
    if wanted.from_time is not None:
        found.where.append(_e.time >= found.bind("from_time", wanted.from_time, _e.time))
    if wanted.to_time is not None:
        found.where.append(_e.time <= found.bind("to_time", wanted.to_time, _e.time))
    if wanted.after_seq is not None:
        found.where.append(_e.seq > found.bind("after_seq", _clamp(wanted.after_seq), _e.seq))
    if wanted.before_seq is not None:
        found.where.append(_e.seq < found.bind("before_seq", _clamp(wanted.before_seq), _e.seq))
    if wanted.roles:
        found.where.append(found.among("role", map(int, wanted.roles), _e.role))
    for step in wanted.authors:
        kind = "include" if step.include else "exclude"
        by = _by(found, kind, step.authors)
        # Flagged even where there is no value to tell: an empty set is not the same as no condition.
        found.flag(kind, by if step.include else sa.not_(by))
    if wanted.branch:
        found.where.append(found.among("branch", visible_from(wanted.branch), _e.branch))
    return found


def _by(found: Conditions, kind: str, authors: Authors) -> ColumnElement[bool]:
    by_id = found.among(f"{kind}_id", authors.ids, _e.author)
    by_role = found.among(f"{kind}_role", authors.roles, _e.author_role)
    return sa.or_(by_id, sa.and_(_e.author_role != sa.literal_column("''"), by_role))


def session_conditions(session: int, wanted: EventFilter) -> Conditions:
    """Conditions within one session, with bounds on position that follow from those on seq, so that the index on
    (session, position) serves both.

    An appended event stands at seq * POSITION_STEP; a compaction inserts events before that place, never behind it.
    """
    found = conditions(wanted)
    own = found.bind("session", session, _e.session)
    found.where.insert(0, _e.session == own)
    if wanted.before_seq is not None:
        bound = found.bind("before_position", _clamp(wanted.before_seq) * POSITION_STEP, _e.position)
        found.where.append(_e.position < bound)
    if wanted.after_seq is not None:
        after = found.bind("after_position", _clamp(wanted.after_seq) * POSITION_STEP, _e.position)
        within = sa.and_(
            _e.session == own,
            sa.text(f"position % {POSITION_STEP} <> 0"),
            _e.seq > sa.bindparam("after_seq", type_=_e.seq.type),
        )
        lowest = sa.select(sa.func.min(_e.position)).where(within).correlate(None).scalar_subquery()
        found.where.append(_e.position > sa.case((lowest <= after, lowest - sa.literal_column("1")), else_=after))
    return found


def _clamp(seq: int) -> int:
    return max(-1, min(seq, _MAX_SEQ))
