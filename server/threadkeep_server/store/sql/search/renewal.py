"""Gives indexed events the terms of the present analyzer, some at a time, oldest first. Until then they keep those they have,
and searches find them by the forms that the question's terms had: see Earlier.

The server with the newest analyzer does it. Servers with an older one neither index nor renew while it gives signs of life, so
that two versions never replace each other's terms.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection, Row
from sqlalchemy.sql import ColumnElement

from ....domain.model import SECOND_NS
from ..encryption.vault import is_encrypted
from ..engine.base import Capability, Engine
from ..engine.statements import Record
from ..schema.servers import NOW
from ..schema.tables import event_words, events, index_progress, sessions, words_renewal
from .deriver import Deriver, EventText
from .rescoping import affordable
from .term_index import Postings, TermRow
from .text_index import TextIndex

GONE_AFTER_NS: Final = 60 * SECOND_NS
"""Without a sign of a server with a newer analyzer for so long, one with an older analyzer continues."""
_SIGN_EVERY_S: Final = 20.0

_ALL = 1 << 62
_r = words_renewal.c


@dataclass(frozen=True)
class Earlier:
    """What a search needs to know of the events whose terms are of another version: their ids are above `after`, up to `upto`.
    `forms`: those of the question's terms in them, by term."""

    forms: Mapping[str, Sequence[str]] = field(default_factory=dict)
    after: int = 0
    upto: int = 0

    def looked_up(self, terms: Sequence[str]) -> tuple[str, ...]:
        """Returns the terms with their earlier forms."""
        return tuple(dict.fromkeys([*terms, *(form for forms in self.forms.values() for form in forms)]))

    def merged(self, found: Postings) -> Postings:
        """Returns the postings of the terms, with those of their earlier forms. A term may be common and have some keys."""
        if not self.forms:
            return found
        keys, common = dict(found.keys), set(found.common)
        for term, forms in self.forms.items():
            outdated = [key for form in forms for key in found.keys.get(form, ()) if self.after < key <= self.upto]
            if outdated:
                keys[term] = list({*keys.get(term, ()), *outdated})
            if not common.isdisjoint(forms):
                common.add(term)
        every = {form for forms in self.forms.values() for form in forms}
        return Postings({term: ids for term, ids in keys.items() if term not in every}, sorted(common - every))

    def combined(self, common: Sequence[str]) -> Sequence[Sequence[str]]:
        """Returns the common terms that an event can have together: those of now, and, if they differ, the earlier ones."""
        forms = {form for term in self.forms for form in self.forms[term]}
        now = [term for term in common if term not in forms]
        before = {term: next((form for form in self.forms.get(term, ()) if form in common), term) for term in now}
        before |= {term: form for term in self.forms if term not in now for form in self.forms[term] if form in common}
        other = list(dict.fromkeys(before.values()))
        return [now] if set(other) == set(now) else [now, other]

    def present(self, key: int, words: str) -> str:
        """Returns the terms of an event with the forms of now, as far as the question has them."""
        if not (self.forms and self.after < key <= self.upto and any(form in words for form in self._terms)):
            return words
        return "\n".join(" ".join(self._terms.get(word, word) for word in line.split(" ")) for line in words.split("\n"))

    @cached_property
    def _terms(self) -> Mapping[str, str]:
        """The terms by their earlier forms."""
        return {form: term for term, forms in self.forms.items() for form in forms}


NONE: Final = Earlier()


def columns() -> Sequence[ColumnElement[Any]]:
    """What `earlier` needs, to be selected with others."""
    version = sa.select(index_progress.c.words_version).scalar_subquery()
    return [
        version.label("words_version"),
        *(sa.select(_r[name]).scalar_subquery().label(name) for name in ("renewed", "upto")),
    ]


def earlier(row: Record, words_version: int, forms: Mapping[str, Sequence[str]]) -> Earlier:
    """Returns what a search has to know, from a row with these columns."""
    if not forms:
        return NONE
    if row.words_version != words_version:
        return Earlier(forms, 0, _ALL)  # the first step is still to come, or the index is of a newer version
    return Earlier(forms, row.renewed, row.upto) if row.upto is not None and row.renewed < row.upto else NONE


def left(connection: Connection, words_version: int) -> int:
    """Returns the number of events to renew, estimated by their ids; 0 at the end."""
    row = connection.execute(sa.select(*columns())).one()
    if row.words_version is not None and row.words_version < words_version:
        return int(connection.execute(sa.select(sa.func.coalesce(sa.func.max(event_words.c.id), 0))).scalar_one())
    return int(row.upto - row.renewed) if row.upto is not None else 0


class _Outdated(NamedTuple):
    """Events to renew, with their terms; `reached`: the id up to which these are all."""

    rows: Sequence[tuple[EventText, TermRow]]
    reached: int


class Renewal:
    """Runs in the turns of an indexer."""

    def __init__(self, engine: Engine, index: TextIndex, deriver: Deriver, words_version: int) -> None:
        self._engine = engine
        self._index = index
        self._deriver = deriver
        self._words_version = words_version
        self._shared = Capability.SHARED in engine.capabilities
        self._signed = -_SIGN_EVERY_S

    def yields(self, connection: Connection, at: Row[Any]) -> bool:
        """Whether a server with a newer analyzer does the work. Begins if the terms are of another version."""
        if at.words_version == self._words_version:
            return False
        if at.words_version > self._words_version and self._shared:
            seen = connection.execute(sa.select(_r.seen)).scalar()
            if seen is not None and connection.execute(NOW).scalar_one() - seen < GONE_AFTER_NS:
                return True
        self._begin(connection)
        return False

    def _begin(self, connection: Connection) -> None:
        upto = connection.execute(sa.select(sa.func.coalesce(sa.func.max(event_words.c.id), 0))).scalar_one()
        connection.execute(words_renewal.delete())
        connection.execute(words_renewal.insert(), {"one": 1, "renewed": 0, "upto": upto, "seen": self._now(connection)})
        connection.execute(index_progress.update().values(words_version=self._words_version))

    def sign(self, connection: Connection) -> None:
        """Gives a sign of life, at the end of a transaction: it writes."""
        if not self._shared or time.monotonic() - self._signed < _SIGN_EVERY_S:
            return
        self._signed = time.monotonic()
        if not connection.execute(words_renewal.update().values(seen=self._now(connection))).rowcount:
            row = {"one": 1, "renewed": 0, "upto": 0, "seen": self._now(connection)}
            connection.execute(words_renewal.insert(), row)

    def _now(self, connection: Connection) -> int:
        return int(connection.execute(NOW).scalar_one()) if self._shared else 0

    def step(self, connection: Connection, most: int, by_process: bool) -> bool | None:
        """Renews the next events, about `most`. Returns whether more are left; None: there were none."""
        at = connection.execute(sa.select(_r.renewed, _r.upto)).one_or_none()
        if at is None or at.renewed >= at.upto:
            return None
        outdated = _next(connection, at.renewed, at.upto, most)
        words = {row.id: known for row, known in outdated.rows}
        for chunk, derived in self._deriver.derive([row for row, _ in outdated.rows], by_process=by_process):
            pairs = [(words[row.id], each.words) for row, each in zip(chunk, derived, strict=True) if each.words is not None]
            changed = [(known, known._replace(words=now)) for known, now in pairs if now != known.words]
            self._index.renew(connection, [known for known, _ in changed], [now for _, now in changed])
        connection.execute(words_renewal.update().values(renewed=outdated.reached))
        return bool(outdated.reached < at.upto)


def _next(connection: Connection, renewed: int, upto: int, most: int) -> _Outdated:
    """Terms of events that are gone stay: the removal that is still to be followed needs them."""
    w, e, s = event_words.c, events.c, sessions.c
    ids = sa.select(w.id).where(w.id > renewed, w.id <= upto).order_by(w.id).limit(most)
    sizes = connection.execute(
        sa.select(w.id, e.size).outerjoin(events, e.id == w.id).where(w.id.in_(ids)).order_by(w.id)
    ).all()
    count = affordable([row.size or 0 for row in sizes])
    reached = sizes[count - 1].id if count < len(sizes) or len(sizes) == most else upto
    of_event = (e.id, e.session, e.time, e.body, s.tenant, s.app, s.user_id)
    joined = event_words.join(events, e.id == w.id).join(sessions, s.id == e.session)
    query = sa.select(*of_event, w.markers, w.words).select_from(joined).where(w.id > renewed, w.id <= reached)
    found = connection.execute(query.order_by(w.id)).all()
    rows = [(EventText(*row[:7]), TermRow(row.id, row.markers, row.words)) for row in found if not is_encrypted(row.body)]
    return _Outdated(rows, reached)
