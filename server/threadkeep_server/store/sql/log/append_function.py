"""Appends in one round trip: a stored function that locks, checks and writes a group.

The group is decided with the sessions as they were after the last commit of this server. The function writes nothing if one of
them has changed since, or if an event id is stored already; then the group is appended with its own statements, which read the
sessions. So are groups with a request that would fail: only a current session can refuse it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container, Iterable, Sequence
from typing import Any

from sqlalchemy import Connection

from ....domain.model import NO_USAGE
from ...contract.events import Appended, AppendRequest
from ..encryption.codec import StoredCodec
from ..engine.base import Engine
from .append_group import Group, Head, Keys, Outcome
from .append_statements import CHANGE_NAMES, EVENT_NAMES, HEAD_NAMES, USAGE_NAMES

_SESSIONS_REMEMBERED = 20_000
# The parameters of the function, each an array: the keys of locks; sessions and their event ids that must not be stored; the
# versions of the sessions as they were; their new heads; usage to add; and the rows of events and changes.
_PARAMETERS = 5 + 1 + len(HEAD_NAMES) + 1 + len(USAGE_NAMES) + len(EVENT_NAMES) + len(CHANGE_NAMES)
_CALL = f"SELECT threadkeep_append({', '.join(f'${number}' for number in range(1, _PARAMETERS + 1))})"
# In the same statement, which is a transaction. Evaluated first.
_CALL_SOON = f"{_CALL} FROM set_config('lock_timeout', ${_PARAMETERS + 1}, true)"


class AppendFunction:
    """Remembers sessions as this server left them, and appends to those that it remembers."""

    def __init__(self, engine: Engine, codec: StoredCodec) -> None:
        self._engine = engine
        self._codec = codec
        self._heads: OrderedDict[int, Head] = OrderedDict()

    async def append(self, requests: Sequence[AppendRequest], keys: Keys, wait_ms: int = 0) -> list[Outcome] | None:
        """Returns the outcomes; None if nothing was written and the group must be appended in another way. `wait_ms`: see
        Locks.acquire."""
        group = self._take(requests, keys)
        if group is None:
            return None
        before = {key: (head.window_version, head.log_version) for key, head in group.heads.items()}
        outcomes = self._decide(group, requests)
        if outcomes is None:
            return None
        names = [(request.tenant, request.ref.session_id) for request in requests]
        by_caller = {draft.event_id for request in requests for draft in request.drafts if not draft.generated_id}
        arguments = _arguments(group, by_caller, self._engine.locks.keys(names), before)
        tenants = {request.tenant for request in requests}
        if not await self._engine.write(lambda connection: _call(connection, arguments, wait_ms), alone=True, tenants=tenants):
            return None
        self.remember(group.heads.values())
        return outcomes

    def remember(self, heads: Iterable[Head]) -> None:
        """Takes over sessions as a commit left them."""
        for head in heads:
            head.usage, head.created = NO_USAGE, False
            self._heads[head.id] = head
            self._heads.move_to_end(head.id)
        while len(self._heads) > _SESSIONS_REMEMBERED:
            self._heads.popitem(last=False)

    def _take(self, requests: Sequence[AppendRequest], keys: Keys) -> Group | None:
        """Returns a group of remembered sessions, which are forgotten until its commit; None if one is unknown."""
        wanted = {keys.get((request.tenant, request.ref), 0) for request in requests}
        if not wanted <= self._heads.keys():
            return None
        by_event_id = any(request.expected_last_event_id is not None for request in requests)
        if by_event_id and any(self._heads[key].last_event_id is None for key in wanted):
            return None
        return Group(keys, heads={key: self._heads.pop(key) for key in wanted})

    def _decide(self, group: Group, requests: Sequence[AppendRequest]) -> list[Outcome] | None:
        outcomes: list[Outcome] = []
        for request in requests:
            key = group.keys[request.tenant, request.ref]
            outcome = group.decide(self._codec, request, key, lambda _: "")
            if not isinstance(outcome, Appended):
                return None
            outcomes.append(outcome)
        return outcomes


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
        *_columns(["id", *HEAD_NAMES], heads),
        *_columns(["key", *USAGE_NAMES], usages),
        *_columns(EVENT_NAMES, group.events),
        *_columns(CHANGE_NAMES, group.changes),
    ]


def _columns(names: Sequence[str], rows: Sequence[dict[str, Any]]) -> list[list[Any]]:
    return [[row[name] for row in rows] for name in names]


def _call(connection: Connection, arguments: Sequence[list[Any]], wait_ms: int) -> bool:
    if wait_ms:
        return bool(connection.exec_driver_sql(_CALL_SOON, (*arguments, f"{wait_ms}ms")).scalar())
    return bool(connection.exec_driver_sql(_CALL, tuple(arguments)).scalar())
