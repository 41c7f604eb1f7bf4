"""State: values by key of a session, of a user in an app, or of an app; and what a patch makes of it, in every store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from ..errors import StateTooLarge
from ..model import SessionRef

MAX_STATE_BYTES = 4 << 20
MAX_STATE_KEYS = 10_000
MAX_VALUE_BYTES = 1 << 20
MAX_PATCHED_KEYS = 1000
"""Keys of one patch, and of one request that reads chosen keys."""
MOST_SHOWN_BYTES = 16 << 10
"""Largest patch that a change contains, in bytes of keys and values: readers of the feed hold 512 changes at once."""


class StateScope(IntEnum):
    """Whose state it is; the numbers are those of threadkeep.v1.StateScope."""

    SESSION = 1
    USER = 2
    APP = 3


class StateName(NamedTuple):
    """Identifies the state of a scope within a tenant. Of the ref, a user's state has no session_id, an app's no user_id
    either."""

    scope: StateScope
    ref: SessionRef


@dataclass(slots=True)  # not frozen: see EventDraft
class StatePatch:
    """Values to set, as JSON text, and keys to remove. Each key occurs once."""

    set: Mapping[str, str] = field(default_factory=dict)
    remove: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of the keys and values."""
        return size_of(self.set.items()) + sum(len(key.encode()) for key in self.remove)

    def __bool__(self) -> bool:
        return bool(self.set or self.remove)


StateDelta = Mapping[StateScope, StatePatch]
"""What an append changes."""


@dataclass(slots=True)
class StateRecord:
    """A change of state, as the feed reports it. `omitted`: it was larger than MOST_SHOWN_BYTES. `deleted`: all of it, with its
    user or app."""

    scope: StateScope
    version: int
    patch: StatePatch
    omitted: bool = False
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class StateQuery:
    """Selects values in the order of the UTF-8 bytes of their keys: of these keys (empty: any), with this prefix, after a
    key. Only a session's values are known as of a log version."""

    keys: tuple[str, ...] = ()
    prefix: str = ""
    after: str = ""
    limit: int = MAX_PATCHED_KEYS
    max_bytes: int = 1 << 62
    as_of: int | None = None
    """The log version whose values to return; None: the present ones."""

    def selects(self, key: str) -> bool:
        """The executable specification of the selection, without the limits."""
        wanted = not self.keys or key in self.keys
        return wanted and key.startswith(self.prefix) and key.encode() > self.after.encode()


@dataclass(frozen=True, slots=True)
class StatePage:
    """Values and the version of their scope. `more`: values that the query selects remain."""

    values: Mapping[str, str] = field(default_factory=dict)
    version: int = 0
    more: bool = False


@dataclass(slots=True)
class Totals:
    """The totals of a scope: its version, its keys, and the bytes of its keys and values."""

    version: int = 0
    keys: int = 0
    bytes: int = 0


def size_of(values: Iterable[tuple[str, str]]) -> int:
    """Returns the bytes of keys and values."""
    return sum(len(key.encode()) + len(value.encode()) for key, value in values)


def effective(patch: StatePatch, present: Mapping[str, str]) -> StatePatch:
    """Returns the part of the patch that changes something. `present`: the values that its keys have."""
    return StatePatch(
        {key: value for key, value in patch.set.items() if present.get(key) != value},
        tuple(key for key in patch.remove if key in present),
    )


def advanced(totals: Totals, change: StatePatch, present: Mapping[str, str], field: str) -> Totals:
    """Returns the totals after an effective patch. Raises StateTooLarge with the request's field, unless the patch makes the
    scope smaller."""
    keys, size = totals.keys, totals.bytes
    for key, value in change.set.items():
        if (old := present.get(key)) is None:
            keys += 1
            size += len(key.encode())
        else:
            size -= len(old.encode())
        size += len(value.encode())
    for key in change.remove:
        keys -= 1
        size -= len(key.encode()) + len(present[key].encode())
    if size > max(MAX_STATE_BYTES, totals.bytes):
        raise StateTooLarge(field, size, MAX_STATE_BYTES, "bytes")
    if keys > max(MAX_STATE_KEYS, totals.keys):
        raise StateTooLarge(field, keys, MAX_STATE_KEYS, "keys")
    return Totals(totals.version + 1, keys, size)


def record_of(scope: StateScope, version: int, change: StatePatch) -> StateRecord:
    """Returns the change as the feed reports it."""
    if change.size > MOST_SHOWN_BYTES:
        return StateRecord(scope, version, StatePatch(), omitted=True)
    return StateRecord(scope, version, change)


def delta_field(scope: StateScope) -> str:
    """Returns the field of an append's request that changes the scope."""
    return f"state_delta.{scope.name.lower()}"


def state_name(scope: StateScope, ref: SessionRef) -> StateName:
    """Returns the name of a session's own state, or of that of its user or its app."""
    if scope is StateScope.SESSION:
        return StateName(scope, ref)
    return StateName(scope, SessionRef(ref.app, ref.user_id if scope is StateScope.USER else "", ""))
