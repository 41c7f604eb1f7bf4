"""Memories as rows: conversions, and the conditions of scopes and filters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection, Row
from sqlalchemy.sql import ColumnElement

from ....domain.memories import Memory, MemoryDraft, MemoryFilter, MemoryScope
from ....domain.memory.namespaces import path_of, range_end, split_name
from ..encryption.codec import StoredCodec
from ..encryption.vault import is_encrypted
from ..schema.memories import memories

T = TypeVar("T")

_m = memories.c

# Values of one condition: well below the limits of both drivers.
AT_ONCE = 500

DRAFT_COLUMNS = (
    _m.memory_id,
    _m.content,
    _m.text,
    _m.author,
    _m.event_time,
    _m.session_id,
    _m.event_id,
    _m.metadata_json,
    _m.ttl,
)
BY_KEY: ColumnElement[int] = sa.literal_column("+memories.id")
"""The order of the keys, not by an index: SQLite would pass through the whole scope to find a few names in this order."""
MEMORY_COLUMNS = (_m.id, _m.app, _m.user_id, _m.record_time, _m.update_time, _m.expire_time, *DRAFT_COLUMNS)


def batches(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Splits into sequences of AT_ONCE."""
    for start in range(0, len(values), AT_ONCE):
        yield values[start : start + AT_ONCE]


def within(tenant: str, scope: MemoryScope) -> ColumnElement[bool]:
    """The row is in the scope."""
    return sa.and_(_m.tenant == tenant, _m.app == scope.app, _m.user_id == scope.user_id)


def column_conditions(wanted: MemoryFilter) -> list[ColumnElement[bool]]:
    """Returns the conditions of the filter, except for metadata."""
    found: list[ColumnElement[bool]] = []
    if wanted.session_ids:
        found.append(_m.session_id.in_(sorted(wanted.session_ids)))
    if wanted.authors:
        found.append(_m.author.in_(sorted(wanted.authors)))
    if wanted.from_time is not None:
        found.append(_m.time >= wanted.from_time)
    if wanted.to_time is not None:
        found.append(_m.time <= wanted.to_time)
    if wanted.namespace:
        path = path_of(wanted.namespace)
        found.append(sa.and_(_m.namespace >= path, _m.namespace < range_end(path)))
    if wanted.live_at is not None:
        found.append(is_live(wanted.live_at))
    return found


def is_live(now: int) -> ColumnElement[bool]:
    """The entry has not expired."""
    return sa.or_(_m.expire_time.is_(None), _m.expire_time > now)


def metadata_holds(codec: StoredCodec, row: Row[Any], wanted: MemoryFilter) -> bool:
    """Returns whether the metadata matches the filter; `row` has metadata_json."""
    return not wanted.reads_metadata or wanted.admits_metadata(_metadata_of(codec, row))


def _metadata_of(codec: StoredCodec, row: Row[Any]) -> str:
    # Entries that were encrypted by older servers have plain metadata; JSON does not begin like encrypted bytes.
    raw = row.metadata_json
    return (codec.decrypt(raw) if is_encrypted(raw) else raw).decode()


def draft_of(codec: StoredCodec, row: Row[Any]) -> MemoryDraft:
    encrypted = is_encrypted(row.content)  # not the text, which may begin with any character
    namespace, memory_id = split_name(row.memory_id)
    return MemoryDraft(
        id=memory_id,
        content=codec.decrypt(row.content),
        text=(codec.decrypt(row.text) if encrypted else row.text).decode(),
        author=row.author,
        event_time=row.event_time,
        session_id=row.session_id,
        event_id=row.event_id,
        metadata_json=_metadata_of(codec, row),
        namespace=namespace,
        ttl=row.ttl,
    )


def memory_of(codec: StoredCodec, row: Row[Any]) -> Memory:
    """Returns the entry of a row with MEMORY_COLUMNS."""
    updated = row.record_time if row.update_time is None else row.update_time
    scope = MemoryScope(row.app, row.user_id)
    return Memory(row.id, scope, draft_of(codec, row), row.record_time, updated, row.expire_time)


def memories_of_keys(
    connection: Connection, codec: StoredCodec, tenant: str, scope: MemoryScope, keys: Iterable[int], wanted: MemoryFilter
) -> Iterator[Memory]:
    """Returns the memories that are in the scope and match the filter, in the order of the keys."""
    for some in batches(list(keys)):
        found = {row.id: row for row in rows_of_keys(connection, codec, tenant, scope, some, wanted, MEMORY_COLUMNS)}
        for row in (found[key] for key in some if key in found):
            yield memory_of(codec, row)


def rows_of_keys(
    connection: Connection,
    codec: StoredCodec,
    tenant: str,
    scope: MemoryScope,
    keys: Sequence[int],
    wanted: MemoryFilter,
    columns: Sequence[ColumnElement[Any]],
) -> list[Row[Any]]:
    """Returns rows of at most AT_ONCE keys; `columns` include metadata_json."""
    query = sa.select(*columns).where(_m.id.in_(keys), within(tenant, scope), *column_conditions(wanted))
    return [row for row in connection.execute(query) if metadata_holds(codec, row, wanted)]
