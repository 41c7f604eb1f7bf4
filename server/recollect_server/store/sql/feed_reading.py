"""The statements that read the feed, each of one instant: what it tells of the feed's ends holds for the changes it selects."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, BindParameter
from sqlalchemy.sql import ColumnElement, Select, Subquery

from ...domain.feed import BEGINNING, FeedScope, Position
from .engine import Engine
from .indexer import beyond
from .schema import DELETED, UPDATED, changes, feed_floor, session_labels, sessions

WINDOW = 20_000
"""Changes that one statement looks at for those of a scope."""

_HIGHEST = (1 << 63) - 1
END = Position(_HIGHEST, _HIGHEST)

_c = changes.c
_PLAIN = [column for column in _c if column.name not in ("tenant", "app", "user_id", "session_id")]
_NAMES = ("tenant", "app", "user_id", "session_id")
# A deleted session has its name from the change.
_NAMED = {name: sa.func.coalesce(sessions.c[name], _c[name]) for name in _NAMES}
_DELETION = sa.text(f"changes.kind = {DELETED}")


class PageQuery:
    """How a page is found: all changes that the scope may admit. FeedScope.admits decides."""

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

    @property
    def shape(self) -> tuple[Hashable, ...]:
        return ("changes", self.limit, *self._names, *self._labels)

    @property
    def values(self) -> dict[str, Any]:
        ends = {"after_xid": self.after.xid, "after_change": self.after.change}
        ends |= {"upto_xid": self.upto.xid, "upto_change": self.upto.change}
        return ends | self._names | self._labels

    def statement(self, engine: Engine) -> Select[Any]:
        """One row or more: the ends of the feed, and with each a change, or no change. In no order, and one more than fit,
        to tell whether others follow."""
        head = _last(engine).subquery("head")
        window = self._window(engine).cte("looked_at") if self.windowed else None
        page = self._page(engine, window)
        ends = [
            feed_floor.c.xid.label("floor_xid"),
            feed_floor.c.change.label("floor_change"),
            head.c.xid.label("head_xid"),
            head.c.id.label("head_change"),
            _unsettled(engine).label("unsettled"),
        ]
        joined = feed_floor.outerjoin(head, sa.true())
        if window is not None:
            ends += [window.c.xid.label("window_xid"), window.c.id.label("window_change")]
            joined = joined.outerjoin(window, sa.true())
        return sa.select(*ends, *page.c).select_from(joined.outerjoin(page, sa.true()))

    def _window(self, engine: Engine) -> Select[Any]:
        """Where the window ends, if the feed does not end before."""
        last: ColumnElement[int] = sa.literal_column(str(WINDOW - 1))
        order = engine.change_order
        within = _between(engine, _upto())
        return sa.select(_c.xid, _c.id).where(*within).order_by(*order).limit(sa.literal_column("1")).offset(last)

    def _page(self, engine: Engine, window: sa.CTE | None) -> Subquery:
        upto = _upto()
        if window is not None:
            ends = (sa.select(column).scalar_subquery() for column in (window.c.xid, window.c.id))
            upto = tuple(sa.func.coalesce(end, most) for end, most in zip(ends, upto, strict=True))
        # The limit is no parameter, for PostgreSQL would plan for a tenth of all changes.
        found = sa.select(*_PLAIN, *(column.label(name) for name, column in _NAMED.items()), sessions.c.labels_json)
        found = found.select_from(changes.outerjoin(sessions, sessions.c.id == _c.session))
        found = (
            found.where(*_between(engine, upto)).order_by(*engine.change_order).limit(sa.literal_column(str(self.limit + 1)))
        )
        if not self._of_session:
            return found.where(*self._conditions()).subquery("page")
        # Of the earlier sessions of the name there is nothing to tell but their deletion.
        parts = (found.where(*self._living(engine)), found.where(_DELETION, *(_c[name] == _text(name) for name in self._names)))
        return sa.union_all(*(sa.select(part.subquery()) for part in parts)).subquery("page")

    def _living(self, engine: Engine) -> list[ColumnElement[bool]]:
        named = (sessions.c[name] == _text(name) for name in self._names)
        key = sa.select(sessions.c.id).where(*named).correlate(None).scalar_subquery()
        return of_session(engine, key)

    def _conditions(self) -> list[ColumnElement[bool]]:
        conditions: list[ColumnElement[bool]] = [_NAMED[name] == _text(name) for name in self._names]
        if self._labels:
            borne = [_labelled(i) for i in range(len(self._labels) // 2)]
            # What these bore before, only their detail tells.
            conditions.append(
                sa.or_(_c.kind.in_([sa.literal_column(str(kind)) for kind in (DELETED, UPDATED)]), sa.and_(*borne))
            )
        return conditions


def _labelled(number: int) -> ColumnElement[bool]:
    of = session_labels.c
    same = (of.session == _c.session, of.key == _text(f"key_{number}"), of.value == _text(f"value_{number}"))
    return sa.exists().where(*same).correlate(changes)


def _upto() -> tuple[ColumnElement[int], ...]:
    return number("upto_xid"), number("upto_change")


def _between(engine: Engine, upto: Sequence[ColumnElement[int]]) -> list[ColumnElement[bool]]:
    """Settled, beyond the position after which the page starts, and not beyond another."""
    return [beyond(engine, number("after_xid"), number("after_change")), not_beyond(engine, *upto), engine.settled()]


def not_beyond(engine: Engine, xid: ColumnElement[int], change: ColumnElement[int]) -> ColumnElement[bool]:
    """The negation of `beyond`, spelled for an index to serve it."""
    values = {_c.xid: xid, _c.id: change}
    if len(engine.change_order) == 1:
        return engine.change_order[0] <= values[engine.change_order[0]]
    return sa.tuple_(*engine.change_order) <= sa.tuple_(*(values[column] for column in engine.change_order))


def of_session(engine: Engine, key: ColumnElement[int]) -> list[ColumnElement[bool]]:
    """The changes of a session, spelled for the index of them to serve their order too."""
    alike = [_c.xid == sa.literal_column("0")] if len(engine.change_order) == 1 else []
    return [_c.session == key, *alike]


def _last(engine: Engine) -> Select[Any]:
    order = [column.desc() for column in engine.change_order]
    return sa.select(_c.xid, _c.id).where(engine.settled()).order_by(*order).limit(sa.literal_column("1"))


def _unsettled(engine: Engine) -> ColumnElement[bool]:
    """Whether something is committed that is not settled; nothing is where what is visible is settled."""
    return sa.exists().where(sa.not_(engine.settled())).select_from(changes)


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


def _text(name: str) -> BindParameter[str]:
    return sa.bindparam(name, type_=sa.Text)
