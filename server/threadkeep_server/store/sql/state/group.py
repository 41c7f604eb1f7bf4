"""The scopes that a group commit changes, while it is decided. Their names are locked.

First this loads the totals and the values that the group may replace, then it plans and applies each change, then it writes
everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from ....domain.errors import StateTooLarge
from ....domain.model import NOWHERE, SessionRef, Versions
from ....domain.state.state import (
    StateName,
    StatePatch,
    StateRecord,
    StateScope,
    Totals,
    advanced,
    effective,
    record_of,
)
from ..encryption.codec import StoredCodec
from ..engine.base import SessionName
from ..log.change_details import state_columns
from ..schema.tables import STATE
from .records import sealed
from .statements import SharedName, StateStatements

Key = int | SharedName
"""Identifies a scope: the row id of a session, or the name of the state of a user or an app."""


def lock_name(tenant: str, name: StateName) -> SessionName:
    """Returns the name that a change of the state locks: for users and apps, one that no session has."""
    ref = name.ref
    return (tenant, ref.session_id) if name.scope is StateScope.SESSION else (tenant, f"\x1f{ref.app}\x1f{ref.user_id}")


def shared_name(tenant: str, name: StateName) -> SharedName:
    """Returns the name of the state of a user or an app."""
    return tenant, name.ref.app, name.ref.user_id


@dataclass(slots=True)
class Wanted:
    """A scope, and the patches that may be applied to it."""

    key: Key
    tenant: str
    patches: Sequence[StatePatch]


@dataclass(slots=True)
class _Stored:
    since: int
    column: bytes
    value: str


@dataclass(slots=True)
class Holder:
    """A scope while the group is decided. `owner`: 0 if it has no row yet. `values`: those that the group may replace."""

    key: Key
    tenant: str
    owner: int
    totals: Totals = field(default_factory=Totals)
    past: int = 0
    values: dict[str, _Stored] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Planned:
    """An effective change of a scope that is not applied yet."""

    holder: Holder
    change: StatePatch
    totals: Totals


class StateGroup:
    """See the module. `codec` encrypts: the tenants are `ready`."""

    def __init__(self, codec: StoredCodec, statements: StateStatements, connection: Connection) -> None:
        self._codec = codec
        self._statements = statements
        self._connection = connection
        self._holders: dict[Key, Holder] = {}
        self._past: list[dict[str, Any]] = []
        self._changes: list[tuple[Holder, StateName, StateRecord, int]] = []

    def load(self, wanted: Iterable[Wanted]) -> None:
        """Loads these scopes."""
        wanted = list(wanted)
        names = list({each.key for each in wanted if isinstance(each.key, tuple)})
        shared = self._statements.shared(self._connection, names)
        keys: dict[int, set[str]] = {}
        for each in wanted:
            owner = each.key if isinstance(each.key, int) else shared.get(each.key, 0)
            self._holders.setdefault(each.key, Holder(each.key, each.tenant, owner))
            if owner:
                touched = keys.setdefault(owner, set())
                for patch in each.patches:
                    touched.update(patch.set, patch.remove)
        self._load_rows(keys)

    def _load_rows(self, keys: dict[int, set[str]]) -> None:
        by_owner = {holder.owner: holder for holder in self._holders.values() if holder.owner}
        for row in self._statements.totals(self._connection, list(keys)):
            holder = by_owner[row.owner]
            holder.totals, holder.past = Totals(row.version, row.keys, row.bytes), row.past
        pairs = [(owner, key.encode()) for owner, of in keys.items() if by_owner[owner].totals.keys for key in of]
        for row in self._statements.values(self._connection, pairs):
            value = self._codec.decrypt(row.value).decode()
            by_owner[row.owner].values[row.key.decode()] = _Stored(row.since, row.value, value)

    def holder(self, key: Key) -> Holder:
        return self._holders[key]

    def plan(self, key: Key, patch: StatePatch, field: str) -> Planned | StateTooLarge | None:
        """Returns what the patch changes, or why it must not; None if it changes nothing."""
        holder = self._holders[key]
        present = {each: holder.values[each].value for each in (*patch.set, *patch.remove) if each in holder.values}
        change = effective(patch, present)
        if not change:
            return None
        try:
            return Planned(holder, change, advanced(holder.totals, change, present, field))
        except StateTooLarge as error:
            return error

    def apply(self, planned: Planned, scope: StateScope, log_version: int) -> StateRecord:
        """Applies a change, and returns its record. `log_version`: that of the session; 0 for users and apps."""
        holder, change = planned.holder, planned.change
        for key in (*change.set, *change.remove):
            old = holder.values.pop(key, None)
            if old is not None and old.since < log_version:
                row = {"owner": holder.owner, "key": key.encode(), "since": old.since, "until": log_version}
                self._past.append(row | {"value": old.column})
                holder.past += 1
            if (value := change.set.get(key)) is not None:
                column = self._codec.encrypt(holder.tenant, value.encode())
                holder.values[key] = _Stored(log_version, column, value)
            holder.touched.add(key)
        holder.totals = planned.totals
        return record_of(scope, planned.totals.version, change)

    def report(self, holder: Holder, name: StateName, record: StateRecord, now: int) -> None:
        """Has `write` record the change of the state of a user or an app in the feed."""
        self._changes.append((holder, name, record, now))

    def write(self) -> None:
        """Writes what was applied."""
        changed = [holder for holder in self._holders.values() if holder.touched]
        totals, fresh, gone = [], [], []
        for holder in changed:
            if not holder.owner and isinstance(holder.key, tuple):
                holder.owner = self._statements.add_shared(self._connection, holder.key)
            totals.append(_totals_row(holder))
            for key in holder.touched:
                stored = holder.values.get(key)
                if stored is None:
                    gone.append({"of_owner": holder.owner, "of_key": key.encode()})
                else:
                    value = {"since": stored.since, "value": stored.column}
                    fresh.append({"owner": holder.owner, "key": key.encode()} | value)
        self._statements.write(self._connection, totals, fresh, gone, self._past)
        self._statements.record(self._connection, [self._change(*each) for each in self._changes])

    def _change(self, holder: Holder, name: StateName, record: StateRecord, now: int) -> dict[str, Any]:
        return shared_change(holder.owner, holder.tenant, name, now, sealed(self._codec, holder.tenant, record))


def shared_change(owner: int, tenant: str, name: StateName, now: int, state: bytes) -> dict[str, Any]:
    """Returns the columns of a change of the state of a user or an app."""
    row = {"kind": STATE, "session": owner, "time": now, "first": 0, "last": 0, "state": state, "tenant": tenant}
    return row | state_columns(NOWHERE) | name.ref._asdict()


def session_change(session: int, now: int, versions: Versions, state: bytes) -> dict[str, Any]:
    """Returns the columns of a change of a session's state. `session`: the id of its row."""
    row = {"kind": STATE, "session": session, "time": now, "first": 0, "last": 0, "state": state}
    return row | state_columns(versions) | dict.fromkeys(("tenant", *SessionRef._fields))


def _totals_row(holder: Holder) -> dict[str, int]:
    totals = holder.totals
    return {
        "owner": holder.owner,
        "version": totals.version,
        "keys": totals.keys,
        "bytes": totals.bytes,
        "past": holder.past,
    }
