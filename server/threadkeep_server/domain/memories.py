"""The nouns of long-term memory. Times are integer nanoseconds since the Unix epoch, UTC."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple


class MemoryScope(NamedTuple):
    """Whose memories: one user's, in one app. An empty app is an app of that name, never all of them."""

    app: str
    user_id: str


@dataclass(slots=True)
class MemoryDraft:
    """Something to remember. `content` is the caller's ChatMessage in protobuf encoding, verbatim; `text` what of it is
    searched by substring and embedded, never blank. Never changed.

    `id` is never empty here. Of an event it follows from the session's uid and the event's id, so that ingesting twice is told.
    """

    id: str
    content: bytes
    text: str
    author: str = ""
    event_time: int | None = None
    session_id: str = ""
    event_id: str = ""
    metadata_json: str = ""


@dataclass(slots=True)
class Memory:
    """An entry as it is stored. `key` is the store's number, greater is later. Never changed."""

    key: int
    scope: MemoryScope
    draft: MemoryDraft
    record_time: int

    @property
    def time(self) -> int:
        """When it happened, or else when it was added."""
        return self.record_time if self.draft.event_time is None else self.draft.event_time


class MemoryOutcome(Enum):
    """What became of a draft."""

    ADDED = auto()
    EXISTS = auto()
    """With the same content; or, of an event, with any."""
    DELETED = auto()
    """It was deleted before, and stays so."""


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """See threadkeep.v1.MemoryFilter; empty conditions hold. Held by `admits`, which every store's answer equals."""

    session_ids: frozenset[str] = frozenset()
    authors: frozenset[str] = frozenset()
    from_time: int | None = None
    to_time: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


ALL_MEMORIES = MemoryFilter()


def admits(memory: Memory, wanted: MemoryFilter) -> bool:
    """Whether the memory satisfies every condition."""
    draft = memory.draft
    return (
        (not wanted.session_ids or draft.session_id in wanted.session_ids)
        and (not wanted.authors or draft.author in wanted.authors)
        and (wanted.from_time is None or memory.time >= wanted.from_time)
        and (wanted.to_time is None or memory.time <= wanted.to_time)
        and (not wanted.metadata or wanted.metadata.items() <= top_values(draft.metadata_json).items())
    )


def top_values(metadata_json: str) -> Mapping[str, str]:
    """What filters compare: the top-level strings of a JSON object as they are, its numbers and booleans as they are spelled.
    Nulls, arrays and objects have no such value; nor has what is not a JSON object.

    >>> top_values('{"a": "x", "b": 1.50, "c": true, "d": null, "e": [1]}')
    {'a': 'x', 'b': '1.50', 'c': 'true'}
    """
    try:
        values = json.loads(metadata_json or "{}", parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(values, dict):
        return {}
    told = {key: str(value).lower() if isinstance(value, bool) else value for key, value in values.items()}
    return {key: value for key, value in told.items() if isinstance(value, str)}


@dataclass(frozen=True, slots=True)
class Forget:
    """Which of a scope's memories to delete: those with these ids, those of a session, or (neither) all."""

    ids: Sequence[str] | None = None
    session_id: str | None = None


class Forgotten(NamedTuple):
    """A receipt."""

    deleted: int
    embeddings: int
    not_found: int
