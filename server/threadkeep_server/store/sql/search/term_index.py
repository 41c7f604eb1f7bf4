"""Indexes of terms: they find the events of a scope that have a term. Ranking happens elsewhere.

A term is looked up together with its scope, because markers of the scope are indexed with the terms: the cost depends on the
events of the scope with the term, and counts are the scope's own. SQLite: a contentless FTS5 table. PostgreSQL: tsvectors under
GIN, the field of a term as its weight.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from sqlalchemy import Connection

from ....domain.search import FIELDS, Field

if TYPE_CHECKING:
    from ..engine.base import Engine
from ..log.markers import digest
from ..schema.tables import DERIVED
from .fts5 import Fts5Table

# Only these ASCII characters, or the engines would split or fold terms, or need quotes; and short enough not to be truncated.
_LONGEST = 64
_PLAIN = re.compile(rf"[a-z0-9\u0080-\U0010ffff]{{1,{_LONGEST}}}")
_PLAIN_TERMS = re.compile(r"[a-z0-9\u0080-\U0010ffff \n]*")


class Postings(NamedTuple):
    """The events that have a term. `keys`: all row ids, by term, for rare terms. `common`: frequent terms, without row ids."""

    keys: Mapping[str, Sequence[int]]
    common: Sequence[str]


class TermRow(NamedTuple):
    """An event's row id, the markers of its scopes, and its terms in the form of Candidate.words."""

    id: int
    markers: str
    words: str


class TermQuery(NamedTuple):
    """Terms in one of the fields, or in the dates, of a scope's events."""

    marker: str
    terms: Sequence[str]
    fields: Field


class NewestPage(NamedTuple):
    """Events with ids below `before`, up to `most`. `every`: they must have all of the terms."""

    before: int
    most: int
    every: bool


class TermIndex(Protocol):
    """Finds the events that have a term. Results may include events deleted since."""

    tables: Sequence[Fts5Table]
    """See TextIndex."""

    def for_log(self, table: str) -> TermIndex:
        """Returns an index of the same kind, of this name, that is written in the transactions of the log."""
        ...

    def prepare(self, connection: Connection, *, rebuild: bool) -> None:
        """Creates what is missing; `rebuild`: without the previous content."""
        ...

    def add(self, connection: Connection, rows: Sequence[TermRow]) -> None: ...

    def remove(self, connection: Connection, rows: Sequence[TermRow]) -> None:
        """The rows equal those that were added."""
        ...

    def postings(self, connection: Connection, engine: Engine, wanted: TermQuery, most: int) -> Postings:
        """Returns the events of each term; a term of `most` events is frequent."""
        ...

    def newest(self, connection: Connection, engine: Engine, wanted: TermQuery, page: NewestPage) -> Sequence[int]:
        """Returns the events that have the terms, the newest first."""
        ...


def _spelled(term: str) -> str:
    """Returns the indexed form of a term: itself, or a hash of a term that engines would not keep."""
    return term if _PLAIN.fullmatch(term) else "~t" + digest(term, 20)


def _spelled_fields(words: str) -> Sequence[str]:
    fields = words.split("\n")
    if _PLAIN_TERMS.fullmatch(words) and max(map(len, words.split()), default=0) <= _LONGEST:
        return fields
    return [" ".join(map(_spelled, field.split(" "))) if field else "" for field in fields]


# --- SQLite

_COLUMNS = ("text", "calls", "results", "media")
# Every character outside ASCII belongs to a term; only ASCII letters are folded, and there are no upper-case ones.
_CREATE = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS {file}.{table} USING fts5(text, calls, results, media, dates, scope, "
    "content='', detail='column', columnsize=0, tokenize=\"ascii tokenchars '~'\")"
)
_DROP = "DROP TABLE IF EXISTS {file}.{table}"
_ADD = "INSERT INTO {file}.{table} (rowid, text, calls, results, media, dates, scope) VALUES (?, ?, ?, ?, ?, ?, ?)"
_REMOVE = (
    "INSERT INTO {file}.{table} ({table}, rowid, text, calls, results, media, dates, scope) "
    "VALUES ('delete', ?, ?, ?, ?, ?, ?, ?)"
)
# Rows as one text: a step of a statement costs more than one more number in it.
_POSTINGS = (
    "SELECT (SELECT group_concat(rowid) FROM (SELECT rowid FROM {file}.{table} "
    "WHERE {table} MATCH wanted.value LIMIT ?)) FROM json_each(?) AS wanted"
)
_NEWEST = "SELECT rowid FROM {file}.{table} WHERE {table} MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?"


class Fts5Terms:
    """An FTS5 table without positions and lengths, in the file of the derived tables or (`main`) in that of the log."""

    def __init__(self, table: str = "event_words_fts", file: str = DERIVED) -> None:
        self.tables: Sequence[Fts5Table] = [Fts5Table(file, table)]
        self._create, self._drop, self._add, self._remove, self._postings, self._newest = (
            sql.format(file=file, table=table) for sql in (_CREATE, _DROP, _ADD, _REMOVE, _POSTINGS, _NEWEST)
        )

    def for_log(self, table: str) -> TermIndex:
        return Fts5Terms(table, "main")

    def prepare(self, connection: Connection, *, rebuild: bool) -> None:
        if rebuild:
            connection.exec_driver_sql(self._drop)
        connection.exec_driver_sql(self._create)

    def add(self, connection: Connection, rows: Sequence[TermRow]) -> None:
        connection.exec_driver_sql(self._add, list(map(_document, rows)))

    def remove(self, connection: Connection, rows: Sequence[TermRow]) -> None:
        connection.exec_driver_sql(self._remove, list(map(_document, rows)))

    def postings(self, connection: Connection, engine: Engine, wanted: TermQuery, most: int) -> Postings:
        queries = json.dumps([f'"{wanted.marker}" AND {each}' for each in _fts_terms(wanted)])
        rows = engine.fetch(connection, self._postings, (most, queries))
        found = {term: ids for term, (ids,) in zip(wanted.terms, rows, strict=True) if ids}
        common = [term for term, ids in found.items() if ids.count(",") + 1 >= most]
        return Postings({term: list(map(int, ids.split(","))) for term, ids in found.items() if term not in common}, common)

    def newest(self, connection: Connection, engine: Engine, wanted: TermQuery, page: NewestPage) -> Sequence[int]:
        some = (" AND " if page.every else " OR ").join(_fts_terms(wanted))
        rows = engine.fetch(connection, self._newest, (f'"{wanted.marker}" AND ({some})', page.before, page.most))
        return [id_ for (id_,) in rows]


def _document(row: TermRow) -> tuple[int | str, ...]:
    return (row.id, *_spelled_fields(row.words), row.markers)


def _fts_terms(wanted: TermQuery) -> Sequence[str]:
    """Returns the queries of the terms."""
    columns = [column for column, field in zip(_COLUMNS, FIELDS, strict=True) if field in wanted.fields]
    within = "" if len(columns) == len(FIELDS) else "{" + " ".join([*columns, "dates"]) + "} : "
    return [f'{within}"{_spelled(term)}"' for term in wanted.terms]


# --- PostgreSQL

_WEIGHTS = "ABCD"
_DATED = ",".join(f"{place}{weight}" for place, weight in enumerate(_WEIGHTS, len(_WEIGHTS) + 1))
# A tsvector holds at most 1 MB, including positions: an event with more terms has several.
_LEXEMES_AT_ONCE = 3000
_CREATE_TERMS = "CREATE TABLE IF NOT EXISTS {table} (id bigint NOT NULL, terms tsvector NOT NULL)"
_DROP_TERMS = "DROP TABLE IF EXISTS {table}"
_ADD_TERMS = "INSERT INTO {table} (id, terms) VALUES ($1::bigint, ($2::text)::tsvector)"
_REMOVE_TERMS = "DELETE FROM {table} WHERE id = ANY($1::bigint[])"
_INDEX_TERMS = (
    "CREATE INDEX IF NOT EXISTS {table}_id ON {table} (id)",
    # Every look-up scans entries that are not merged into GIN yet: 64 kB instead of 4 MB.
    "CREATE INDEX IF NOT EXISTS {table}_terms ON {table} USING gin (terms) WITH (gin_pending_list_limit = 64)",
)
# NULL for a frequent term: sending and reading so many ids costs as much as finding them. Materialized, though it is read only
# up to the limit: a planner that expects to read a tenth scans the table while GIN has entries that are not merged yet.
_PG_POSTINGS = (
    "SELECT CASE WHEN cardinality(ids) < $1 THEN ids END FROM (SELECT place, "
    "ARRAY(WITH found_ids AS MATERIALIZED (SELECT id FROM {table} WHERE terms @@ wanted.query::tsquery) "
    "SELECT id FROM found_ids LIMIT $1) AS ids "
    "FROM unnest($2::text[]) WITH ORDINALITY AS wanted (query, place) OFFSET 0) AS found ORDER BY place"
)
# Two ways, because no planner knows which is shorter. Neither leaves it a choice: a prepared statement gets one plan for any
# terms, which scans the table from its end until there are enough matches, even for rare terms.
_PG_NEWEST_OF_FEW = (
    "WITH few AS MATERIALIZED (SELECT id FROM {table} WHERE terms @@ ($1::text)::tsquery) "
    "SELECT DISTINCT id FROM few WHERE id < $2 ORDER BY id DESC LIMIT $3"
)
_PG_NEWEST_OF_MANY = (
    "SELECT DISTINCT id FROM (SELECT id, terms FROM {table} WHERE id < $2 ORDER BY id DESC LIMIT {walked}) AS newest "
    "WHERE terms @@ ($1::text)::tsquery ORDER BY id DESC LIMIT $3"
)
# Rows that are scanned from the end: first some, to estimate the share of matches; then this multiple of the estimate.
_WALKED, _FARTHER = 1024, 16


class PgTerms:
    """Lexemes with weights for fields; GIN alone is enough if every field is selected."""

    tables: Sequence[Fts5Table] = ()

    def __init__(self, table: str = "event_terms") -> None:
        self._create, self._drop, self._add, self._remove, self._postings, self._few = (
            sql.format(table=table)
            for sql in (_CREATE_TERMS, _DROP_TERMS, _ADD_TERMS, _REMOVE_TERMS, _PG_POSTINGS, _PG_NEWEST_OF_FEW)
        )
        walks = (_WALKED, _WALKED * _FARTHER)
        self._walks = [_PG_NEWEST_OF_MANY.format(table=table, walked=walked) for walked in walks]
        self._indexes = [sql.format(table=table) for sql in _INDEX_TERMS]

    def for_log(self, table: str) -> TermIndex:
        return PgTerms(table)

    def prepare(self, connection: Connection, *, rebuild: bool) -> None:
        if rebuild:
            connection.exec_driver_sql(self._drop)
        for statement in (self._create, *self._indexes):
            connection.exec_driver_sql(statement)

    def add(self, connection: Connection, rows: Sequence[TermRow]) -> None:
        documents = [(row.id, document) for row in rows for document in _documents(row)]
        if not documents:
            return  # of events without a term
        connection.exec_driver_sql(self._add, documents)

    def remove(self, connection: Connection, rows: Sequence[TermRow]) -> None:
        connection.exec_driver_sql(self._remove, ([row.id for row in rows],))

    def postings(self, connection: Connection, engine: Engine, wanted: TermQuery, most: int) -> Postings:
        queries = [f"'{wanted.marker}' & {each}" for each in _pg_terms(wanted)]
        rows = engine.fetch(connection, self._postings, (most, queries))
        found = dict(zip(wanted.terms, (ids for (ids,) in rows), strict=True))
        return Postings({term: ids for term, ids in found.items() if ids}, [term for term, ids in found.items() if ids is None])

    def newest(self, connection: Connection, engine: Engine, wanted: TermQuery, page: NewestPage) -> Sequence[int]:
        some = (" & " if page.every else " | ").join(_pg_terms(wanted))
        params = (f"'{wanted.marker}' & ({some})", page.before, page.most)
        # Few events have all of several terms.
        for walk in () if page.every else self._walks:
            rows = engine.fetch(connection, walk, params)
            if len(rows) == page.most:
                return [id_ for (id_,) in rows]
            if len(rows) * _FARTHER < page.most * 2:  # probably not enough
                break
        return [id_ for (id_,) in engine.fetch(connection, self._few, params)]


def _pg_terms(wanted: TermQuery) -> Sequence[str]:
    """Returns the queries of the terms."""
    weights = "".join(weight for weight, field in zip(_WEIGHTS, FIELDS, strict=True) if field in wanted.fields)
    # GIN has no weights: with them each event found would be read.
    within = "" if weights == _WEIGHTS else f":{weights}"
    return [f"'{_spelled(term)}'{within}" for term in wanted.terms]


def _documents(row: TermRow) -> Iterable[str]:
    """Returns an event's tsvectors, as literals; each has the markers."""
    places: dict[str, str] = {}
    *fields, dates = _spelled_fields(row.words)
    for place, (weight, field) in enumerate(zip(_WEIGHTS, fields, strict=True), 1):
        for term in set(field.split()):
            places[term] = f"{places[term]},{place}{weight}" if term in places else f"{place}{weight}"
    # Dates match any field, so they have all weights.
    places |= dict.fromkeys(dates.split(), _DATED)
    lexemes = [f"'{term}':{place}" for term, place in places.items()]
    marked = " ".join(f"'{marker}'" for marker in row.markers.split())
    for start in range(0, len(lexemes), _LEXEMES_AT_ONCE):
        yield f"{marked} {' '.join(lexemes[start : start + _LEXEMES_AT_ONCE])}"
