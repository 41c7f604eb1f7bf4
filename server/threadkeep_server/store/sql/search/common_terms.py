"""Remembers which terms are common in a scope, since counting their documents is what takes longest in a search.

The index reads the list of a common term to learn that it is common, and then does not use it. What was learned stays true
while documents are added. In a growing scope a term needs more documents to be common, so a term is remembered once it has an
eighth more than it needs."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from threading import Lock
from typing import NamedTuple

from sqlalchemy import Connection

from ....domain.search import Field
from ..engine.base import Engine
from .term_index import Postings, TermIndex, TermQuery

MOST_KEPT = 32_768
"""The number of terms that are remembered: some 10 MB."""
SECONDS_KEPT = 300.0

_Key = tuple[str, Field, str]


class _Common(NamedTuple):
    """A term had `least` documents or more when its scope had `documents`. `until`: seconds of the clock."""

    least: int
    documents: int
    until: float


class CommonTerms:
    """What one server knows of one index. A term is looked up again when its scope has become smaller, or after SECONDS_KEPT: a
    scope may have lost documents and got others. Safe for threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, most_kept: int = MOST_KEPT) -> None:
        self._clock = clock
        self._most_kept = most_kept
        self._lock = Lock()
        self._kept: OrderedDict[_Key, _Common] = OrderedDict()

    def postings(
        self, connection: Connection, engine: Engine, index: TermIndex, wanted: TermQuery, most: int, documents: int
    ) -> Postings:
        """Returns what `index.postings` does; `documents` is the number of them in the scope."""
        known = self._known(wanted, most, documents)
        rest = [term for term in wanted.terms if term not in known]
        if not rest:
            return Postings({}, [*known])
        enough = most + most // 8
        found = index.postings(connection, engine, wanted._replace(terms=rest), enough)
        self._keep(wanted, found.common, enough, documents)
        keys = {term: ids for term, ids in found.keys.items() if len(ids) < most}
        also = [term for term in found.keys if term not in keys]
        return Postings(keys, [*known, *found.common, *also])

    def _known(self, wanted: TermQuery, most: int, documents: int) -> Collection[str]:
        now, known = self._clock(), []
        with self._lock:
            for term in wanted.terms:
                key = (wanted.marker, wanted.fields, term)
                kept = self._kept.get(key)
                if kept is not None and most <= kept.least and documents >= kept.documents and now < kept.until:
                    self._kept.move_to_end(key)
                    known.append(term)
        return known

    def _keep(self, wanted: TermQuery, common: Sequence[str], least: int, documents: int) -> None:
        kept = _Common(least, documents, self._clock() + SECONDS_KEPT)
        with self._lock:
            for term in common:
                key = (wanted.marker, wanted.fields, term)
                self._kept[key] = kept
                self._kept.move_to_end(key)
            while len(self._kept) > self._most_kept:
                self._kept.popitem(last=False)
