"""Gives the index the new owner of a session, some events at a time.

The indexer stays before the change of the owner until all are done, so that searches read the events of the session directly,
and those of later changes: see unindexed. Texts and terms are not derived again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from ..log.markers import markers
from ..schema.tables import event_text, event_words, events, sessions
from ..vectors import maintenance
from .term_index import TermRow
from .text_index import TextIndex, TextRow, scope_of

_BYTES_AT_ONCE = 16 << 20
_START = -1

_s, _e, _t, _w = sessions.c, events.c, event_text.c, event_words.c


class _Index(NamedTuple):
    """What the index has of the present owner."""

    tenant: str
    user_id: str
    scope: str
    markers: str


Gave = Callable[[Connection, Sequence[int], int], None]
"""VectorIndex.gave."""


def affordable(sizes: Sequence[int]) -> int:
    """Returns how many of the first events or changes have at most _BYTES_AT_ONCE together; at least one if there are any."""
    return min(len(sizes), max(1, bisect_right(list(accumulate(sizes)), _BYTES_AT_ONCE)))


class Reached(NamedTuple):
    """A MOVED change, and the position up to which the events of its session are corrected."""

    change: int
    position: int


class Rescoping:
    """Corrects the index. How far it got is known to its caller: another server begins again and finds most events done."""

    def __init__(self, index: TextIndex, gave: Gave | None) -> None:
        self._index = index
        self._gave = gave

    def step(self, connection: Connection, change: Row[Any], reached: Reached | None, most: int) -> Reached | None:
        """Corrects the next events of the session of a MOVED change, about `most`. Returns how far it got; None: to the end."""
        after = reached.position if reached is not None and reached.change == change.id else _START
        owner = connection.execute(sa.select(_s.tenant, _s.app, _s.user_id).where(_s.id == change.session)).one_or_none()
        if owner is None:
            return None  # it was deleted: a later change removes its events
        tenant, app, user_id = owner
        now = _Index(tenant, user_id, scope_of(tenant, user_id), markers(tenant, app, user_id, change.session))
        position = self._correct(connection, change.session, now, after, most)
        if position is None:
            maintenance.came(connection, tenant, user_id)
        return None if position is None else Reached(change.id, position)

    def _correct(self, connection: Connection, session: int, now: _Index, after: int, most: int) -> int | None:
        """Returns the position that it reached; None: the end."""
        ahead = sa.select(_e.id, _e.position, _e.size).where(_e.session == session, _e.position > after)
        sizes = connection.execute(ahead.order_by(_e.position).limit(most)).all()
        some = sizes[: affordable([row.size for row in sizes])]
        keys = [row.id for row in some]
        if keys:
            self._give(connection, keys, now)
        return some[-1].position if len(sizes) == most or len(some) < len(sizes) else None

    def _give(self, connection: Connection, keys: Sequence[int], now: _Index) -> None:
        query = sa.select(event_text, _w.markers, _w.words).outerjoin(event_words, _w.id == _t.id)
        outdated = sa.or_(_t.scope != now.scope, _w.markers != now.markers)
        rows = connection.execute(query.where(_t.id.in_(keys), outdated)).all()
        if rows:
            texts: list[TextRow] = [(row.id, row.scope, row.text) for row in rows]
            words = [TermRow(row.id, row.markers, row.words) for row in rows if row.words is not None]
            self._index.remove(connection, texts, words)
            texts = [(id_, now.scope, text) for id_, _, text in texts]
            self._index.add(connection, texts, [row._replace(markers=now.markers) for row in words])
        vectors = maintenance.gave(connection, keys, now.tenant, now.user_id)
        if self._gave is not None:
            self._gave(connection, keys, vectors)
