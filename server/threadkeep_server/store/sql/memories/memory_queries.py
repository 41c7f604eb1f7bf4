"""Units of work that add, list and delete memories. `search` finds them by terms.

The search index is written with the entry, so it is never behind; writers of one scope run one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from operator import attrgetter
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection, Row
from sqlalchemy.sql import ColumnElement

from ....domain.errors import MemoryIdConflict
from ....domain.memories import Forget, Memory, MemoryDraft, MemoryFilter, MemoryOutcome, MemoryScope, expiry_of
from ....domain.memory.namespaces import ROOT, path_of, prefixes, range_end
from ....domain.memory.writes import is_replay
from ....domain.text import fold
from ...contract.memories import MemoryPage, leaves_tombstone
from ..encryption.codec import StoredCodec
from ..engine.base import Engine
from ..engine.statements import ROWS_AT_ONCE
from ..log.markers import memory_marker
from ..scan_budget import ScanBudget, affordable
from ..schema.encryption import ENCRYPTED, NO_MODEL
from ..schema.memories import memories, memory_prefixes, memory_tombstones, memory_vectors
from ..search.term_index import TermIndex, TermRow
from .rows import BY_KEY, DRAFT_COLUMNS, batches, column_conditions, draft_of, is_live, memories_of_keys, metadata_holds, within

# Entries, and characters of their terms, that one transaction deletes: tens of milliseconds on SQLite, where all writers wait.
_FORGOTTEN_AT_ONCE, _FORGOTTEN_WORDS = 128, 256 << 10

_m, _t, _p = memories.c, memory_tombstones.c, memory_prefixes.c

GONE_COLUMNS = (_m.id, _m.memory_id, _m.event_id, _m.namespace, _m.words, _m.analyzer)


@dataclass(frozen=True, slots=True)
class Words:
    """The terms of entries: the index, if there is one, the version of the analyzer, and the function that returns them."""

    index: TermIndex | None
    version: int
    of: Callable[[MemoryDraft], str]


def outcomes(
    connection: Connection,
    codec: StoredCodec,
    tenant: str,
    scope: MemoryScope,
    drafts: Sequence[MemoryDraft],
    now: int,
    *,
    ingesting: bool,
) -> list[MemoryOutcome]:
    """Returns the outcome of adding each draft. Raises MemoryIdConflict. An expired entry is absent."""
    names = [draft.name for draft in drafts]
    stored = _stored(connection, tenant, scope, names, now, compared=not ingesting)
    deleted = _deleted(connection, tenant, scope, names) if ingesting else frozenset[str]()
    results = []
    for index, draft in enumerate(drafts):
        if draft.name in stored:
            if not ingesting and not is_replay(draft, draft_of(codec, stored[draft.name])):
                raise MemoryIdConflict(draft.id, f"memories[{index}].id")
            results.append(MemoryOutcome.EXISTS)
        else:
            results.append(MemoryOutcome.DELETED if draft.name in deleted else MemoryOutcome.ADDED)
    return results


def _stored(
    connection: Connection, tenant: str, scope: MemoryScope, names: Sequence[str], now: int, *, compared: bool
) -> dict[str, Row[Any]]:
    """Returns rows by name, with the compared columns if `compared`."""
    columns = DRAFT_COLUMNS if compared else (_m.memory_id,)
    found: dict[str, Row[Any]] = {}
    for some in batches(names):
        query = sa.select(*columns).where(within(tenant, scope), _m.memory_id.in_(some), is_live(now))
        found |= {row.memory_id: row for row in connection.execute(query)}
    return found


def _deleted(connection: Connection, tenant: str, scope: MemoryScope, names: Sequence[str]) -> frozenset[str]:
    found: set[str] = set()
    for some in batches(names):
        query = sa.select(_t.memory_id).where(_buried(tenant, scope), _t.memory_id.in_(some))
        found |= set(connection.execute(query).scalars())
    return frozenset(found)


def _buried(tenant: str, scope: MemoryScope) -> ColumnElement[bool]:
    return sa.and_(_t.tenant == tenant, _t.app == scope.app, _t.user_id == scope.user_id)


def _prefixed(tenant: str, scope: MemoryScope) -> Sequence[ColumnElement[bool]]:
    return _p.tenant == tenant, _p.app == scope.app, _p.user_id == scope.user_id


def add(
    connection: Connection,
    engine: Engine,
    codec: StoredCodec,
    words: Words,
    tenant: str,
    scope: MemoryScope,
    drafts: Sequence[MemoryDraft],
    now: int,
    *,
    ingesting: bool,
) -> list[MemoryOutcome]:
    take_turn(connection, engine, tenant, scope)
    remove_expired(connection, words.index, tenant, scope, [draft.name for draft in drafts], now)
    results = outcomes(connection, codec, tenant, scope, drafts, now, ingesting=ingesting)
    fresh = [draft for draft, outcome in zip(drafts, results, strict=True) if outcome is MemoryOutcome.ADDED]
    insert(connection, codec, words, tenant, scope, [(draft, now) for draft in fresh], now)
    if not ingesting:
        exhume(connection, tenant, scope, [draft.name for draft in fresh])
    return results


def insert(
    connection: Connection,
    codec: StoredCodec,
    words: Words,
    tenant: str,
    scope: MemoryScope,
    drafts: Sequence[tuple[MemoryDraft, int]],
    now: int,
) -> list[int]:
    """Inserts entries, with the times at which they were added. Returns their keys."""
    version = words.version if words.index is not None else -words.version
    made: list[int] = []
    for some in batches(drafts):
        rows = [_row(tenant, scope, draft, added, now) for draft, added in some]
        rows = [row | {"words": words.of(draft), "analyzer": version} for row, (draft, _) in zip(rows, some, strict=True)]
        if codec.encrypts(tenant):
            rows = [row | encrypted_columns(codec, tenant, row["content"], row["text"], row["metadata_json"]) for row in rows]
        keys = connection.execute(memories.insert().returning(_m.id, sort_by_parameter_order=True), rows).scalars().all()
        if words.index is not None and not codec.encrypts(tenant):
            marker = memory_marker(tenant, scope)
            words.index.add(connection, [TermRow(key, marker, row["words"]) for key, row in zip(keys, rows, strict=True)])
        owner = {"tenant": tenant, "app": scope.app, "user_id": scope.user_id}
        above = [
            owner | {"prefix": prefix, "memory": key}
            for key, (draft, _) in zip(keys, some, strict=True)
            for prefix in prefixes(draft.namespace)
        ]
        if above:
            connection.execute(memory_prefixes.insert(), above)
        made += keys
    return made


def exhume(connection: Connection, tenant: str, scope: MemoryScope, names: Sequence[str]) -> None:
    """Forgets that entries with these names were deleted."""
    for some in batches(names):
        connection.execute(memory_tombstones.delete().where(_buried(tenant, scope), _t.memory_id.in_(some)))


def take_turn(connection: Connection, engine: Engine, tenant: str, scope: MemoryScope) -> None:
    """Locks the scope for writing. Sessions of this name would wait as well, which is harmless."""
    engine.locks.acquire(connection, [(tenant, f"memories {memory_marker(tenant, scope)}")])


def _row(tenant: str, scope: MemoryScope, draft: MemoryDraft, added: int, now: int) -> dict[str, Any]:
    return {
        "tenant": tenant,
        "app": scope.app,
        "user_id": scope.user_id,
        "memory_id": draft.name,
        "content": draft.content,
        "text": draft.text.encode(),
        "folded": fold(draft.text),
        "author": draft.author,
        "event_time": draft.event_time,
        "time": added if draft.event_time is None else draft.event_time,
        "record_time": added,
        "session_id": draft.session_id,
        "event_id": draft.event_id,
        "metadata_json": draft.metadata_json.encode(),
        "namespace": path_of(draft.namespace),
        "update_time": now,
        "ttl": draft.ttl,
        "expire_time": expiry_of(draft.ttl, now),
    }


def encrypted_columns(codec: StoredCodec, tenant: str, content: bytes, text: bytes, metadata_json: bytes) -> dict[str, Any]:
    """Returns the columns of an entry that differ if it is encrypted: it is in no index."""
    encrypted = {"content": codec.encrypt(tenant, content), "text": codec.encrypt(tenant, text)}
    encrypted["metadata_json"] = codec.encrypt(tenant, metadata_json) if metadata_json else b""
    return encrypted | {"folded": "", "words": "", "analyzer": ENCRYPTED, "vector_model": NO_MODEL}


def list_page(
    connection: Connection,
    codec: StoredCodec,
    tenant: str,
    scope: MemoryScope,
    wanted: MemoryFilter,
    limit: int,
    cursor: int | None,
) -> MemoryPage:
    conditions = (within(tenant, scope), *column_conditions(replace(wanted, namespace=ROOT)))
    if wanted.namespace:
        # A sub-select: joined, PostgreSQL may read the newest entries of the scope until it has enough of the namespace.
        row = sa.select(_m.metadata_json).where(_m.id == _p.memory, *conditions).scalar_subquery()
        here = (*_prefixed(tenant, scope), _p.prefix == path_of(wanted.namespace))
        query = sa.select(_p.memory.label("id"), row.label("metadata_json")).where(*here, row.is_not(None))
    else:
        query = sa.select(_m.id, _m.metadata_json).where(*conditions)
    newest = _p.memory if wanted.namespace else _m.id
    if cursor is not None:
        query = query.where(newest < cursor)
    found = _admitted(connection, codec, query.order_by(newest.desc()), wanted, limit + 1)
    keys = list(islice(found, limit + 1))
    page = list(memories_of_keys(connection, codec, tenant, scope, keys[:limit], wanted))
    return MemoryPage(page, page[-1].key if len(keys) > limit else None)


def holding(
    connection: Connection,
    engine: Engine,
    codec: StoredCodec,
    tenant: str,
    scope: MemoryScope,
    folded: str,
    wanted: MemoryFilter,
    limit: int,
) -> Sequence[Memory]:
    query = sa.select(_m.id, _m.metadata_json).where(engine.sql.contains(_m.folded, folded))
    query = query.order_by(_m.time.desc(), _m.id.desc())
    query = query.where(within(tenant, scope), *column_conditions(wanted))
    keys = islice(_admitted(connection, codec, query, wanted, limit), limit)
    return list(memories_of_keys(connection, codec, tenant, scope, keys, wanted))


def holding_encrypted(
    connection: Connection,
    codec: StoredCodec,
    tenant: str,
    scope: MemoryScope,
    folded: str,
    wanted: MemoryFilter,
    limit: int,
    budget: ScanBudget,
) -> Sequence[Memory]:
    """Like `holding`, of entries that have no folded text: reads the newest ones, as many as the budget admits."""
    query = sa.select(_m.id, sa.func.length(_m.content).label("size")).where(within(tenant, scope), *column_conditions(wanted))
    rows = connection.execute(query.order_by(_m.time.desc(), _m.id.desc())).all()
    found: list[Memory] = []
    for some in affordable(rows, budget, attrgetter("size")):
        read = memories_of_keys(connection, codec, tenant, scope, [row.id for row in some], wanted)
        found += [memory for memory in read if folded in fold(memory.draft.text)]
        if len(found) >= limit:
            break
    return found[:limit]


def _admitted(
    connection: Connection, codec: StoredCodec, query: sa.Select[Any], wanted: MemoryFilter, most: int
) -> Iterator[int]:
    """Returns keys of the rows whose metadata matches, in the query's order: at least `most`, if there are so many."""
    # Metadata is compared after the row is read.
    query = query.execution_options(yield_per=ROWS_AT_ONCE) if wanted.reads_metadata else query.limit(most)
    for row in connection.execute(query):
        if metadata_holds(codec, row, wanted):
            yield row.id


def newest_key(connection: Connection, tenant: str, scope: MemoryScope) -> int:
    """Returns the key of the entry of the scope that was added last; 0 without one."""
    return int(connection.execute(sa.select(sa.func.coalesce(sa.func.max(_m.id), 0)).where(within(tenant, scope))).scalar_one())


class Gone(NamedTuple):
    """Names of deleted entries, and the number of their embeddings."""

    names: Sequence[str]
    embeddings: int


def forget_some(
    connection: Connection,
    index: TermIndex | None,
    tenant: str,
    scope: MemoryScope,
    what: Forget,
    newest: int,
    now: int,
    *,
    bury: bool = True,
) -> Gone:
    """Deletes a part of the entries, up to the key `newest`: as many as other writers can wait for; none if nothing is left.
    The scope is locked. `bury`: entries from events are not ingested again."""
    query = sa.select(*GONE_COLUMNS).where(within(tenant, scope), _m.id <= newest).order_by(_m.id).limit(_FORGOTTEN_AT_ONCE)
    if what.names is not None:
        query = query.where(sa.or_(sa.false(), *(_m.memory_id.in_(some) for some in batches(sorted(set(what.names))))))
    elif what.session_id is not None:
        query = query.where(_m.session_id == what.session_id)
    elif what.namespace:
        path = path_of(what.namespace)
        query = query.where(_m.namespace >= path, _m.namespace < range_end(path))
    return remove(connection, index, tenant, scope, query, now, bury=bury)


def remove_expired(
    connection: Connection, index: TermIndex | None, tenant: str, scope: MemoryScope, names: Sequence[str], now: int
) -> None:
    """Deletes those of these entries that have expired: others take their names. The scope is locked."""
    for some in batches(names):
        query = sa.select(*GONE_COLUMNS).where(within(tenant, scope), _m.memory_id.in_(some), _m.expire_time <= now)
        while remove(connection, index, tenant, scope, query.order_by(BY_KEY).limit(_FORGOTTEN_AT_ONCE), now).names:
            pass


def remove(
    connection: Connection,
    index: TermIndex | None,
    tenant: str,
    scope: MemoryScope,
    query: sa.Select[Any],
    now: int,
    *,
    bury: bool = True,
) -> Gone:
    """Deletes entries that a query of GONE_COLUMNS selects, not all if they are large. The scope is locked."""
    # Locked, so that no more data is derived from them.
    rows = connection.execute(query.with_for_update()).all()
    sizes = accumulate(len(row.words) for row in rows)
    rows = rows[: max(1, sum(size <= _FORGOTTEN_WORDS for size in sizes))]
    if not rows:
        return Gone([], 0)
    embeddings = delete_rows(connection, index, tenant, scope, rows)
    buried = {"tenant": tenant, "app": scope.app, "user_id": scope.user_id, "time": now}
    tombs = [buried | {"memory_id": row.memory_id} for row in rows if bury and leaves_tombstone(row.event_id)]
    if tombs:
        connection.execute(memory_tombstones.insert(), tombs)
    return Gone([row.memory_id for row in rows], embeddings)


def delete_rows(
    connection: Connection, index: TermIndex | None, tenant: str, scope: MemoryScope, rows: Sequence[Row[Any]]
) -> int:
    """Deletes rows with their derived data. Returns the number of deleted embeddings."""
    keys = [row.id for row in rows]
    # Without an index in use, a stale one keeps keys that no entry has any more.
    indexed = [TermRow(row.id, memory_marker(tenant, scope), row.words) for row in rows if 0 < row.analyzer < ENCRYPTED]
    if index is not None and indexed:
        index.remove(connection, indexed)
    # In this order: a transaction that embeds an entry locks its row, so its embedding exists when the second statement runs.
    connection.execute(memories.delete().where(_m.id.in_(keys)))
    if any(row.namespace for row in rows):
        connection.execute(memory_prefixes.delete().where(*_prefixed(tenant, scope), _p.memory.in_(keys)))
    return connection.execute(memory_vectors.delete().where(memory_vectors.c.id.in_(keys))).rowcount
