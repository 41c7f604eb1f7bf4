"""The scopes that a group commit changes, while it is decided.

First this loads the totals and the values that the group may replace, then it plans and applies each change, then it writes
everything. The names of the scopes are locked, or a stored function that writes the rows compares the versions under the locks.
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
from ..encryption.vault import is_encrypted
from ..engine.base import SessionName
from ..log.change_details import state_columns
from ..schema.tables import STATE
from .records import sealed
from .statements import SharedName, StateRows, StateStatements

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
    patches: list[StatePatch]

    @property
    def keys(self) -> set[str]:
        return {key for patch in self.patches for key in (*patch.set, *patch.remove)}


@dataclass(slots=True)
class Value:
    """A value, and its column. `loaded`: it is stored."""

    since: int
    column: bytes
    text: str
    loaded: bool = True


@dataclass(slots=True)
class Holder:
    """A scope while the group is decided. `owner`: 0 if it has no row yet. `found`: the version that was loaded. `values`: of
    those keys of `known` that have one."""

    key: Key
    tenant: str
    owner: int
    found: int = 0
    totals: Totals = field(default_factory=Totals)
    past: int = 0
    known: set[str] = field(default_factory=set)
    values: dict[str, Value] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Planned:
    """An effective change of a scope that is not applied yet."""

    holder: Holder
    change: StatePatch
    totals: Totals


class StateGroup:
    """See the module. `codec` encrypts: the tenants are `ready`."""

    def __init__(self, codec: StoredCodec, statements: StateStatements) -> None:
        self._codec = codec
        self._statements = statements
        self._holders: dict[Key, Holder] = {}
        self._past: list[dict[str, Any]] = []
        self._changes: list[tuple[Holder, StateName, StateRecord, int]] = []

    @property
    def holders(self) -> Iterable[Holder]:
        return self._holders.values()

    def load(self, connection: Connection, wanted: Sequence[Wanted]) -> None:
        """Loads these scopes. Those of sessions, of not too many keys, are one statement."""
        names = list({each.key for each in wanted if isinstance(each.key, tuple)})
        shared = self._statements.shared(connection, names)
        loading: dict[int, Holder] = {}
        for each in wanted:
            owner = each.key if isinstance(each.key, int) else shared.get(each.key, 0)
            holder = self._holders.setdefault(each.key, Holder(each.key, each.tenant, owner))
            holder.known |= each.keys
            if owner:
                loading[owner] = holder
        # No value has the empty key: it is for the totals of a scope without keys.
        pairs = [(owner, key.encode()) for owner, holder in loading.items() for key in holder.known or ("",)]
        for row in self._statements.present(connection, pairs):
            holder = loading[row.owner]
            holder.found, holder.past = row.version, row.past
            holder.totals = Totals(row.version, row.keys, row.bytes)
            if row.key is not None:
                self.put(holder, row.key.decode(), row.since, row.value)

    def add(self, holder: Holder) -> None:
        """Adds a scope that is loaded."""
        self._holders[holder.key] = holder

    def put(self, holder: Holder, key: str, since: int, column: bytes) -> None:
        """Adds a stored value to a scope."""
        holder.values[key] = Value(since, column, self._codec.decrypt(column).decode())

    def holder(self, key: Key) -> Holder:
        return self._holders[key]

    def plan(self, key: Key, patch: StatePatch, field: str) -> Planned | StateTooLarge | None:
        """Returns what the patch changes, or why it must not; None if it changes nothing."""
        holder = self._holders[key]
        present = {each: holder.values[each].text for each in (*patch.set, *patch.remove) if each in holder.values}
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
                self._past.append(self._past_row(holder, key, old, log_version))
                holder.past += 1
            if (text := change.set.get(key)) is not None:
                column = self._codec.encrypt(holder.tenant, text.encode())
                holder.values[key] = Value(log_version, column, text, loaded=False)
            holder.touched.add(key)
        holder.totals = planned.totals
        return record_of(scope, planned.totals.version, change)

    def _past_row(self, holder: Holder, key: str, old: Value, until: int) -> dict[str, Any]:
        """Returns the row of an earlier value. `same`: its column is that of the stored value."""
        row = {"owner": holder.owner, "key": key.encode(), "since": old.since, "until": until}
        if not is_encrypted(old.column) and self._codec.encrypts(holder.tenant):
            # It was stored before. The encrypter does not come to new rows.
            return row | {"value": self._codec.encrypt(holder.tenant, old.column), "same": False}
        return row | {"value": old.column, "same": old.loaded}

    def report(self, holder: Holder, name: StateName, record: StateRecord, now: int) -> None:
        """Has `write` record the change of the state of a user or an app in the feed."""
        self._changes.append((holder, name, record, now))

    def rows(self) -> StateRows:
        """Returns what was applied. Each scope has an owner."""
        rows = StateRows(past=self._past)
        for holder in self._holders.values():
            if holder.touched:
                rows.totals.append(_totals_row(holder))
            for key in holder.touched:
                stored = holder.values.get(key)
                if stored is None:
                    rows.gone.append({"owner": holder.owner, "key": key.encode()})
                else:
                    value = {"since": stored.since, "value": stored.column}
                    rows.fresh.append({"owner": holder.owner, "key": key.encode()} | value)
        return rows

    def write(self, connection: Connection) -> None:
        """Writes what was applied."""
        for holder in self._holders.values():
            if holder.touched and not holder.owner and isinstance(holder.key, tuple):
                holder.owner = self._statements.add_shared(connection, holder.key)
        self._statements.write(connection, self.rows())
        self._statements.record(connection, [self._change(*each) for each in self._changes])

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
