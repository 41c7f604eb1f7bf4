"""Changes of owners in memory: each is one step."""

from __future__ import annotations

from ...domain import errors
from ...domain.feed import ChangeKind
from ...domain.removals import Outcome
from ..contract.compaction import PolicyKey, PolicyScope, StoredPolicy
from ..contract.feed import change_snapshot
from ..contract.moves import Moved, MoveRequest, moved
from .logs import Log
from .removals import known_outcome, note_outcome
from .vectors import InMemoryVectors


class InMemoryMoves(InMemoryVectors):
    """MoveStore in memory."""

    async def move_session(self, request: MoveRequest) -> Moved:
        tenant, ref = request.tenant, request.ref
        there = None if ref.is_bare else self._logs.get((tenant, ref._replace(user_id=request.user_id)))
        if there is not None and known_outcome(there, request.operation, request.now) is not None:
            return Moved(there.session, replayed=True)
        log = self._find(tenant, ref)
        if log is None:
            return self._repeated(request)
        if known_outcome(log, request.operation, request.now) is not None:
            return Moved(log.session, replayed=True)
        if log.session.ref.user_id == request.user_id:
            return Moved(log.session)
        after = moved(log.session, request)
        if (tenant, after.ref) in self._logs:
            raise errors.SessionAlreadyExists(after.ref)
        self._move(request, log)
        note_outcome(log, request.operation, request.now, Outcome(versions=after.versions))
        return Moved(after)

    def _repeated(self, request: MoveRequest) -> Moved:
        """Answers a request for a name that no session has any more."""
        left = (change for change in self._feed if change.moved and change.tenant == request.tenant)
        former = {change.session for change in left if change.ref == request.ref}
        for log in self._logs.values():
            if log.number in former and known_outcome(log, request.operation, request.now) is not None:
                return Moved(log.session, replayed=True)
        raise errors.SessionNotFound(request.ref)

    def _move(self, request: MoveRequest, log: Log) -> None:
        tenant, before, after = request.tenant, log.session, moved(log.session, request)
        self._record(tenant, log, ChangeKind.DELETED, request.now, labels=before.labels, after=before, moved=True)
        log.owners.append((self._head, before.ref.user_id))
        del self._logs[tenant, before.ref]
        self._logs[tenant, after.ref] = log
        log.session = after
        self._record(tenant, log, ChangeKind.MOVED, request.now, after=change_snapshot(after))
        log.arrival, log.lease = self._head, ("", 0)
        self._arrivals[tenant, after.ref.user_id] += 1
        old, new = (PolicyKey(tenant, PolicyScope.SESSION, *ref) for ref in (before.ref, after.ref))
        policy = self._policies.get(old)
        if policy is not None and policy.body is not None:
            self._policies[old] = StoredPolicy(old, None, request.now)
            self._policies[new] = StoredPolicy(new, policy.body, request.now)
