"""The statements that read the feed. Each reads one snapshot: the ends of the feed match the selected changes."""

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
from ..schema.tables import DELETED, INCARNATIONS, UPDATED, changes, feed_floor, meta, session_labels, sessions

_HIGHEST = (1 << 63) - 1
END = Position(_HIGHEST, _HIGHEST)

_c = changes.c
_NAMES = ("tenant", "app", "user_id", "session_id")
_PLAIN = [column.name for column in _c if column.name not in _NAMES]
COLUMNS = (*_PLAIN, "former", *_NAMES, "labels_json")
"""The columns of a change: its own without the name, whether its session had another owner then, the name, and the labels of
its session, null if it is deleted."""
_DELETION = sa.text(f"changes.kind = {DELETED}")


class Ends(NamedTuple):
    """The ends that a page reports. `window`: the last change considered for a scope; null if the page reaches the end."""

    floor_xid: int
    floor_change: int
    head_xid: int | None
    head_change: int | None
    window_xid: int | None
    window_change: int | None
    unsettled: int
    incarnations: str | None


# They are a row of kind 0 among the changes: SQLite would buffer the whole page for columns of their own.
_ENDS_IN = ("xid", "id", "time", "session", "first", "last", "size", "tenant")
KIND = COLUMNS.index("kind")
ends_of = itemgetter(*(COLUMNS.index(name) for name in _ENDS_IN))


class PageQuery:
    """Selects a page: all changes that the scope may admit; FeedScope.admits decides about labels.

    Changes of one session are found by their index. For other scopes the page is selected from the next `limit` + 1 changes of
    all sessions.
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
        """Selects COLUMNS of changes, unordered, and one more than fit, to detect that others follow; and a row of ends."""
        parts = self._of_name(engine) if self._of_session else [self._among_the_next(engine)]
        return sa.union_all(*parts, self._ends(engine))

    def _ends(self, engine: Engine) -> Select[Any]:
        head = _last(engine).subquery("head")
        joined = feed_floor.outerjoin(head, sa.true())
        window: Sequence[ColumnElement[Any]] = (sa.null(), sa.null())
        if self.windowed:
            places = self._next(engine).with_only_columns(_c.xid, _c.id).limit(_literal(1)).offset(_literal(self.limit))
            last = _readable(engine, places.subquery("last"))
            joined = joined.outerjoin(last, sa.true())
            window = (last.c.xid, last.c.id)
        floor_and_head = (feed_floor.c.xid, feed_floor.c.change, head.c.xid, head.c.id)
        ends = (*floor_and_head, *window, _unsettled(engine), _incarnations(engine))
        columns = dict(zip(_ENDS_IN, ends, strict=True)) | {"kind": _literal(0)}
        return sa.select(*(columns.get(name, sa.null()).label(name) for name in COLUMNS)).select_from(joined)

    def _next(self, engine: Engine) -> Select[Any]:
        """Selects the changes after `after`, visible or not, in order.

        There is no other condition, so that PostgreSQL uses the order: with one it expects few rows and sorts all of them. The
        limit is not a parameter, because a parameter is planned as a tenth of all changes.
        """
        ahead = beyond(engine, number("after_xid"), number("after_change"))
        return sa.select(changes).where(ahead).order_by(*engine.sql.change_order).limit(_literal(self.limit + 1))

    def _among_the_next(self, engine: Engine) -> Select[Any]:
        found = _readable(engine, self._next(engine).subquery("next"))
        return _with_sessions(found).where(*self._conditions(found))

    def _of_name(self, engine: Engine) -> list[Select[Any]]:
        """Of earlier sessions of this name, only the deletion is read."""
        deletions = self._next(engine).where(_DELETION, *(_c[name] == _text(name) for name in self._names))
        parts = (self._next(engine).where(*self._living(engine)), deletions)
        return [_with_sessions(_readable(engine, part.subquery("next"))) for part in parts]

    def _living(self, engine: Engine) -> list[ColumnElement[bool]]:
        named = (sessions.c[name] == _text(name) for name in self._names)
        key = sa.select(sessions.c.id).where(*named).correlate(None).scalar_subquery()
        return of_session(engine, key)

    def _conditions(self, found: Subquery) -> list[ColumnElement[bool]]:
        conditions: list[ColumnElement[bool]] = [_named(found, name) == _text(name) for name in self._names]
        if "user_id" in self._names:
            conditions.append(_of_this_owner(found))
        if self._labels:
            matching = [_labelled(found, i) for i in range(len(self._labels) // 2)]
            # The labels before an update or deletion are in the detail only.
            kinds = [_literal(kind) for kind in (DELETED, UPDATED)]
            conditions.append(sa.or_(found.c.kind.in_(kinds), sa.and_(*matching)))
        return conditions


def _readable(engine: Engine, found: Subquery) -> Subquery:
    """Selects the readable ones of these changes. Invisible ones, and those after `upto`, are last in the order."""
    upto = not_beyond(engine, number("upto_xid"), number("upto_change"))
    return sa.select(found).where(*map(ClauseAdapter(found).traverse, (upto, engine.sql.visible()))).subquery("found")


def _with_sessions(found: Subquery) -> Select[Any]:
    """Selects COLUMNS of these changes."""
    columns: list[ColumnElement[Any]] = [found.c[name] for name in _PLAIN]
    columns.append(sa.not_(_of_this_owner(found)).label("former"))
    columns += [_named(found, name).label(name) for name in _NAMES]
    query = sa.select(*columns, sessions.c.labels_json)
    return query.select_from(found.outerjoin(sessions, sessions.c.id == found.c.session))


def _named(found: Subquery, name: str) -> ColumnElement[str]:
    """Returns the session's name; that of a deleted session, or of one that left its owner, is stored in the change."""
    return sa.func.coalesce(found.c[name], sessions.c[name])


def _of_this_owner(found: Subquery) -> ColumnElement[bool]:
    """Whether the session of a change has not had another owner since. Never null."""
    since = sa.tuple_(found.c.xid, found.c.id) >= sa.tuple_(sessions.c.moved_xid, sessions.c.moved_change)
    return sa.or_(sessions.c.moved_change.is_(None), found.c.tenant.is_not(None), since)


def _labelled(found: Subquery, number: int) -> ColumnElement[bool]:
    of = session_labels.c
    same = (of.session == found.c.session, of.key == _text(f"key_{number}"), of.value == _text(f"value_{number}"))
    return sa.exists().where(*same).correlate(found)


def _last(engine: Engine) -> Select[Any]:
    order = [column.desc() for column in engine.sql.change_order]
    return sa.select(_c.xid, _c.id).where(engine.sql.visible()).order_by(*order).limit(sa.literal_column("1"))


def _unsettled(engine: Engine) -> ColumnElement[int]:
    """Returns whether a committed change is not visible yet. Checks the last change only, because PostgreSQL would scan all of
    them to find one."""
    order = [column.desc() for column in engine.sql.change_order]
    last = sa.select(_c.xid).order_by(*order).limit(_literal(1)).subquery("newest")
    settled = ClauseAdapter(last).traverse(engine.sql.visible())
    return sa.select(sa.case((settled, _literal(0)), else_=_literal(1))).select_from(last).scalar_subquery()


def _incarnations(engine: Engine) -> ColumnElement[Any]:
    """Returns their stored form; null where no other server can begin one. In the statement that reads changes, so that each
    change is read with the incarnation it belongs to."""
    if not engine.sql.exclusive:
        return sa.null()
    return sa.select(meta.c.value).where(meta.c.key == sa.literal_column(f"'{INCARNATIONS}'")).scalar_subquery()


def ends_statement(engine: Engine) -> Select[Any]:
    """Selects the ends of the feed, the time of its oldest change, and the number of committed changes that are not visible."""
    head = _last(engine).subquery("head")
    kept = beyond(engine, *(sa.select(column).scalar_subquery() for column in (feed_floor.c.xid, feed_floor.c.change)))
    oldest = sa.select(_c.time).where(kept).order_by(*engine.sql.change_order).limit(sa.literal_column("1"))
    unsettled = sa.select(sa.func.count()).select_from(changes).where(sa.not_(engine.sql.visible()))
    return sa.select(
        feed_floor.c.xid.label("floor_xid"),
        feed_floor.c.change.label("floor_change"),
        head.c.xid.label("head_xid"),
        head.c.id.label("head_change"),
        oldest.scalar_subquery().label("oldest_time"),
        unsettled.scalar_subquery().label("unsettled"),
        _incarnations(engine).label("incarnations"),
    ).select_from(feed_floor.outerjoin(head, sa.true()))


def floor_of(row: Any) -> Position:
    return Position(row.floor_xid, row.floor_change)


def head_of(row: Any) -> Position:
    """Returns the head; the floor if the feed is empty, because a migration may have found an earlier head."""
    head = BEGINNING if row.head_change is None else Position(row.head_xid, row.head_change)
    return max(head, floor_of(row))


def number(name: str) -> BindParameter[int]:
    return sa.bindparam(name, type_=BigInteger)


def _literal(value: int) -> ColumnElement[int]:
    return sa.literal_column(str(value))


def _text(name: str) -> BindParameter[str]:
    return sa.bindparam(name, type_=sa.Text)
