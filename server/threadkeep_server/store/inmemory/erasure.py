"""Erasures in memory: each is one step."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import replace

from ...domain.erasure import SESSION, Erased, Erasure, ErasureScope, digest_of, id_line, memory_line
from ...domain.errors import InvalidField
from ...domain.feed import ChangeKind
from ...domain.model import SessionRef
from ...domain.state.state import StateName, StatePatch, StateRecord, StateScope
from ..contract.codec import Codec
from ..contract.compaction import StoredPolicy
from ..contract.erasure import RECEIPTS_KEPT_NS, REQUEST_ID_USED, LastStep, UserName, UserPage, erased_policies
from ..contract.memories import leaves_tombstone
from .consumers import InMemoryConsumers
from .logs import Log
from .memories import InMemoryMemories, Remembered
from .state import InMemoryStates


class InMemoryErasures(InMemoryConsumers, InMemoryMemories, InMemoryStates):
    """ErasureStore and UserStore in memory."""

    def __init__(self, codec: Codec, clock: Callable[[], int] = time.time_ns) -> None:
        super().__init__(codec, clock)
        self._erasures: dict[tuple[str, str], tuple[str, Erased]] = {}

    async def erase(self, wanted: Erasure, seconds: float, last: LastStep | None = None) -> Erased:
        old = wanted.now - RECEIPTS_KEPT_NS
        self._erasures = {key: each for key, each in self._erasures.items() if (each[1].finish_time or wanted.now) >= old}
        known, erased = self._erasures.get((wanted.tenant, wanted.key), ("", None))
        if erased is not None and known != wanted.scope.digest:
            raise InvalidField("request_id", REQUEST_ID_USED)
        if erased is None or (erased.finish_time is not None and not wanted.request_id):
            erased = self._erase(wanted)
            self._erasures[wanted.tenant, wanted.key] = wanted.scope.digest, erased
        if erased.finish_time is None and (last is None or await last(erased.start_time)):
            erased = replace(erased, finish_time=self._clock())
            self._erasures[wanted.tenant, wanted.key] = wanted.scope.digest, erased
        return erased if erased.finish_time is not None else replace(erased, ids_digest="")

    async def list_users(self, tenant: str, app: str | None, limit: int, after: UserName | None = None) -> UserPage:
        of_sessions = (log.session.ref[:2] for log in self._of(tenant))
        of_memories = (each.memory.scope for each in self._memories if each.tenant == tenant)
        of_states = (ref[:2] for owner, ref in self._shared_states if owner == tenant and ref.user_id)
        names = sorted({UserName(*name) for names in (of_sessions, of_memories, of_states) for name in names})
        left = [name for name in names if app in (None, name.app) and (after is None or name > after)]
        return UserPage(left[:limit], left[limit - 1] if len(left) > limit else None)

    def _erase(self, wanted: Erasure) -> Erased:
        tenant, scope = wanted.tenant, wanted.scope
        logs = [log for log in self._of(tenant) if _is_erased(scope, log)]
        refs = {log.session.ref for log in logs}
        lines = [id_line(SESSION, *ref) for ref in refs]
        gone: list[Remembered] = []
        if scope.memories:
            gone = [each for each in self._memories if each.tenant == tenant and _is_purged(scope, each, refs)]
        lines += [memory_line(*each.memory.scope, each.memory.draft.name) for each in gone]
        for log in logs:
            self._drop(tenant, log, self._clock())
        states = self._forget_states(tenant, scope, wanted.now)
        self._unpark({log.number for log in logs} | states)
        self._forget_all(tenant, scope, gone)
        self._forget_policies(tenant, scope, wanted.now)
        return Erased(
            start_time=wanted.now,
            finish_time=None,
            sessions=len(logs),
            events=sum(len(log.entries) for log in logs),
            memories=len(gone),
            embeddings=sum(each.vector is not None for each in gone),
            consumers=self._drop_consumers(tenant, scope.user_id or "") if scope.is_whole_user else 0,
            ids_digest=digest_of(sorted(lines)),
        )

    def _unpark(self, sessions: set[int]) -> None:
        """Removes parked changes that hold data of these sessions, or of state."""
        for group in self._groups.values():
            group.parked = [
                each
                for each in group.parked
                if each.change.session not in sessions
                or (
                    each.change.kind not in (ChangeKind.CREATED, ChangeKind.UPDATED, ChangeKind.MOVED, ChangeKind.REMOVED)
                    and each.change.state is None
                )
            ]

    def _forget_states(self, tenant: str, scope: ErasureScope, now: int) -> set[int]:
        """Deletes the state of the users and apps of the scope, and its changes. Returns their numbers."""
        if scope.labels:
            return set()
        gone = {key for key in self._shared_states if key[0] == tenant and _within(scope, key[1].app, key[1].user_id)}
        held = {key: self._shared_states.pop(key) for key in gone}
        numbers = {each.number for each in held.values()}
        self._feed = [change for change in self._feed if change.session not in numbers]
        for (_, ref), each in held.items():
            scope_of_it = StateScope.USER if ref.user_id else StateScope.APP
            record = StateRecord(scope_of_it, each.totals.version + 1, StatePatch(), deleted=True)
            self._record_shared(tenant, StateName(scope_of_it, ref), each.number, now, record)
        return numbers

    def _forget_all(self, tenant: str, scope: ErasureScope, gone: list[Remembered]) -> None:
        keys = {each.memory.key for each in gone}
        self._memories = [each for each in self._memories if each.memory.key not in keys]
        if scope.labels:
            buried = (each for each in gone if leaves_tombstone(each.memory.draft.event_id))
            self._tombstones |= {(tenant, each.memory.scope, each.memory.draft.name) for each in buried}
        elif scope.memories:
            self._tombstones = {
                each for each in self._tombstones if each[0] != tenant or not _within(scope, each[1].app, each[1].user_id)
            }

    def _forget_policies(self, tenant: str, scope: ErasureScope, now: int) -> None:
        levels = erased_policies(scope)
        for key, policy in self._policies.items():
            named = key.tenant == tenant and key.scope in levels and _within(scope, key.app, key.user_id)
            if named and policy.body is not None:
                self._policies[key] = StoredPolicy(key, None, now)

    def _drop_consumers(self, tenant: str, owner: str) -> int:
        gone = [key for key in self._groups if (key.tenant, key.owner) == (tenant, owner)]
        for key in gone:
            del self._groups[key]
        return len(gone)


def _within(scope: ErasureScope, app: str, user_id: str) -> bool:
    return scope.app in (None, app) and scope.user_id in (None, user_id)


def _is_erased(scope: ErasureScope, log: Log) -> bool:
    ref, labels = log.session.ref, log.session.labels
    return _within(scope, ref.app, ref.user_id) and scope.labels.items() <= labels.items()


def _is_purged(scope: ErasureScope, each: Remembered, erased: Collection[SessionRef]) -> bool:
    """`erased`: the erased sessions."""
    place = each.memory.scope
    if scope.labels:
        return SessionRef(*place, each.memory.draft.session_id) in erased
    return _within(scope, *place)
