"""Units of work that write, refresh and sweep entries, and read them by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Row

from ....domain.memories import Memory, MemoryScope, expiry_of
from ....domain.memory.writes import MemoryWrite, WriteOutcome, Written, outcomes_of
from ...contract.memories import NamedMemories
from ..encryption.codec import StoredCodec
from ..engine.base import Engine
from ..schema.memories import memories
from ..search.term_index import TermIndex
from .memory_queries import GONE_COLUMNS, Words, delete_rows, exhume, insert, remove, remove_expired, take_turn
from .rows import BY_KEY, MEMORY_COLUMNS, batches, is_live, memory_of, within

# Entries of one scope that are swept in one transaction.
_SWEPT_AT_ONCE = 128

_m = memories.c
_WRITTEN_COLUMNS = tuple(dict.fromkeys((*MEMORY_COLUMNS, *GONE_COLUMNS)))


def write(
    connection: Connection,
    engine: Engine,
    codec: StoredCodec,
    words: Words,
    tenant: str,
    scope: MemoryScope,
    writes: Sequence[MemoryWrite],
    now: int,
    *,
    replacing: bool,
) -> list[Written]:
    """See MemoriesStore.write_memories."""
    take_turn(connection, engine, tenant, scope)
    names = [write.draft.name for write in writes]
    remove_expired(connection, words.index, tenant, scope, names, now)
    rows = _rows_of_names(connection, tenant, scope, names)
    known = {name: memory_of(codec, row) for name, row in rows.items()}
    decided = outcomes_of(writes, known, replacing=replacing)
    replaced = [rows[write.draft.name] for write, outcome in decided if outcome is WriteOutcome.REPLACED]
    for some in batches(replaced):
        delete_rows(connection, words.index, tenant, scope, some)
    fresh = [write.draft for write, outcome in decided if outcome in (WriteOutcome.ADDED, WriteOutcome.REPLACED)]
    added = [known[draft.name].record_time if draft.name in known else now for draft in fresh]
    keys = insert(connection, codec, words, tenant, scope, list(zip(fresh, added, strict=True)), now)
    exhume(connection, tenant, scope, [draft.name for draft in fresh])
    made = {
        draft.name: Memory(key, scope, draft, record_time, now, expiry_of(draft.ttl, now))
        for key, draft, record_time in zip(keys, fresh, added, strict=True)
    }
    same = [known[write.draft.name] for write, outcome in decided if outcome is WriteOutcome.UNCHANGED]
    later = _postpone(connection, same, now)
    for memory in same:
        memory.expire_time = later.get(memory.key, memory.expire_time)
    return [Written(outcome, made.get(write.draft.name) or known[write.draft.name]) for write, outcome in decided]


def _rows_of_names(connection: Connection, tenant: str, scope: MemoryScope, names: Sequence[str]) -> dict[str, Row[Any]]:
    """Returns the rows with these names, locked, so that no more data is derived from them."""
    found: dict[str, Row[Any]] = {}
    for some in batches(names):
        query = sa.select(*_WRITTEN_COLUMNS).where(within(tenant, scope), _m.memory_id.in_(some))
        found |= {row.memory_id: row for row in connection.execute(query.order_by(BY_KEY).with_for_update())}
    return found


def _postpone(connection: Connection, entries: Sequence[Memory], now: int) -> Mapping[int, int]:
    """Postpones the expiry of entries, never to an earlier time. Returns the new times by key."""
    wanted = {each.key: expiry_of(each.draft.ttl, now) for each in entries}
    before = {each.key: each.expire_time for each in entries}
    later = {key: time for key, time in wanted.items() if time is not None and (was := before[key]) is not None and was < time}
    for key, time in later.items():
        connection.execute(memories.update().where(_m.id == key, _m.expire_time < time).values(expire_time=time))
    return later


def refresh(connection: Connection, tenant: str, scope: MemoryScope, keys: Sequence[int], now: int) -> Mapping[int, int]:
    """See MemoriesStore.refresh_memories. In the order of the keys: two refreshes do not wait for each other."""
    found: dict[int, int] = {}
    for some in batches(sorted(set(keys))):
        query = sa.select(_m.id, _m.ttl, _m.expire_time).where(within(tenant, scope), _m.id.in_(some), is_live(now))
        rows = connection.execute(query.where(_m.ttl.is_not(None)).order_by(_m.id).with_for_update()).all()
        for row in rows:
            time = max(row.expire_time, expiry_of(row.ttl, now) or 0)
            if time != row.expire_time:
                connection.execute(memories.update().where(_m.id == row.id).values(expire_time=time))
            found[row.id] = time
    return found


def named(
    connection: Connection,
    codec: StoredCodec,
    tenant: str,
    scope: MemoryScope,
    names: Sequence[str],
    now: int,
    max_bytes: int,
) -> NamedMemories:
    """See MemoriesStore.memories_by_name. Runs in a snapshot."""
    size = (sa.func.length(_m.content) + sa.func.length(_m.metadata_json)).label("size")
    sizes: dict[str, Row[Any]] = {}
    for some in batches(names):
        query = sa.select(_m.id, _m.memory_id, size).where(within(tenant, scope), _m.memory_id.in_(some), is_live(now))
        sizes |= {row.memory_id: row for row in connection.execute(query)}
    present = [sizes[name] for name in dict.fromkeys(names) if name in sizes]
    taken: list[int] = []
    for row in present:
        max_bytes -= row.size
        if taken and max_bytes < 0:
            break
        taken.append(row.id)
    found: dict[str, Memory] = {}
    for some_keys in batches(taken):
        columns: Sequence[ColumnElement[Any]] = MEMORY_COLUMNS
        rows = connection.execute(sa.select(*columns).where(_m.id.in_(some_keys))).all()
        found |= {row.memory_id: memory_of(codec, row) for row in rows}
    return NamedMemories(found, {row.memory_id for row in present} - found.keys())


# --- expiry


def count_expired(connection: Connection, now: int, most: int) -> int:
    some = sa.select(_m.id).where(_m.expire_time <= now).limit(most).subquery()
    return int(connection.execute(sa.select(sa.func.count()).select_from(some)).scalar_one())


def expired_scope(connection: Connection, now: int) -> tuple[str, MemoryScope] | None:
    """Returns the owner of the entry that expired first."""
    query = sa.select(_m.tenant, _m.app, _m.user_id).where(_m.expire_time <= now).order_by(_m.expire_time).limit(1)
    row = connection.execute(query).one_or_none()
    return None if row is None else (row.tenant, MemoryScope(row.app, row.user_id))


def sweep(connection: Connection, engine: Engine, index: TermIndex | None, tenant: str, scope: MemoryScope, now: int) -> int:
    """Deletes some expired entries of a scope. Returns their number."""
    take_turn(connection, engine, tenant, scope)
    some = sa.select(_m.id).where(within(tenant, scope), _m.expire_time <= now).order_by(_m.expire_time).limit(_SWEPT_AT_ONCE)
    # In the order of the keys, like all that lock several: a refresh does not lock the scope.
    query = sa.select(*GONE_COLUMNS).where(_m.id.in_(some), _m.expire_time <= now).order_by(_m.id)
    return len(remove(connection, index, tenant, scope, query, now).names)
