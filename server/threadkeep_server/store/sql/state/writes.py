"""Patches of state, and the first state of new sessions, as parts of a group commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlalchemy import Connection

from ....domain.errors import ThreadkeepError, VersionMismatch
from ....domain.model import NOWHERE, NewSession, SessionRef
from ....domain.state.state import StateName, StatePatch, StateScope, record_of, size_of
from ..encryption.codec import StoredCodec
from ..engine.statements import Record, Statements
from ..log.rows import require_prepared, session_of
from .group import Key, StateGroup, Wanted, session_change, shared_name
from .records import sealed
from .statements import StateRows, StateStatements


@dataclass(frozen=True)
class StateUpdate:
    """A patch of the state of a scope. `now`: nanoseconds since 1970."""

    tenant: str
    name: StateName
    patch: StatePatch
    now: int
    expected_version: int | None = None

    @property
    def ref(self) -> SessionRef:
        return self.name.ref

    @cached_property
    def size(self) -> int:
        return self.patch.size


@dataclass(frozen=True, slots=True)
class Patched:
    """The version of the state after a patch."""

    version: int


class StateWrites:
    """Writes state on a connection. The names of the scopes are locked."""

    def __init__(self, codec: StoredCodec, statements: Statements) -> None:
        self._codec = codec
        self._prepared = statements
        self._statements = StateStatements(statements)

    def patch(
        self, connection: Connection, updates: Sequence[StateUpdate]
    ) -> tuple[list[Patched | ThreadkeepError], StateGroup]:
        """Returns an outcome each, and the scopes as they were written; a patch that fails changes nothing."""
        rows = [self._session(connection, update) for update in updates]
        keys: list[Key | ThreadkeepError] = [
            row if isinstance(row, ThreadkeepError) else shared_name(each.tenant, each.name) if row is None else int(row.id)
            for each, row in zip(updates, rows, strict=True)
        ]
        group = StateGroup(self._codec, self._statements)
        wanted = [
            Wanted(key, each.tenant, [each.patch])
            for each, key in zip(updates, keys, strict=True)
            if not isinstance(key, ThreadkeepError)
        ]
        group.load(connection, wanted)
        outcomes: list[Patched | ThreadkeepError] = []
        changes: list[dict[str, Any]] = []
        for update, row, key in zip(updates, rows, keys, strict=True):
            if isinstance(key, ThreadkeepError):
                outcomes.append(key)
            else:
                outcomes.append(self._apply(group, update, key, row, changes))
        group.write(connection)
        self._statements.record(connection, changes)
        self._statements.touch(connection, [{"of_session": each["session"], "now": each["time"]} for each in changes])
        return outcomes, group

    def _session(self, connection: Connection, update: StateUpdate) -> Record | ThreadkeepError | None:
        """Returns the row of the update's session; None if it is of a user or an app."""
        if update.name.scope is not StateScope.SESSION:
            return None
        try:
            return require_prepared(connection, self._prepared, update.tenant, update.ref)
        except ThreadkeepError as error:
            return error

    def _apply(
        self, group: StateGroup, update: StateUpdate, key: Key, row: Record | None, changes: list[dict[str, Any]]
    ) -> Patched | ThreadkeepError:
        version = group.holder(key).totals.version
        if update.expected_version not in (None, version):
            return VersionMismatch(update.ref, expected=str(update.expected_version), actual=str(version))
        planned = group.plan(key, update.patch, "patch")
        if isinstance(planned, ThreadkeepError):
            return planned
        if planned is None:
            return Patched(version)
        scope = update.name.scope
        record = group.apply(planned, scope, 0 if row is None else row.log_version)
        if row is None:
            group.report(planned.holder, update.name, record, update.now)
        else:
            state = sealed(self._codec, update.tenant, record)
            changes.append(session_change(row.id, update.now, session_of(row).versions, state))
        return Patched(record.version)

    def begin(self, connection: Connection, created: Mapping[int, tuple[str, NewSession]]) -> None:
        """Writes the state of new sessions, by their rows, each with its tenant."""
        begun = {key: each for key, each in created.items() if each[1].state}
        if not begun:
            return
        rows = StateRows()
        changes: list[dict[str, Any]] = []
        for owner, (tenant, new) in begun.items():
            size = size_of(new.state.items())
            rows.totals.append({"owner": owner, "version": 1, "keys": len(new.state), "bytes": size, "past": 0})
            for key, value in new.state.items():
                column = self._codec.encrypt(tenant, value.encode())
                rows.fresh.append({"owner": owner, "key": key.encode(), "since": 0, "value": column})
            record = record_of(StateScope.SESSION, 1, StatePatch(new.state))
            changes.append(session_change(owner, new.now, NOWHERE, sealed(self._codec, tenant, record)))
        self._statements.write(connection, rows)
        self._statements.record(connection, changes)
