"""Appends in one round trip: a stored function that locks, checks and writes a group.

The group is decided with the sessions as they were after the last commit of this server. The function writes nothing if one of
them has changed since or has another owner, or if an event id is stored already; then the group is appended with its own
statements, which read the sessions. So are groups with a request that would fail: only a current session can refuse it.

The states of sessions that a group changes are remembered in the same way. One that is not known well enough is read by a
statement before the call. A second function, for groups that change state, compares the versions of the states too.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Container, Iterable, Sequence
from typing import Any

from sqlalchemy import Connection

from .....domain.model import NO_USAGE
from .....domain.state.state import StateScope
from ....contract.events import Appended, AppendRequest
from ...encryption.codec import StoredCodec
from ...engine.base import Engine
from ...engine.statements import Statements
from ...state.group import StateGroup, Wanted
from ...state.remembered import RememberedStates
from ...state.statements import MOST_KEYS, PAST, TOTALS, VALUE, StateStatements
from ..append_group import Group, Head, Keys, Outcome
from .append_statements import CHANGE_NAMES, EVENT_NAMES, HEAD_NAMES, USAGE_NAMES

_SESSIONS_REMEMBERED = 20_000
# The parameters of the function, each an array: the keys of locks; sessions and their event ids that must not be stored; the
# versions and owners of the sessions as they were; their new heads; usage to add; and the rows of events and changes.
_PARAMETERS = 6 + 1 + len(HEAD_NAMES) + 1 + len(USAGE_NAMES) + len(EVENT_NAMES) + len(CHANGE_NAMES)
# Those that follow if the group changes state: the column `state` of the changes; the versions of the states as they were; and
# the rows of totals, values, removed values and earlier values.
_GONE = ("owner", "key")
_STATE_PARAMETERS = 1 + 2 + len(TOTALS) + len(VALUE) + len(_GONE) + len(PAST)


class AppendFunction:
    """Remembers sessions as this server left them, and appends to those that it remembers."""

    def __init__(self, engine: Engine, codec: StoredCodec, statements: Statements) -> None:
        self._engine = engine
        self._codec = codec
        self._statements = StateStatements(statements)
        self._states = RememberedStates()
        self._heads: OrderedDict[int, Head] = OrderedDict()

    async def append(self, requests: Sequence[AppendRequest], keys: Keys, wait_ms: int = 0) -> list[Outcome] | None:
        """Returns the outcomes; None if nothing was written and the group must be appended in another way. `wait_ms`: see
        Locks.acquire."""
        group = self._take(requests, keys)
        if group is None:
            return None
        tenants = {request.tenant for request in requests}
        if not await self._load_states(requests, group, tenants):
            return None
        before = {key: (head.window_version, head.log_version) for key, head in group.heads.items()}
        outcomes = self._decide(group, requests)
        if outcomes is None:
            return None
        names = [(request.tenant, request.ref.session_id) for request in requests]
        by_caller = {draft.event_id for request in requests for draft in request.drafts if not draft.generated_id}
        arguments = _arguments(group, by_caller, self._engine.locks.keys(names), before)
        if not await self._engine.write(lambda connection: _call(connection, arguments, wait_ms), alone=True, tenants=tenants):
            return None
        self.remember(group.heads.values(), () if group.states is None else (group.states,))
        return outcomes

    def remember(self, heads: Iterable[Head], states: Iterable[StateGroup]) -> None:
        """Takes over sessions and their states as a commit left them."""
        for head in heads:
            head.usage, head.created = NO_USAGE, False
            self._heads[head.id] = head
            self._heads.move_to_end(head.id)
        while len(self._heads) > _SESSIONS_REMEMBERED:
            self._heads.popitem(last=False)
        for group in states:
            self._states.remember(group.holders)

    def _take(self, requests: Sequence[AppendRequest], keys: Keys) -> Group | None:
        """Returns a group of remembered sessions, which are forgotten until its commit; None if one is unknown."""
        wanted = set()
        for request in requests:
            key = keys.get((request.tenant, request.ref), 0)
            head = self._heads.get(key)
            if head is None or head.user_id != request.ref.user_id:
                return None
            wanted.add(key)
        by_event_id = any(request.expected_last_event_id is not None for request in requests)
        if by_event_id and any(self._heads[key].last_event_id is None for key in wanted):
            return None
        return Group(keys, heads={key: self._heads.pop(key) for key in wanted})

    async def _load_states(self, requests: Sequence[AppendRequest], group: Group, tenants: Collection[str]) -> bool:
        """Loads the states that the requests change, if there are any. Returns False if these are too many values to read."""
        wanted: dict[int, Wanted] = {}
        for request in requests:
            if request.state is not None:
                key = group.keys[request.tenant, request.ref]
                wanted.setdefault(key, Wanted(key, request.tenant, [])).patches.extend(request.state.values())
        if not wanted:
            return True
        states = group.states = StateGroup(self._codec, self._statements)
        unknown = [each for each in wanted.values() if not self._states.add_to(states, each)]
        if sum(len(each.keys) for each in unknown) > MOST_KEYS:
            return False
        if unknown:
            # As a write: reads may have taken all connections that are theirs.
            await self._engine.write(lambda connection: states.load(connection, unknown), alone=True, tenants=tenants)
        return True

    def _decide(self, group: Group, requests: Sequence[AppendRequest]) -> list[Outcome] | None:
        outcomes: list[Outcome] = []
        for request in requests:
            key = group.keys[request.tenant, request.ref]
            outcome = group.decide(self._codec, request, key, lambda _: "")
            if not isinstance(outcome, Appended):
                return None
            outcomes.append(outcome)
        return outcomes


def changes_shared(request: AppendRequest) -> bool:
    """Whether the request changes the state of a user or an app, which the function does not write."""
    return request.state is not None and any(scope is not StateScope.SESSION for scope in request.state)


def _arguments(
    group: Group, by_caller: Container[str], locks: Sequence[int], before: dict[int, tuple[int, int]]
) -> list[list[Any]]:
    """Returns the arrays of the function's parameters. `by_caller`: event ids that the server did not generate."""
    chosen = [(event["session"], event["event_id"]) for event in group.events if event["event_id"] in by_caller]
    heads = [group.heads[key].row() for key in before]
    usages = [head.usage_row() for head in group.heads.values() if head.usage is not NO_USAGE]
    return [
        list(locks),
        *([pair[place] for pair in chosen] for place in range(2)),
        *([versions[place] for versions in before.values()] for place in range(2)),
        [group.heads[key].user_id for key in before],
        *_columns(["id", *HEAD_NAMES], heads),
        *_columns(["key", *USAGE_NAMES], usages),
        *_columns(EVENT_NAMES, group.events),
        *_columns(CHANGE_NAMES, group.changes),
        *([] if group.states is None else _state_arguments(group.changes, group.states)),
    ]


def _state_arguments(changes: Sequence[dict[str, Any]], states: StateGroup) -> list[list[Any]]:
    rows = states.rows()
    # The function copies what is stored.
    past = [{**row, "value": None if row["same"] else row["value"]} for row in rows.past]
    return [
        [change.get("state") for change in changes],
        [holder.owner for holder in states.holders],
        [holder.found for holder in states.holders],
        *_columns(TOTALS, rows.totals),
        *_columns(VALUE, rows.fresh),
        *_columns(_GONE, rows.gone),
        *_columns(PAST, past),
    ]


def _columns(names: Sequence[str], rows: Sequence[dict[str, Any]]) -> list[list[Any]]:
    return [[row[name] for row in rows] for name in names]


def _statement(name: str, parameters: int) -> str:
    return f"SELECT {name}({', '.join(f'${number}' for number in range(1, parameters + 1))})"


_CALLS = {
    _PARAMETERS: _statement("threadkeep_append", _PARAMETERS),
    _PARAMETERS + _STATE_PARAMETERS: _statement("threadkeep_append_with_state", _PARAMETERS + _STATE_PARAMETERS),
}


def _call(connection: Connection, arguments: Sequence[list[Any]], wait_ms: int) -> bool:
    call, values = _CALLS[len(arguments)], tuple(arguments)
    if wait_ms:
        # In the same statement, which is a transaction. Evaluated first.
        call = f"{call} FROM set_config('lock_timeout', ${len(values) + 1}, true)"
        return bool(connection.exec_driver_sql(call, (*values, f"{wait_ms}ms")).scalar())
    return bool(connection.exec_driver_sql(call, values).scalar())
