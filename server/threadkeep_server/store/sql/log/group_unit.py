"""The unit of work of a group commit: many writes, to any sessions, in one transaction.

It locks the names of all sessions, and of the state of users and apps (see Locks.acquire), then deletes, creates and updates
sessions, then appends, then patches state. The requests of a group were waiting at the same time, so their callers cannot
expect another order. A request that fails gets its error and writes nothing.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from ....domain.errors import ThreadkeepError
from ....domain.model import Session
from ....domain.state.state import StateScope, state_name
from ...contract.events import Appended, AppendRequest
from ..encryption.codec import StoredCodec
from ..engine.base import Capability, Engine, SessionName
from ..engine.statements import Statements
from ..state.group import StateGroup, lock_name
from ..state.remembered import RememberedStates
from ..state.writes import Patched, StateUpdate, StateWrites
from .append_group import Head, Keys, Name
from .append_queries import AppendQueries
from .session_deletions import Deleted, SessionDeletion, SessionDeletions
from .session_writes import Created, SessionCreation, SessionUpdate, SessionWrites

Request = AppendRequest | SessionCreation | SessionUpdate | SessionDeletion | StateUpdate
Outcome = Appended | Created | Session | Deleted | Patched | ThreadkeepError
_KEYS_REMEMBERED = 100_000


def names_of(request: Request) -> Sequence[SessionName]:
    """Returns the names that the request locks."""
    if isinstance(request, StateUpdate):
        return (lock_name(request.tenant, request.name),)
    name = (request.tenant, request.ref.session_id)
    if not isinstance(request, AppendRequest) or request.state is None:
        return (name,)
    shared = (state_name(scope, request.ref) for scope in request.state if scope is not StateScope.SESSION)
    return (name, *(lock_name(request.tenant, each) for each in shared))


@dataclass(frozen=True, slots=True)
class Decided:
    """The outcomes of a group, in the order of its requests, and the session row of each ref. Remember the rows only after the
    commit: the id of a row that is rolled back is assigned again."""

    outcomes: list[Outcome]
    learned: Keys
    heads: Collection[Head] = ()
    """The sessions that were appended to."""
    states: Sequence[StateGroup] = ()
    """The states that appends and patches changed, in this order."""


class GroupUnit:
    """Runs a group on a connection. Remembers the session row of each ref: the id of a committed row is never reused, and a
    remembered row that was deleted or has another owner is looked up again."""

    def __init__(self, engine: Engine, codec: StoredCodec, statements: Statements) -> None:
        self._engine = engine
        self._deletions = SessionDeletions(engine, statements)
        self._sessions = SessionWrites(codec, statements)
        self._states = StateWrites(codec, statements)
        # Where a stored function appends, it remembers the states.
        self._remembered = None if Capability.FUNCTIONS in engine.capabilities else RememberedStates()
        self._append = AppendQueries(codec, statements, self._sessions, self._remembered)
        self.keys: dict[Name, int] = {}

    def __call__(self, connection: Connection, requests: Sequence[Request], wait_ms: int = 0) -> Decided:
        """`wait_ms`: see Locks.acquire."""
        names = [name for request in requests for name in names_of(request)]
        self._engine.locks.acquire(connection, names, wait_ms=wait_ms)
        outcomes: dict[int, Outcome] = {}
        learned: dict[Name, int] = {}
        heads: Collection[Head] = ()
        states: list[StateGroup] = []
        deletions = {i: request for i, request in enumerate(requests) if isinstance(request, SessionDeletion)}
        if deletions:
            outcomes |= zip(deletions, self._deletions.delete(connection, list(deletions.values())), strict=True)
        creations = {i: request for i, request in enumerate(requests) if isinstance(request, SessionCreation)}
        if creations:
            created, learned = self._sessions.create(connection, list(creations.values()))
            outcomes |= zip(creations, created, strict=True)
        for i, request in enumerate(requests):
            if isinstance(request, SessionUpdate):
                outcomes[i] = self._update(connection, request)
        appends = {i: request for i, request in enumerate(requests) if isinstance(request, AppendRequest)}
        if appends:
            keys: Keys = ChainMap(learned, self.keys) if learned else self.keys
            appended, group = self._append(connection, list(appends.values()), keys)
            outcomes |= zip(appends, appended, strict=True)
            learned |= group.learned
            heads = group.heads.values()
            states += [] if group.states is None else [group.states]
        patches = {i: request for i, request in enumerate(requests) if isinstance(request, StateUpdate)}
        if patches:
            patched, changed = self._states.patch(connection, list(patches.values()))
            outcomes |= zip(patches, patched, strict=True)
            states.append(changed)
        return Decided([outcomes[i] for i in range(len(requests))], learned, heads, states)

    def _update(self, connection: Connection, request: SessionUpdate) -> Session | ThreadkeepError:
        try:
            return self._sessions.update(connection, request)
        except ThreadkeepError as error:
            return error

    def remember(self, decided: Decided) -> None:
        """Takes over the rows and the states of a committed group."""
        if len(self.keys) + len(decided.learned) > _KEYS_REMEMBERED:
            self.keys.clear()
        self.keys |= decided.learned
        if self._remembered is not None:
            for group in decided.states:
                self._remembered.remember(group.holders)
