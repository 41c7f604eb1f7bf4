"""Execution of policies: checks the counters after each append and compacts in the background.

The cost of a check does not depend on the length of the log. One server at a time compacts a session, under a lease. Failures
are retried with growing delays. A window that a policy cannot reduce is skipped until it has grown.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple, Protocol

from cachetools import FIFOCache

from ...compaction.strategies.outside import Consumer, Webhook
from ...domain.backoff import Backoff
from ...domain.errors import AmbiguousSession, SessionNotFound, ThreadkeepError
from ...domain.model import SECOND_NS, Counters, Session, SessionRef
from ...store.contract.compaction import CompactionStore
from ...store.contract.events import Appended, AppendRequest
from ...store.contract.sessions import SessionStore
from .compaction_runner import CompactionRunner, StrategyRun
from .consumer_requests import ConsumerRequests
from .policies import Policy, PolicyBook

_log = logging.getLogger(__name__)

Key = tuple[str, SessionRef]
Later = Callable[[float, Callable[[], None]], asyncio.TimerHandle]
"""Calls a function after a number of seconds."""

_MOST_WAITING = 10_000
_REMEMBERED = 10_000
# A lease is extended during the work; after a crash, another server takes over when it ends.
_LEASE_S, _LEASE_EXTENDED_S = 60.0, 20.0
_BACKOFF = Backoff(1.0, 300.0)
# Delay before the next look at a session that another server compacts.
_LEASED_DELAY_S = 5.0
# The growth after which a window that a policy could not reduce is checked again.
_GROWTH = 0.1
# A bare id may refer to another session later, after a deletion.
_NAME_HOLDS_NS = 60 * SECOND_NS


class _Quiet(NamedTuple):
    """A window that a policy cannot reduce."""

    window: Counters
    policy: Policy


class _Name(NamedTuple):
    """The session of a bare id, and the end of validity in nanoseconds."""

    ref: SessionRef
    until: int


class AutoCompactionStore(SessionStore, CompactionStore, Protocol):
    """The part of the store that automatic compaction uses."""


class AutoCompactor:
    """Runs policies. `note` is called after each append; `owner` names this server in leases; `longest_s` limits the work on
    one session, in seconds."""

    def __init__(
        self,
        store: AutoCompactionStore,
        book: PolicyBook,
        compactor: CompactionRunner,
        owner: str,
        clock: Callable[[], int],
        requests: ConsumerRequests,
        *,
        workers: int,
        longest_s: float,
        later: Later | None = None,
    ) -> None:
        self._store = store
        self._book = book
        self._compactor = compactor
        self._owner = owner
        self._clock = clock
        self._requests = requests
        self._workers = workers
        self._longest_s = longest_s
        self._later = later
        self._queue: asyncio.Queue[Key] = asyncio.Queue()
        self._waiting: set[Key] = set()
        """In the queue or delayed."""
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._working: dict[Key, bool] = {}
        """Sessions being compacted; True: noted again meanwhile."""
        self._quiet: FIFOCache[Key, _Quiet] = FIFOCache(_REMEMBERED)
        self._names: FIFOCache[Key, _Name] = FIFOCache(_REMEMBERED)
        self._failures: dict[Key, int] = {}

    # --- noting

    def note(self, request: AppendRequest, appended: Appended) -> None:
        """Checks a session after an append; a `Listener` of the store."""
        tenant, ref = request.tenant, request.ref
        if not self._book.any(tenant):
            return
        if ref.is_bare:
            name = self._names.get((tenant, ref))
            if name is None or name.until <= self._clock():
                self._put((tenant, ref))  # a worker resolves the session
                return
            ref = name.ref
        effective = self._book.effective(tenant, ref)
        if effective is None or not self._due((tenant, ref), effective.policy, appended.window):
            return
        if isinstance(effective.policy.strategy, Consumer):
            self._requests.note(tenant, ref)  # its members receive the append; nothing is done here
        else:
            self._put((tenant, ref))

    def _due(self, key: Key, policy: Policy, window: Counters) -> bool:
        if not policy.trigger.fires(window):
            return False
        quiet = self._quiet.get(key)
        return quiet is None or quiet.policy is not policy or _grown(quiet.window, window)

    def _put(self, key: Key) -> None:
        if key in self._working:
            self._working[key] = True
        elif key not in self._waiting and len(self._waiting) < _MOST_WAITING:  # otherwise the next append notes it
            self._waiting.add(key)
            self._queue.put_nowait(key)

    # --- working

    async def run(self) -> None:
        """Runs until canceled."""
        try:
            async with asyncio.TaskGroup() as workers:
                for _ in range(self._workers):
                    workers.create_task(self._work())
        finally:
            for timer in self._timers.values():
                timer.cancel()
            self._timers.clear()

    async def _work(self) -> None:
        while True:
            key = await self._queue.get()
            self._waiting.discard(key)
            try:
                session = await self._store.get_session(*key)
                key = self._whole(key, session.ref)
                again = await self._alone(key, session)
            except (SessionNotFound, AmbiguousSession):
                self._forget(key)
            except Exception as exc:  # one session must not block the others
                self._retry_later(key, exc)
            else:
                if again:
                    self._put(key)

    def _whole(self, key: Key, ref: SessionRef) -> Key:
        """Returns the key with the complete ref."""
        if key[1].is_bare:
            self._names[key] = _Name(ref, self._clock() + _NAME_HOLDS_NS)
        return key[0], ref

    async def _alone(self, key: Key, session: Session) -> bool:
        """Compacts unless another worker does. Returns whether to check again."""
        if key in self._working:
            self._working[key] = True
            return False
        self._working[key] = False
        try:
            again = await self._compact(key, session)
        finally:
            noted = self._working.pop(key)
        return again or noted

    async def _compact(self, key: Key, session: Session) -> bool:
        """Compacts if the policy requires it. Returns whether there may be more to do."""
        tenant, ref = key
        effective = self._book.effective(tenant, ref)
        if effective is None or not self._due(key, effective.policy, session.window):
            self._failures.pop(key, None)
            return False
        policy = effective.policy
        if isinstance(policy.strategy, Consumer):
            self._requests.note(tenant, ref)
            return False
        leased = True  # assumed until the store answers
        extending = None
        try:
            leased = await self._lease(key)
            if not leased:
                self._put_off(key, _LEASED_DELAY_S)
                return False
            extending = asyncio.create_task(self._extend(key))
            run = StrategyRun(tenant, ref, policy.strategy, trigger=policy.trigger, actor="policy")
            async with asyncio.timeout(self._longest_s):
                outcome = await self._compactor.run(run)
        finally:
            if extending is not None:
                extending.cancel()
            if leased:
                await self._store.release(tenant, ref, self._owner)
        self._failures.pop(key, None)
        self._quiet.pop(key, None)
        if outcome.prepared is None:
            return False
        if outcome.compaction is None:
            self._quiet[key] = _Quiet(outcome.prepared.session.window, policy)
            return False
        done = outcome.compaction
        _log.info(
            "compacted session %s by policy: %d events archived, %d tokens before, %d after",
            session.uid,
            done.archived,
            done.before.tokens,
            done.after.tokens,
        )
        if isinstance(policy.strategy, Webhook) and not _shrunk(done.before, done.after):
            self._quiet[key] = _Quiet(done.after, policy)  # such plans could follow each other without end
            return False
        # Either much was appended meanwhile, or nothing more can be gained; the next check decides.
        return policy.trigger.fires(done.after)

    async def _lease(self, key: Key) -> bool:
        now = self._clock()
        return await self._store.lease(*key, self._owner, now, now + round(_LEASE_S * SECOND_NS))

    async def _extend(self, key: Key) -> None:
        """Extends the lease until canceled. A lost lease costs duplicate work, not correctness."""
        while True:
            await asyncio.sleep(_LEASE_EXTENDED_S)
            try:
                await self._lease(key)
            except Exception as exc:  # the next attempt may succeed
                _log.debug("a lease could not be extended: %s", type(exc).__name__)

    # --- retrying

    def _retry_later(self, key: Key, exc: Exception) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay = _BACKOFF.delay(failures)
        reason = exc.message if isinstance(exc, ThreadkeepError) else type(exc).__name__
        _log.warning("compaction by policy failed (%s); retrying in %.1f s", reason, delay)
        self._put_off(key, delay)

    def _put_off(self, key: Key, delay: float) -> None:
        if key not in self._waiting:
            self._waiting.add(key)
            later = self._later or asyncio.get_running_loop().call_later
            self._timers[key] = later(delay, lambda: self._wake(key))

    def _wake(self, key: Key) -> None:
        del self._timers[key]
        self._queue.put_nowait(key)

    def _forget(self, key: Key) -> None:
        tenant, ref = key
        self._failures.pop(key, None)
        self._quiet.pop(key, None)
        self._names.pop((tenant, SessionRef("", "", ref.session_id)), None)


def _shrunk(before: Counters, after: Counters) -> bool:
    """Whether the window is smaller in one respect and larger in none, so that repetitions end."""
    pairs = ((before.events, after.events), (before.bytes, after.bytes), (before.tokens, after.tokens))
    return all(new <= old for old, new in pairs) and any(new < old for old, new in pairs)


def _grown(before: Counters, now: Counters) -> bool:
    """Whether the window is larger by a tenth, or smaller, after a compaction by another."""
    pairs = (
        (before.events, now.events),
        (before.turns, now.turns),
        (before.bytes, now.bytes),
        (before.tokens, now.tokens),
    )
    return any(new < old or new - old > old * _GROWTH for old, new in pairs)
