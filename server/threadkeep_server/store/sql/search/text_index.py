"""Substring indexes over the derived text: a prefilter only, every candidate is compared again.

SQLite: an FTS5 trigram table without positions (`detail=none`); every document begins with its scope's marker, so that one
MATCH narrows by user and by text. PostgreSQL: pg_trgm if it is available. Without either the derived text is scanned.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy import BindParameter, Connection, Row
from sqlalchemy.sql import ColumnElement

from ....domain.filters import EventFilter
from ..engine.base import Capability, Engine
from ..log.conditions import Conditions, parameter, text_conditions
from ..schema.tables import (
    DERIVED,
    changes,
    derived,
    event_text,
    event_words,
    events,
    feed_floor,
    index_progress,
    words_renewal,
)
from ..schema.versions import alone
from ..vectors import maintenance
from .fts5 import Fts5Table
from .term_index import Fts5Terms, PgTerms, TermIndex, TermRow

# Rebuilt when this changes.
VERSION = 4

_TRIGRAM = 3
_HASH_BYTES = 32 << 20  # A transaction adds one segment up to this size. By default 1 MiB; segments are merged later.
_MOST_TRIGRAMS = 24  # enough to be selective; a longer phrase narrows no further
_PRIVATE_USE, _PRIVATE_USE_SIZE = 0xE000, 6400

_RENEW = event_words.update().where(event_words.c.id == sa.bindparam("key")).values(words=sa.bindparam("renewed"))

TextRow = tuple[int, str, str]
"""An event's row id, its scope and its folded text."""


def scope_of(tenant: str, user_id: str) -> str:
    """Three private-use characters that represent a user. Two users may share them; a scope only narrows."""
    digest = hashlib.blake2b(f"{len(tenant)}:{tenant}{user_id}".encode(), digest_size=12).digest()
    parts = (int.from_bytes(digest[i : i + 4]) % _PRIVATE_USE_SIZE for i in (0, 4, 8))
    return "".join(chr(_PRIVATE_USE + part) for part in parts)


class TextIndex(Protocol):
    """Narrows a search before texts are compared."""

    words: TermIndex | None
    """The index of terms maintained with it. None: there is none, and no terms are derived."""
    tables: Sequence[Fts5Table]
    """Keep what is removed until they are merged."""
    most_at_once: int
    """Events to add in one transaction if many are waiting."""

    def prepare(self, connection: Connection, engine: Engine, words_version: int) -> None:
        """Creates missing tables; rebuilds them if another version of the index created them. Terms of another version of the
        analyzer stay, until they are renewed."""
        ...

    def add(self, connection: Connection, rows: Sequence[TextRow], words: Sequence[TermRow] = ()) -> None: ...

    def remove(self, connection: Connection, rows: Sequence[TextRow], words: Sequence[TermRow] = ()) -> None: ...

    def renew(self, connection: Connection, outdated: Sequence[TermRow], words: Sequence[TermRow]) -> None:
        """Replaces terms; the rows are of the same events."""
        ...

    def candidates(self, scope: str | None, wanted: EventFilter) -> Conditions:
        """Conditions on event_text that every indexed match satisfies, in the scope if there is one."""
        ...


def _prepare_tables(connection: Connection, engine: Engine, words_version: int) -> bool:
    """Returns whether the tables had to be rebuilt: another version of the index created them, or they belong to another
    log."""
    derived.create_all(connection)
    maintenance.prepare(connection)
    columns = {column["name"] for column in sa.inspect(connection).get_columns(index_progress.name, schema=_schema(connection))}
    if columns == set(index_progress.c.keys()):
        at = connection.execute(sa.select(index_progress)).one_or_none()
        if at is not None and at.version == VERSION and _continues(connection, at):
            return False
    index_progress.drop(connection)
    index_progress.create(connection)
    for table in (event_text, event_words, words_renewal):
        connection.execute(table.delete())
    start = _start(connection, engine) | {"version": VERSION, "words_version": words_version}
    connection.execute(index_progress.insert(), start)
    maintenance.keep_known(connection, start["fill"], None)
    return True


def _start(connection: Connection, engine: Engine) -> dict[str, int]:
    """Returns where the indexer begins. The feed may have been trimmed, so stored events are read directly, and the feed is
    followed from its visible end, or from its floor if every change was trimmed."""
    newest = sa.select(changes.c.xid, changes.c.id, changes.c.session, changes.c.time).where(engine.sql.visible())
    head = connection.execute(newest.order_by(*(column.desc() for column in engine.sql.change_order)).limit(1)).one_or_none()
    floor = connection.execute(sa.select(feed_floor.c.xid, feed_floor.c.change)).one()
    start = dict(zip(("xid", "change", "session", "time"), head or (*floor, 0, 0), strict=True))
    # Read after the head, so that every event is among these or its change is after the head, or both.
    fill = connection.execute(sa.select(sa.func.coalesce(sa.func.max(events.c.id), 0))).scalar_one()
    return start | {"one": 1, "filled": 0, "fill": int(fill)}


def _schema(connection: Connection) -> str | None:
    translated = connection.get_execution_options().get("schema_translate_map") or {}
    schema: str | None = translated.get(DERIVED, DERIVED)
    return schema


def _continues(connection: Connection, at: Row[Any]) -> bool:
    """Returns whether the log has the change that was indexed last, and all later ones. A log restored from a backup does not
    have it, or has another."""
    floor = connection.execute(sa.select(feed_floor.c.xid, feed_floor.c.change)).one()
    if tuple(floor) > (at.xid, at.change):
        return False  # trimmed beyond it, while no index was wanted
    if not at.change:
        return True
    # Retention keeps this one change, although it may be older than the limit.
    same = sa.and_(changes.c.id == at.change, changes.c.session == at.session, changes.c.time == at.time)
    return connection.execute(sa.select(changes.c.id).where(same)).one_or_none() is not None


class ScopedTexts:
    """No index except the one on scope: the derived text of the scope is scanned."""

    most_at_once = 128  # the feed of PostgreSQL waits for the transaction

    def __init__(self, words: TermIndex | None = None) -> None:
        self.words = words
        self.tables: Sequence[Fts5Table] = () if words is None else words.tables

    def prepare(self, connection: Connection, engine: Engine, words_version: int) -> None:
        self._prepare(connection, engine, words_version)

    def _prepare(self, connection: Connection, engine: Engine, words_version: int) -> bool:
        """Returns whether it was rebuilt."""
        rebuilt = _prepare_tables(connection, engine, words_version)
        if self.words is not None:
            self.words.prepare(connection, rebuild=rebuilt)
        return rebuilt

    def add(self, connection: Connection, rows: Sequence[TextRow], words: Sequence[TermRow] = ()) -> None:
        values = [{"id": id_, "scope": scope, "text": text} for id_, scope, text in rows]
        connection.execute(event_text.insert(), values)
        if self.words is not None and words:
            connection.execute(event_words.insert(), [row._asdict() for row in words])
            self.words.add(connection, words)

    def remove(self, connection: Connection, rows: Sequence[TextRow], words: Sequence[TermRow] = ()) -> None:
        connection.execute(event_text.delete().where(event_text.c.id.in_([row[0] for row in rows])))
        if self.words is not None and words:
            connection.execute(event_words.delete().where(event_words.c.id.in_([row.id for row in words])))
            self.words.remove(connection, words)

    def renew(self, connection: Connection, outdated: Sequence[TermRow], words: Sequence[TermRow]) -> None:
        if self.words is not None and words:
            self.words.remove(connection, outdated)
            connection.execute(_RENEW, [{"key": row.id, "renewed": row.words} for row in words])
            self.words.add(connection, words)

    def candidates(self, scope: str | None, wanted: EventFilter) -> Conditions:
        found = Conditions()
        if scope is not None:
            found.add(lambda: event_text.c.scope == parameter("scope", event_text.c.scope), scope=scope)
        return found


class Fts5Trigrams(ScopedTexts):
    """SQLite's FTS5. Its tokenizer yields nothing for fewer than three characters, so shorter terms scan the scope."""

    most_at_once = 1024  # a commit writes a segment; fewer are merged later

    def __init__(self, words: TermIndex | None = None) -> None:
        super().__init__(words)
        self.tables = [Fts5Table(DERIVED, "event_fts"), *self.tables]

    def prepare(self, connection: Connection, engine: Engine, words_version: int) -> None:
        if self._prepare(connection, engine, words_version):
            connection.exec_driver_sql("DROP TABLE IF EXISTS search.event_fts")
        connection.exec_driver_sql(
            "CREATE VIRTUAL TABLE IF NOT EXISTS search.event_fts "
            "USING fts5(text, content='', detail='none', columnsize=0, tokenize='trigram case_sensitive 1')"
        )
        connection.exec_driver_sql("INSERT INTO search.event_fts (event_fts, rank) VALUES ('hashsize', ?)", (_HASH_BYTES,))

    def add(self, connection: Connection, rows: Sequence[TextRow], words: Sequence[TermRow] = ()) -> None:
        super().add(connection, rows, words)
        documents = [(id_, scope + text) for id_, scope, text in rows]
        connection.exec_driver_sql("INSERT INTO search.event_fts (rowid, text) VALUES (?, ?)", documents)

    def remove(self, connection: Connection, rows: Sequence[TextRow], words: Sequence[TermRow] = ()) -> None:
        super().remove(connection, rows, words)
        documents = [("delete", id_, scope + text) for id_, scope, text in rows]
        connection.exec_driver_sql("INSERT INTO search.event_fts (event_fts, rowid, text) VALUES (?, ?, ?)", documents)

    def candidates(self, scope: str | None, wanted: EventFilter) -> Conditions:
        if not (match := _match(wanted)):
            return super().candidates(scope, wanted)
        found = Conditions()
        found.add(_among_matched, trigrams=match if scope is None else f'"{scope}" AND {match}')
        return found


def _among_matched() -> ColumnElement[bool]:
    matched = sa.text("SELECT rowid FROM search.event_fts WHERE event_fts MATCH :trigrams")
    return event_text.c.id.in_(matched.columns(sa.column("rowid", sa.Integer)).scalar_subquery())


def _match(wanted: EventFilter) -> str:
    """Returns the FTS5 query that every match satisfies; empty if trigrams cannot narrow."""
    parts = [_all_trigrams(wanted.keyword)]
    each = [_all_trigrams(term) for term in wanted.keywords]
    if wanted.match_all:
        parts += each
    elif each and all(each):
        parts.append("(" + " OR ".join(f"({term})" for term in each) + ")")
    return " AND ".join(part for part in parts if part)


def _all_trigrams(term: str) -> str:
    grams = dict.fromkeys(term[i : i + _TRIGRAM] for i in range(len(term) - _TRIGRAM + 1))
    return " AND ".join('"' + gram.replace('"', '""') + '"' for gram in list(grams)[:_MOST_TRIGRAMS])


class PgTrigrams(ScopedTexts):
    """PostgreSQL's pg_trgm."""

    def prepare(self, connection: Connection, engine: Engine, words_version: int) -> None:
        super().prepare(connection, engine, words_version)
        connection.exec_driver_sql("CREATE INDEX IF NOT EXISTS event_text_trigrams ON event_text USING gin (text gin_trgm_ops)")

    def candidates(self, scope: str | None, wanted: EventFilter) -> Conditions:
        return super().candidates(scope, wanted) & text_conditions(wanted, "like", _like, _pattern)


def _like(pattern: BindParameter[str]) -> ColumnElement[bool]:
    return event_text.c.text.like(pattern, escape="/")


def _pattern(term: str) -> str:
    escaped = term.replace("/", "//").replace("%", "/%").replace("_", "/_")
    return f"%{escaped}%"


async def open_index(engine: Engine) -> TextIndex:
    """Returns the best index that the database offers."""
    if Capability.TSVECTOR in engine.capabilities:
        return await engine.write(alone(engine, postgres_index))
    return sqlite_index() if Capability.FTS5 in engine.capabilities else ScopedTexts()


def sqlite_index() -> TextIndex:
    return Fts5Trigrams(Fts5Terms())


def postgres_index(connection: Connection) -> TextIndex:
    """The best index that this database has or lets us have."""
    try:
        with connection.begin_nested():
            connection.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    except sa.exc.DBAPIError:
        return ScopedTexts(PgTerms())
    return PgTrigrams(PgTerms())
