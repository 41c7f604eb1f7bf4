"""The statements that read the feed, each of one instant: what it tells of the feed's ends holds for the changes it selects."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import BigInteger, BindParameter, CompoundSelect
from sqlalchemy.sql import ColumnElement, Select, Subquery
from sqlalchemy.sql.util import ClauseAdapter

from ....domain.feed import BEGINNING, FeedScope, Position
from ..engine.base import Engine
from ..log.change_order import beyond, not_beyond, of_session
from ..schema.tables import DELETED, UPDATED, changes, feed_floor, session_labels, sessions

_HIGHEST = (1 << 63) - 1
END = Position(_HIGHEST, _HIGHEST)

_c = changes.c
_NAMES = ("tenant", "app", "user_id", "session_id")
_PLAIN = [column.name for column in _c if column.name not in _NAMES]
COLUMNS = (*_PLAIN, *_NAMES, "labels_json")
"""What is told of a change: its own columns but for its name, the name, and the labels of its session, null if it is gone."""
_DELETION = sa.text(f"changes.kind = {DELETED}")


class Ends(NamedTuple):
    """What a page tells beside changes. The window is what was looked at for those of a scope; null if the feed ends in it."""

    floor_xid: int
    floor_change: int
    head_xid: int | None
    head_change: int | None
    window_xid: int | None
    window_change: int | None
    unsettled: int


# They are a row among those of the changes, of no kind: as columns of their own SQLite would have to hold the whole page.
_ENDS_IN = ("xid", "id", "time", "session", "first", "last", "size")
KIND = COLUMNS.index("kind")
ends_of = itemgetter(*(COLUMNS.index(name) for name in _ENDS_IN))


class PageQuery:
    """How a page is found: all changes that the scope may admit. Of labels FeedScope.admits decides.

    Of one session, by the index of its changes. Of any other scope, among as many of the next changes as a page may hold and
    one more, whomever they concern.
    """

    def __init__(self, after: Position, limit: int, scope: FeedScope | None, upto: Position | None) -> None:
        self.after = after
        self.limit = limit
        self.scope = scope
        self.upto = upto or END
        named = {} if scope is None else {name: getattr(scope, name) for name in _NAMES}
        self._names: dict[str, str] = {name: value for name, value in named.items() if value is not None}
        self._of_session = len(self._names) == len(_NAMES)
        self.windowed = scope is not None and not self._of_session
        labels = scope.labels if scope is not None and self.windowed else ()
        self._labels = {f"{part}_{i}": each[part == "value"] for i, each in enumerate(labels) for part in ("key", "value")}

    def onward(self, after: Position) -> PageQuery:
        return PageQuery(after, self.limit, self.scope, self.upto)

    @property
    def shape(self) -> tuple[Hashable, ...]:
        return ("changes", self.limit, *self._names, *self._labels)

    @property
    def values(self) -> dict[str, Any]:
        ends = {"after_xid": self.after.xid, "after_change": self.after.change}
        ends |= {"upto_xid": self.upto.xid, "upto_change": self.upto.change}
        return ends | self._names | self._labels

    def statement(self, engine: Engine) -> CompoundSelect[Any]:
        """COLUMNS of changes, in no order, and one more than fit, to tell whether others follow; and a row of ends."""
        parts = self._of_name(engine) if self._of_session else [self._among_the_next(engine)]
        return sa.union_all(*parts, self._ends(engine))

    def _ends(self, engine: Engine) -> Select[Any]:
        head = _last(engine).subquery("head")
        joined = feed_floor.outerjoin(head, sa.true())
        window: Sequence[ColumnElement[Any]] = (sa.null(), sa.null())
        if self.windowed:
            places = self._next(engine).with_only_columns(_c.xid, _c.id).limit(_literal(1)).offset(_literal(self.limit))
            last = _told(engine, places.subquery("last"))
            joined = joined.outerjoin(last, sa.true())
            window = (last.c.xid, last.c.id)
        ends = (feed_floor.c.xid, feed_floor.c.change, head.c.xid, head.c.id, *window, _unsettled(engine))
        told = dict(zip(_ENDS_IN, ends, strict=True)) | {"kind": _literal(0)}
        return sa.select(*(told.get(name, sa.null()).label(name) for name in COLUMNS)).select_from(joined)

    def _next(self, engine: Engine) -> Select[Any]:
        """What lies beyond `after`, settled or not, in order.

        By nothing but the order, for PostgreSQL to go by it: with any other condition it expects so few changes that it sorts
        them all. Nor is the limit a parameter, which would be planned for as a tenth of all changes."""
        ahead = beyond(engine, number("after_xid"), number("after_change"))
        return sa.select(changes).where(ahead).order_by(*engine.change_order).limit(_literal(self.limit + 1))

    def _among_the_next(self, engine: Engine) -> Select[Any]:
        found = _told(engine, self._next(engine).subquery("next"))
        return _with_sessions(found).where(*self._conditions(found))

    def _of_name(self, engine: Engine) -> list[Select[Any]]:
        """Of the earlier sessions of the name there is nothing to tell but their deletion."""
        deletions = self._next(engine).where(_DELETION, *(_c[name] == _text(name) for name in self._names))
        parts = (self._next(engine).where(*self._living(engine)), deletions)
        return [_with_sessions(_told(engine, part.subquery("next"))) for part in parts]

    def _living(self, engine: Engine) -> list[ColumnElement[bool]]:
        named = (sessions.c[name] == _text(name) for name in self._names)
        key = sa.select(sessions.c.id).where(*named).correlate(None).scalar_subquery()
        return of_session(engine, key)

    def _conditions(self, found: Subquery) -> list[ColumnElement[bool]]:
        conditions: list[ColumnElement[bool]] = [_named(found, name) == _text(name) for name in self._names]
        if self._labels:
            borne = [_labelled(found, i) for i in range(len(self._labels) // 2)]
            # What these bore before, only their detail tells.
            kinds = [_literal(kind) for kind in (DELETED, UPDATED)]
            conditions.append(sa.or_(found.c.kind.in_(kinds), sa.and_(*borne)))
        return conditions


def _told(engine: Engine, found: Subquery) -> Subquery:
    """What may be told of these changes. What is not settled, or lies beyond `upto`, comes last in the order."""
    upto = not_beyond(engine, number("upto_xid"), number("upto_change"))
    return sa.select(found).where(*map(ClauseAdapter(found).traverse, (upto, engine.settled()))).subquery("found")


def _with_sessions(found: Subquery) -> Select[Any]:
    """COLUMNS of these changes."""
    columns: list[ColumnElement[Any]] = [found.c[name] for name in _PLAIN]
    columns += [_named(found, name).label(name) for name in _NAMES]
    query = sa.select(*columns, sessions.c.labels_json)
    return query.select_from(found.outerjoin(sessions, sessions.c.id == found.c.session))


def _named(found: Subquery, name: str) -> ColumnElement[str]:
    """A deleted session has its name from the change."""
    return sa.func.coalesce(sessions.c[name], found.c[name])


def _labelled(found: Subquery, number: int) -> ColumnElement[bool]:
    of = session_labels.c
    same = (of.session == found.c.session, of.key == _text(f"key_{number}"), of.value == _text(f"value_{number}"))
    return sa.exists().where(*same).correlate(found)


def _last(engine: Engine) -> Select[Any]:
    order = [column.desc() for column in engine.change_order]
    return sa.select(_c.xid, _c.id).where(engine.settled()).order_by(*order).limit(sa.literal_column("1"))


def _unsettled(engine: Engine) -> ColumnElement[int]:
    """Whether something is committed that is not settled; nothing is where what is visible is settled. By the last change, for
    PostgreSQL would go through all of them to find one that is not."""
    order = [column.desc() for column in engine.change_order]
    last = sa.select(_c.xid).order_by(*order).limit(_literal(1)).subquery("newest")
    settled = ClauseAdapter(last).traverse(engine.settled())
    return sa.select(sa.case((settled, _literal(0)), else_=_literal(1))).select_from(last).scalar_subquery()


def ends_statement(engine: Engine) -> Select[Any]:
    """The ends of the feed; `oldest_time` of the oldest change kept; how many changes are committed and not settled."""
    head = _last(engine).subquery("head")
    kept = beyond(engine, *(sa.select(column).scalar_subquery() for column in (feed_floor.c.xid, feed_floor.c.change)))
    oldest = sa.select(_c.time).where(kept).order_by(*engine.change_order).limit(sa.literal_column("1"))
    unsettled = sa.select(sa.func.count()).select_from(changes).where(sa.not_(engine.settled()))
    return sa.select(
        feed_floor.c.xid.label("floor_xid"),
        feed_floor.c.change.label("floor_change"),
        head.c.xid.label("head_xid"),
        head.c.id.label("head_change"),
        oldest.scalar_subquery().label("oldest_time"),
        unsettled.scalar_subquery().label("unsettled"),
    ).select_from(feed_floor.outerjoin(head, sa.true()))


def floor_of(row: Any) -> Position:
    return Position(row.floor_xid, row.floor_change)


def head_of(row: Any) -> Position:
    """The floor where nothing is kept; what a migration found may lie below it."""
    head = BEGINNING if row.head_change is None else Position(row.head_xid, row.head_change)
    return max(head, floor_of(row))


def number(name: str) -> BindParameter[int]:
    return sa.bindparam(name, type_=BigInteger)


def _literal(value: int) -> ColumnElement[int]:
    return sa.literal_column(str(value))


def _text(name: str) -> BindParameter[str]:
    return sa.bindparam(name, type_=sa.Text)
