"""Carrying out policies: looks at the counters that an append leaves behind, and compacts in the background.

Looking costs the same whatever the length of the log. A session is compacted by one server at a time, under a lease; what fails
is tried again, later each time; what does not help is left alone until the window has grown.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import OrderedDict
from collections.abc import Callable

from ..domain.errors import AmbiguousSession, RecollectError, SessionNotFound
from ..domain.model import SECOND_NS, Counters, SessionRef
from ..store.base import Appended, AppendRequest, Store
from .compactor import Compactor, Job
from .policies import PolicyBook

_log = logging.getLogger(__name__)

Key = tuple[str, SessionRef]

_MOST_WAITING = 10_000
_REMEMBERED = 10_000
_LEASE_S = 300
_FIRST_DELAY_S, _LONGEST_DELAY_S = 1.0, 300.0
# A window that a policy could not make small enough is looked at again once it has grown by this part.
_GROWTH = 0.1


class AutoCompactor:
    """Runs policies. `note` is called after each append; `owner` names this server in leases."""

    def __init__(
        self, store: Store, book: PolicyBook, compactor: Compactor, owner: str, clock: Callable[[], int], workers: int = 4
    ) -> None:
        self._store = store
        self._book = book
        self._compactor = compactor
        self._owner = owner
        self._clock = clock
        self._workers = workers
        self._queue: asyncio.Queue[Key] = asyncio.Queue()
        self._waiting: set[Key] = set()
        self._quiet: OrderedDict[Key, Counters] = OrderedDict()
        self._failures: dict[Key, int] = {}

    def note(self, request: AppendRequest, appended: Appended) -> None:
        """store.base.Listener."""
        tenant, ref = request.tenant, request.ref
        if not self._book.any(tenant):
            return
        key = (tenant, ref)
        if key in self._waiting:
            return
        # A bare id does not say whose session it is; then the worker finds out.
        if not ref.is_bare:
            effective = self._book.effective(tenant, ref)
            if effective is None or not effective.policy.trigger.fires(appended.window):
                return
        quiet = self._quiet.get(key)
        if quiet is not None and not _grown(quiet, appended.window):
            return
        self._put(key)

    def _put(self, key: Key) -> None:
        if len(self._waiting) < _MOST_WAITING:  # whoever is left out is noted again at its next append
            self._waiting.add(key)
            self._queue.put_nowait(key)

    async def run(self) -> None:
        """Works until cancelled."""
        async with asyncio.TaskGroup() as workers:
            for _ in range(self._workers):
                workers.create_task(self._work())

    async def _work(self) -> None:
        while True:
            key = await self._queue.get()
            try:
                await self._compact(key)
            except (SessionNotFound, AmbiguousSession):
                self._forget(key)
            except Exception as exc:  # one session's trouble must not stop the others
                self._retry_later(key, exc)
            else:
                self._failures.pop(key, None)
                self._waiting.discard(key)

    async def _compact(self, key: Key) -> None:
        tenant, ref = key
        session = await self._store.get_session(tenant, ref)
        effective = self._book.effective(tenant, session.ref)
        if effective is None or not effective.policy.trigger.fires(session.window):
            self._settled(key, session.window)
            return
        now = self._clock()
        if not await self._store.lease(tenant, session.ref, self._owner, now, now + _LEASE_S * SECOND_NS):
            return  # another server is at it
        try:
            policy = effective.policy
            job = Job(tenant, session.ref, policy.strategy, trigger=policy.trigger, actor="policy")
            async with asyncio.timeout(_LEASE_S):
                outcome = await self._compactor.run(job)
        finally:
            await self._store.release(tenant, session.ref, self._owner)
        if outcome.compaction is None:
            self._settled(key, session.window)
            return
        done = outcome.compaction
        _log.info(
            "compacted session %s by policy: %d events archived, %d tokens before, %d after",
            session.uid,
            done.archived,
            done.before.tokens,
            done.after.tokens,
        )
        if policy.trigger.fires(done.after):
            self._settled(key, done.after)
        else:
            self._quiet.pop(key, None)

    def _settled(self, key: Key, window: Counters) -> None:
        """Nothing more can be done for this window for now."""
        self._quiet[key] = window
        self._quiet.move_to_end(key)
        if len(self._quiet) > _REMEMBERED:
            self._quiet.popitem(last=False)

    def _retry_later(self, key: Key, exc: Exception) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay = min(_FIRST_DELAY_S * 2 ** (failures - 1), _LONGEST_DELAY_S) * random.uniform(0.5, 1.0)  # noqa: S311 - jitter
        reason = exc.message if isinstance(exc, RecollectError) else type(exc).__name__
        _log.warning("compaction by policy failed (%s), next try in %.1f s", reason, delay)
        asyncio.get_running_loop().call_later(delay, self._queue.put_nowait, key)

    def _forget(self, key: Key) -> None:
        self._failures.pop(key, None)
        self._quiet.pop(key, None)
        self._waiting.discard(key)


def _grown(before: Counters, now: Counters) -> bool:
    """Whether the window is larger by a tenth, or smaller: then somebody else compacted it."""
    return any(
        new < old or new - old > old * _GROWTH for old, new in ((before.events, now.events), (before.tokens, now.tokens))
    )
