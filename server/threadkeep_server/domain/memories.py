"""The types of long-term memory. Times are integer nanoseconds since the Unix epoch, UTC."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from hashlib import blake2b
from typing import NamedTuple

from .memory.metadata_conditions import MetadataCondition, metadata_matches, parsed
from .memory.namespaces import ROOT, Namespace, is_within, stored_name

_ETAG_BYTES = 12
_LATEST = (1 << 63) - 1


class MemoryScope(NamedTuple):
    """The memories of one user in one app. An empty app is the app with the empty name, not all apps."""

    app: str
    user_id: str


@dataclass(slots=True)
class MemoryDraft:
    """A memory entry to add. `content` is the caller's ChatMessage in protobuf encoding, verbatim; `text` is its text for
    substring search and embedding, never blank. `ttl` in nanoseconds, positive; None: it does not expire. Never changed.

    `id` is never empty. For an event it derives from the session's uid and the event's id, so that a repeated ingestion is
    detected.
    """

    id: str
    content: bytes
    text: str
    author: str = ""
    event_time: int | None = None
    session_id: str = ""
    event_id: str = ""
    metadata_json: str = ""
    namespace: Namespace = ROOT
    ttl: int | None = None

    @property
    def name(self) -> str:
        """The name that is unique within the scope."""
        return stored_name(self.namespace, self.id)


@dataclass(slots=True)
class Memory:
    """A stored entry. `key` is the store's number, greater is later; a replacement gives another one. Never changed."""

    key: int
    scope: MemoryScope
    draft: MemoryDraft
    record_time: int
    update_time: int
    expire_time: int | None = None

    @property
    def time(self) -> int:
        """The event time, otherwise the time of addition."""
        return self.record_time if self.draft.event_time is None else self.draft.event_time

    @property
    def etag(self) -> str:
        """Represents the content. With the time, because numbers are used again after a backup was restored."""
        return blake2b(f"{self.key},{self.update_time}".encode(), digest_size=_ETAG_BYTES).hexdigest()

    def is_expired(self, now: int) -> bool:
        return self.expire_time is not None and self.expire_time <= now


def expiry_of(ttl: int | None, now: int) -> int | None:
    """Returns when an entry expires that is written or refreshed now."""
    return None if ttl is None else min(now + ttl, _LATEST)


class MemoryOutcome(Enum):
    """The result for a draft."""

    ADDED = auto()
    EXISTS = auto()
    """It exists with the same content; for an event, with any content."""
    DELETED = auto()
    """It was deleted before and stays deleted."""


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """See threadkeep.v1.MemoryFilter; empty conditions always match. `live_at`: only entries that have not expired by then;
    None: all. `admits` specifies the result of every store."""

    session_ids: frozenset[str] = frozenset()
    authors: frozenset[str] = frozenset()
    from_time: int | None = None
    to_time: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    namespace: Namespace = ROOT
    conditions: Sequence[MetadataCondition] = ()
    live_at: int | None = None

    @property
    def reads_metadata(self) -> bool:
        return bool(self.metadata or self.conditions)

    def admits_metadata(self, metadata_json: str) -> bool:
        if self.metadata and not self.metadata.items() <= top_values(metadata_json).items():
            return False
        return not self.conditions or metadata_matches(parsed(metadata_json), self.conditions)


ALL_MEMORIES = MemoryFilter()


def admits(memory: Memory, wanted: MemoryFilter) -> bool:
    """Whether the memory satisfies every condition."""
    draft = memory.draft
    return (
        (not wanted.session_ids or draft.session_id in wanted.session_ids)
        and (not wanted.authors or draft.author in wanted.authors)
        and (wanted.from_time is None or memory.time >= wanted.from_time)
        and (wanted.to_time is None or memory.time <= wanted.to_time)
        and is_within(draft.namespace, wanted.namespace)
        and (wanted.live_at is None or not memory.is_expired(wanted.live_at))
        and wanted.admits_metadata(draft.metadata_json)
    )


def top_values(metadata_json: str) -> Mapping[str, str]:
    """Returns the values that filters compare: the top-level strings of a JSON object, and its numbers and booleans as they are
    spelled. Nulls, arrays and objects have no value; nor has JSON that is not an object.

    >>> top_values('{"a": "x", "b": 1.50, "c": true, "d": null, "e": [1]}')
    {'a': 'x', 'b': '1.50', 'c': 'true'}
    """
    try:
        values = json.loads(metadata_json or "{}", parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(values, dict):
        return {}
    texts = {key: str(value).lower() if isinstance(value, bool) else value for key, value in values.items()}
    return {key: value for key, value in texts.items() if isinstance(value, str)}


@dataclass(frozen=True, slots=True)
class Forget:
    """The memories of a scope to delete: those with these names (MemoryDraft.name), a session's, those of a namespace and
    below, or (none of these) all."""

    names: Sequence[str] | None = None
    session_id: str | None = None
    namespace: Namespace = ROOT


class Forgotten(NamedTuple):
    """The counts of a deletion."""

    deleted: int
    embeddings: int
    not_found: int
