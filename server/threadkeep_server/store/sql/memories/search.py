"""Finds memories by terms, and keeps the search index at the current version of the analyzer.

Entries that the index does not have in this version are analyzed here, so a result is always complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection, Row
from sqlalchemy.sql import ColumnElement

from ....domain.memories import MemoryFilter, MemoryScope
from ....domain.search import Candidate, Candidates, Field, WordQuery
from ...contract.terms import matched, memory_place, selected
from ..log.markers import memory_marker
from ..log.scan import Scanner
from ..scan_budget import ScanBudget, affordable
from ..schema.encryption import ENCRYPTED
from ..schema.memories import memories
from ..search.candidate_selection import Choice, Unindexed
from ..search.common_terms import CommonTerms
from ..search.derivation import terms_text
from ..search.term_index import TermIndex, TermRow
from .rows import batches, rows_of_keys, within

_m = memories.c

_COLUMNS = (_m.id, _m.time, _m.author, _m.session_id, _m.words, _m.metadata_json)
_ANALYSED_COLUMNS: Sequence[ColumnElement[Any]] = (_m.id, _m.analyzer, _m.content, _m.time, _m.author, _m.words)


def candidates(
    scanner: Scanner,
    index: TermIndex | None,
    common: CommonTerms,
    tenant: str,
    scope: MemoryScope,
    query: WordQuery,
    wanted: MemoryFilter,
    budget: ScanBudget,
) -> Candidates:
    """Runs in a snapshot."""
    connection = scanner.connection
    count = sa.select(sa.func.count()).select_from(memories).where(within(tenant, scope))
    documents = max(1, connection.execute(count).scalar_one())
    behind, unsearched = _behind(scanner, index, tenant, scope, budget)

    def read(keys: Sequence[int]) -> Mapping[int, Candidate]:
        rows = [
            row
            for some in batches(keys)
            for row in rows_of_keys(connection, scanner.codec, tenant, scope, some, wanted, _COLUMNS)
        ]
        return {row.id: _candidate(row, behind.get(row.id, row.words), query.fields) for row in rows}

    choice = Choice(query, memory_marker(tenant, scope), documents, common, outdated=behind.keys())
    return choice.candidates(connection, scanner.engine, index, replace(_unindexed(behind, query), unsearched=unsearched), read)


def _candidate(row: Row[Any], text: str, fields: Field) -> Candidate:
    place = memory_place(row.id, row.session_id)
    return Candidate(row.id, *place, row.time, 0, row.author, selected(text, fields))


def _unindexed(behind: Mapping[int, str], query: WordQuery) -> Unindexed:
    terms = frozenset(query.terms)
    keys: dict[str, list[int]] = {}
    for key, text in behind.items():
        for term in matched(text, terms, query.fields):
            keys.setdefault(term, []).append(key)
    return Unindexed(keys, {term: len(having) for term, having in keys.items()})


def _behind(
    scanner: Scanner, index: TermIndex | None, tenant: str, scope: MemoryScope, budget: ScanBudget
) -> tuple[Mapping[int, str], int]:
    """Returns the terms, by key, of the scope's entries that the index does not have in this version, and for how many the
    budget did not suffice; these have no terms."""
    present = scanner.codec.words_version
    if index is not None:
        newest = sa.select(sa.func.max(_m.analyzer)).where(_m.analyzer < ENCRYPTED)
        ends = sa.select(sa.func.min(_m.analyzer)).scalar_subquery(), newest.scalar_subquery()
        if set(scanner.connection.execute(sa.select(*ends)).one()) <= {present, None}:
            return {}, 0
    # Listed without the content: only what the budget admits is read.
    columns = (_m.id, _m.analyzer, sa.func.length(_m.content).label("size"), _m.words)
    query = sa.select(*columns).where(within(tenant, scope)).order_by(_m.id.desc())
    if index is not None:
        query = query.where(_m.analyzer != present)
    rows = scanner.connection.execute(query).all()
    found = {row.id: row.words for row in rows if abs(row.analyzer) == present}
    stale = [row for row in rows if row.id not in found]
    for some in affordable(stale, budget, attrgetter("size")):
        unread = sa.select(*_ANALYSED_COLUMNS).where(_m.id.in_([row.id for row in some]))
        found |= _words_of(scanner, scanner.connection.execute(unread).all())
    unsearched = len(stale) - budget.taken
    return {row.id: found.get(row.id, "") for row in rows}, unsearched


def _words_of(scanner: Scanner, rows: Sequence[Row[Any]]) -> Mapping[int, str]:
    """Returns the terms of this version, by key. Analyzes in a thread, in batches."""
    codec = scanner.codec
    found = {row.id: row.words for row in rows if abs(row.analyzer) == codec.words_version}

    def analyze(some: Sequence[Row[Any]]) -> Mapping[int, str]:
        return {row.id: terms_text(codec.memory_words(codec.decrypt(row.content), row.time, row.author)) for row in some}

    for some in batches([row for row in rows if row.id not in found]):
        found |= scanner.engine.run_in_thread(partial(analyze, some))
    return found


# --- keeping up


class Renewed(NamedTuple):
    """The terms of an entry in the current version; `was` is the version they replace."""

    key: int
    was: int
    words: str


def renewals(scanner: Scanner, most: int) -> Sequence[Renewed]:
    """Returns entries that the index does not have, or has in an older version. Entries of a newer version are left to the
    server that wrote them."""
    query = sa.select(*_ANALYSED_COLUMNS).where(_m.analyzer < scanner.codec.words_version)
    rows = scanner.connection.execute(query.order_by(_m.analyzer, _m.id).limit(most)).all()
    made = _words_of(scanner, rows)
    return [Renewed(row.id, row.analyzer, made[row.id]) for row in rows]


def renew(connection: Connection, index: TermIndex, renewed: Iterable[Renewed], version: int) -> None:
    """Replaces the terms of entries that are unchanged since they were analyzed."""
    wanted = {each.key: each for each in renewed}
    columns: Sequence[ColumnElement[Any]] = (_m.id, _m.tenant, _m.app, _m.user_id, _m.words, _m.analyzer)
    query = sa.select(*columns).where(_m.id.in_(wanted)).order_by(_m.id).with_for_update()
    rows = [row for row in connection.execute(query).all() if row.analyzer == wanted[row.id].was]
    markers = {row.id: memory_marker(row.tenant, MemoryScope(row.app, row.user_id)) for row in rows}
    old = [TermRow(row.id, markers[row.id], row.words) for row in rows if row.analyzer > 0]
    if old:
        index.remove(connection, old)
    if rows:
        index.add(connection, [TermRow(row.id, markers[row.id], wanted[row.id].words) for row in rows])
    for row in rows:
        values = {"words": wanted[row.id].words, "analyzer": version}
        connection.execute(memories.update().where(_m.id == row.id).values(values))


def prepare(connection: Connection, index: TermIndex, table: str) -> None:
    """Creates the index if there is none. A new index does not have the stored entries."""
    exists = sa.inspect(connection).has_table(table)
    index.prepare(connection, rebuild=False)
    if not exists:
        known = _m.analyzer.between(1, ENCRYPTED - 1)
        connection.execute(memories.update().where(known).values(analyzer=-_m.analyzer))
