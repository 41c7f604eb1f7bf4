"""EventFilter as SQL, except for the window. Property tests compare it with domain.filters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BindParameter
from sqlalchemy.sql import ColumnElement

from ....domain.filters import AuthorStep, EventFilter
from ....domain.model import POSITION_STEP
from ..engine.base import Dialect
from ..schema.tables import INSERTED, ON_BRANCH, event_text, events
from .slices.archivings import is_active, was_active

# No log is longer; keeps seq * POSITION_STEP within 64 bits for any request.
_MAX_SEQ = 1 << 42
_e = events.c


Condition = Callable[[], ColumnElement[bool]]


@dataclass(slots=True)
class Conditions:
    """Conditions on an event's columns, and the values of their parameters. Filters of one `shape` have the same conditions and
    differ in values only. Conditions are built on demand, because most statements are prepared already."""

    made: list[Condition] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)

    @property
    def shape(self) -> tuple[str, ...]:
        return (*self.flags, *self.values)

    @property
    def where(self) -> list[ColumnElement[bool]]:
        return [make() for make in self.made]

    def __and__(self, other: Conditions) -> Conditions:
        """Returns both; their parameters must have different names."""
        return Conditions(self.made + other.made, self.values | other.values, self.flags + other.flags)

    def add(self, make: Condition, **values: Any) -> None:
        self.values |= values
        self.made.append(make)

    def flag(self, name: str, make: Condition) -> None:
        self.flags.append(name)
        self.made.append(make)

    def among(self, name: str, values: Iterable[Any], column: ColumnElement[Any]) -> Condition:
        """The column has one of a few values; false if there are none."""
        bound = {f"{name}_{i}": value for i, value in enumerate(sorted(values))}
        self.values |= bound
        return lambda: sa.or_(sa.false(), *(column == parameter(each, column) for each in bound))


def parameter(name: str, column: ColumnElement[Any]) -> BindParameter[Any]:
    return sa.bindparam(name, type_=column.type)


def conditions(wanted: EventFilter, sql: Dialect, active: Condition = is_active) -> Conditions:
    """Returns the conditions on an event's columns. `active`: the condition that it is not archived."""
    found = Conditions()
    if wanted.exclude_synthetic:
        found.flag("real", lambda: _e.synthetic.is_(sa.false()))
    if wanted.exclude_archived:
        found.flag("active", active)
    if wanted.from_time is not None:
        found.add(lambda: _e.time >= parameter("from_time", _e.time), from_time=wanted.from_time)
    if wanted.to_time is not None:
        found.add(lambda: _e.time <= parameter("to_time", _e.time), to_time=wanted.to_time)
    if wanted.after_seq is not None:
        found.add(lambda: _e.seq > parameter("after_seq", _e.seq), after_seq=_clamp(wanted.after_seq))
    if wanted.before_seq is not None:
        found.add(lambda: _e.seq < parameter("before_seq", _e.seq), before_seq=_clamp(wanted.before_seq))
    if wanted.roles:
        found.add(found.among("role", map(int, wanted.roles), _e.role))
    for step in wanted.authors:
        _add_step(found, step, sql)
    _add_branches(found, wanted)
    return found


def _add_branches(found: Conditions, wanted: EventFilter) -> None:
    branches = wanted.branches
    if branches is not None:
        found.add(found.among("branch", branches, _e.branch))
    if wanted.exact_branch and wanted.branch:
        found.flag("on a branch", lambda: sa.text(f"events.{ON_BRANCH}"))  # type: ignore[arg-type,return-value]


def _add_step(found: Conditions, step: AuthorStep, sql: Dialect) -> None:
    kind = "include" if step.include else "exclude"
    ids, roles = step.authors.ids, step.authors.roles
    by: list[Condition] = []
    # One parameter for any number of them: the statement does not grow, and its depth is limited on SQLite.
    if ids:
        found.values[f"{kind}_ids"] = sql.listed(sorted(ids))
        by.append(lambda: sql.in_list(_e.author, f"{kind}_ids"))
    if roles:
        found.values[f"{kind}_roles"] = sql.listed(sorted(roles))
        by.append(lambda: sa.and_(_e.author_role != sa.literal_column("''"), sql.in_list(_e.author_role, f"{kind}_roles")))

    def make() -> ColumnElement[bool]:
        matched = sa.or_(sa.false(), *(each() for each in by))
        return matched if step.include else sa.not_(matched)

    # Flagged even without a value: an empty set is not the same as no condition.
    found.flag(kind, make)


def text_conditions(
    wanted: EventFilter,
    prefix: str,
    has: Callable[[BindParameter[str]], ColumnElement[bool]],
    spelled: Callable[[str], str] = str,
) -> Conditions:
    """EventFilter.holds over the derived text. `has`: the condition that it has the term of a parameter; `spelled`: the form of
    the term in such a parameter; `prefix` separates the parameters of two forms."""
    found = Conditions()

    def has_named(name: str) -> ColumnElement[bool]:
        return has(parameter(name, event_text.c.text))

    if wanted.keyword:
        keyword = f"{prefix}_keyword"
        found.add(lambda: has_named(keyword), **{keyword: spelled(wanted.keyword)})
    if wanted.keywords:
        terms = {f"{prefix}_{i}": spelled(term) for i, term in enumerate(wanted.keywords)}
        found.values |= terms
        # Flagged, because `all` and `any` of the same terms have the same values.
        kind, combined = ("all", sa.and_) if wanted.match_all else ("any", sa.or_)
        found.flag(kind, lambda: combined(*map(has_named, terms)))
    return found


def session_conditions(session: int, wanted: EventFilter, sql: Dialect, then: Mapping[str, int] | None = None) -> Conditions:
    """Conditions within one session, with bounds on position that follow from those on seq, so that the index on (session,
    position) serves both. `then`: of events that there were at a moment, see Moment.params.

    An appended event is at seq * POSITION_STEP; a compaction inserts events before that position, never after it.
    """
    found = conditions(wanted, sql, is_active if then is None else was_active)
    if then is not None:
        found.values |= then
        found.add(lambda: _e.seq <= parameter("then_seq", _e.seq))
        found.add(lambda: _e.position < parameter("then_end", _e.position))
    found.add(lambda: _e.session == parameter("session", _e.session), session=session)
    if wanted.before_seq is not None:
        bound = _clamp(wanted.before_seq) * POSITION_STEP
        found.add(lambda: _e.position < parameter("before_position", _e.position), before_position=bound)
    if wanted.after_seq is not None:
        found.add(_beyond_seq, after_position=_clamp(wanted.after_seq) * POSITION_STEP)
    return found


def _beyond_seq() -> ColumnElement[bool]:
    """After the position of after_seq, or after the first event that a compaction inserted later, if that is earlier."""
    after = parameter("after_position", _e.position)
    within = sa.and_(
        _e.session == parameter("session", _e.session),
        sa.text(INSERTED),
        _e.seq > parameter("after_seq", _e.seq),
    )
    # In a subquery, or PostgreSQL would look for the lowest position in the whole log.
    inserted = sa.select(_e.position).where(within).correlate(None).offset(sa.literal_column("0")).subquery()
    lowest = sa.select(sa.func.min(inserted.c.position)).scalar_subquery()
    return _e.position > sa.case((lowest <= after, lowest - sa.literal_column("1")), else_=after)


def _clamp(seq: int) -> int:
    return max(-1, min(seq, _MAX_SEQ))
