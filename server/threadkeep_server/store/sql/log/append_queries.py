"""The appends of a group commit, to any sessions.

The names of the sessions are locked. First this finds or creates and locks the sessions, then looks up the event ids, then
decides each request, then writes everything. A request that fails gets its error and writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import sqlalchemy as sa
from sqlalchemy import Connection

from ....domain.errors import AmbiguousSession, SessionNotFound, StateTooLarge, ThreadkeepError
from ....domain.model import NO_USAGE, POSITION_STEP
from ....domain.removals import given_id
from ...contract.events import AppendRequest
from ..encryption.codec import StoredCodec
from ..engine.statements import Record, Statements
from ..schema.tables import INSERTED, events, sessions
from ..state.group import Key, StateGroup, Wanted
from ..state.remembered import RememberedStates
from ..state.statements import StateStatements
from .append_group import Group, Head, Keys, Known, Outcome, state_key, unmet
from .rows import named
from .session_writes import SessionWrites
from .writing.append_statements import AppendStatements
from .writing.operations import Operations


class AppendQueries:
    """Appends a group of requests on a connection. `remembered`: None where a stored function remembers the states."""

    def __init__(
        self, codec: StoredCodec, statements: Statements, writes: SessionWrites, remembered: RememberedStates | None
    ) -> None:
        self._codec = codec
        self._writes = writes
        self._statements = AppendStatements(statements)
        self._state_statements = StateStatements(statements)
        self._remembered = remembered

    def __call__(self, connection: Connection, requests: Sequence[AppendRequest], known: Keys) -> tuple[list[Outcome], Group]:
        """Returns the outcomes, and the group as it was written. A known row may have been deleted, or have another owner."""
        group = Group(known)
        last_id = partial(last_event_id, connection)
        keys = self._resolve(connection, requests, group)
        self._load_known(connection, requests, keys, group)
        self._load_states(connection, requests, keys, group)
        operations = Operations(connection)
        outcomes: list[Outcome] = []
        for request, key in zip(requests, keys, strict=True):
            if isinstance(key, ThreadkeepError):
                outcomes.append(key)
                continue
            outcome = None if request.operation is None else operations.known(key, request.operation, request.now)
            if outcome is None:
                outcome = group.decide(self._codec, request, key, last_id)
                if isinstance(outcome, StateTooLarge) and group.heads[key].created:
                    raise outcome  # rolls back the creation: the requests are then committed one by one
                if request.operation is not None:
                    operations.decided(key, request.operation, request.now, outcome)
            outcomes.append(outcome)
        if group.events:
            heads = [head.row() for head in group.touched.values()]
            usages = [head.usage_row() for head in group.touched.values() if head.usage is not NO_USAGE]
            self._statements.write(connection, group.events, heads, usages, group.changes)
            if group.states is not None:
                group.states.write(connection)
        operations.write()
        return outcomes, group

    # --- sessions

    def _resolve(self, connection: Connection, requests: Sequence[AppendRequest], group: Group) -> list[int | ThreadkeepError]:
        names = [(request.tenant, request.ref) for request in requests]
        states = self._remembered is not None and any(request.state is not None for request in requests)
        self._lock(connection, {group.keys[name] for name in names if name in group.keys}, group, states=states)
        return [self._key(connection, request, group) for request in requests]

    def _key(self, connection: Connection, request: AppendRequest, group: Group) -> int | ThreadkeepError:
        name = (request.tenant, request.ref)
        key = group.keys.get(name)
        if key is not None and key in group.heads and group.heads[key].user_id == request.ref.user_id:
            return key
        found = connection.execute(sa.select(sessions.c.id).where(named(*name)).limit(2)).scalars().all()
        if len(found) > 1:
            return AmbiguousSession(request.ref.session_id)
        if not found and request.create is not None:
            if (mismatch := unmet(request, _NOTHING, partial(last_event_id, connection))) is not None:
                return mismatch
            created = (request.tenant, request.create.ref)
            found = [self._writes.insert(connection, {created: request.create})[created]]
            self._lock(connection, set(found), group)
            group.heads[found[0]].created = True
        if not found:
            return SessionNotFound(request.ref)
        key = int(found[0])
        if key not in group.heads:
            self._lock(connection, {key}, group)
        if key not in group.heads:
            return SessionNotFound(request.ref)
        if not request.ref.is_bare:  # another session may get the same bare id
            group.learned[name] = key
        return key

    def _lock(self, connection: Connection, keys: set[int], group: Group, *, states: bool = False) -> None:
        """Locks sessions and adds them to the group. `states`: with the versions of their states."""
        for row in self._statements.lock(connection, sorted(keys), states=states):
            group.heads[row.id] = _head(row)
            if states:
                group.state_versions[row.id] = row.state_version or 0

    # --- state

    def _load_states(
        self,
        connection: Connection,
        requests: Sequence[AppendRequest],
        keys: Sequence[int | ThreadkeepError],
        group: Group,
    ) -> None:
        """Loads the scopes that the requests change, if there are any."""
        wanted: dict[Key, Wanted] = {}
        for request, key in zip(requests, keys, strict=True):
            if isinstance(key, int) and request.state is not None:
                for scope, patch in request.state.items():
                    owner = state_key(request, scope, key)
                    wanted.setdefault(owner, Wanted(owner, request.tenant, [])).patches.append(patch)
        if not wanted:
            return
        states = group.states = StateGroup(self._codec, self._state_statements)
        unknown = [each for key, each in wanted.items() if not self._is_remembered(key, each, group, states)]
        if unknown:
            states.load(connection, unknown)

    def _is_remembered(self, key: Key, wanted: Wanted, group: Group, states: StateGroup) -> bool:
        """Whether the group has the scope as it was remembered."""
        version = group.state_versions.get(key) if isinstance(key, int) else None
        return self._remembered is not None and version is not None and self._remembered.add_to(states, wanted, version)

    # --- events

    def _load_known(
        self,
        connection: Connection,
        requests: Sequence[AppendRequest],
        keys: Sequence[int | ThreadkeepError],
        group: Group,
    ) -> None:
        wanted = [
            (key, draft.event_id)
            for request, key in zip(requests, keys, strict=True)
            if isinstance(key, int) and group.heads[key].last_seq
            for draft in request.drafts
            if not draft.generated_id
        ]
        for row in self._statements.known(connection, wanted):
            group.known[row.session, row.event_id] = Known(row.seq, self._codec.decrypt(row.body)[: row.size])


# A session that does not exist, as preconditions see it.
_NOTHING = Head(0)


def _head(row: Record) -> Head:
    return Head(
        row.id,
        row.user_id,
        row.window_version,
        row.log_version,
        row.last_seq,
        row.update_time,
        row.window_events,
        row.window_turns,
        row.window_bytes,
        row.window_tokens,
        row.window_content,
    )


def last_event_id(connection: Connection, head: Head) -> str:
    """Returns the id of the last event of the log; empty without one."""
    if not head.last_seq:
        return ""
    # The last event by seq has its own position, unless a compaction inserted it elsewhere.
    appended = events.c.position == head.last_seq * POSITION_STEP
    inserted = sa.and_(sa.text(INSERTED), events.c.seq == head.last_seq)
    for place in (appended, inserted):
        found = connection.execute(sa.select(events.c.event_id).where(events.c.session == head.id, place)).scalar()
        if found is not None:
            return given_id(str(found))  # a rewind may have brought back an earlier version of it
    raise AssertionError("a log without its last event")
