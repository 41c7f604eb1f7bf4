"""Compactions that policies leave to named consumers.

The request is the delivery of the append itself: it is durable, resumable and retried like every delivery, so nothing is stored
for it. This module says which deliveries are requests, and counts those that nobody answers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from ...compaction.strategies.outside import Consumer
from ...compaction.triggers import Trigger
from ...domain.errors import AmbiguousSession, SessionNotFound
from ...domain.feed import Change, ChangeKind
from ...domain.model import SECOND_NS, Counters, SessionRef
from ...store.contract.compaction import CompactionStore
from ...store.contract.consumers import ConsumerKey
from ...store.contract.sessions import SessionStore
from .policies import PolicyBook

_log = logging.getLogger(__name__)

_MOST_WAITING = 10_000
_CHECKED_AT_ONCE = 200
_LOOKS_IN_A_DEADLINE = 10


class RequestStore(SessionStore, CompactionStore, Protocol):
    """The part of the store that this module uses."""


@dataclass(slots=True)
class RequestStats:
    """`waiting`: requests that are not checked yet; `unanswered`: those that nobody answered in time."""

    waiting: int = 0
    unanswered: int = 0


class ConsumerRequests:
    """`deadline`: seconds until a request counts as unanswered. Requests are noted in RAM and at most 10,000 at a time; what is
    lost in a crash is only the count."""

    def __init__(
        self, store: RequestStore, book: PolicyBook, clock: Callable[[], int], deadline: float, stats: RequestStats
    ) -> None:
        self._store = store
        self._book = book
        self._clock = clock
        self._deadline = deadline
        self._stats = stats
        self._since: dict[tuple[str, SessionRef], int] = {}
        """The first unanswered request of each session, in the order of time."""

    def due(self, key: ConsumerKey, change: Change) -> Trigger | None:
        """Returns the trigger of the policy that leaves the session of an append to this consumer, if it fires for the append.
        Other changes are no requests: a consumer that cannot reduce a window would be called again and again."""
        if change.kind is not ChangeKind.APPENDED or not self._book.any(change.tenant):
            return None
        effective = self._book.effective(change.tenant, change.ref)
        if effective is None or not isinstance(effective.policy.strategy, Consumer):
            return None
        window = Counters(change.window_events, change.window_turns, change.window_bytes, change.window_tokens)
        named = effective.policy.strategy.consumer == key.name
        return effective.policy.trigger if named and effective.policy.trigger.fires(window) else None

    # --- requests without an answer

    def note(self, tenant: str, ref: SessionRef) -> None:
        """Notes that an append has made a request."""
        if len(self._since) < _MOST_WAITING:
            self._since.setdefault((tenant, ref), self._clock())
            self._stats.waiting = len(self._since)

    async def run(self) -> None:
        """Looks for unanswered requests until canceled."""
        while True:
            await asyncio.sleep(self._deadline / _LOOKS_IN_A_DEADLINE)
            try:
                await self.look()
            except Exception as exc:  # the database may be unavailable; the requests stay noted
                _log.warning("compactions by consumers could not be checked: %s", type(exc).__name__)

    async def look(self) -> None:
        """Checks requests that are older than the deadline: most at once 200, so that a dead consumer costs little."""
        late = self._clock() - round(self._deadline * SECOND_NS)
        unanswered: dict[str, int] = {}
        for (tenant, ref), since in list(islice(self._since.items(), _CHECKED_AT_ONCE)):
            if since > late:
                break
            name = await self._unanswered(tenant, ref, since)
            del self._since[tenant, ref]  # the next append makes a request again
            self._stats.waiting = len(self._since)
            if name:
                unanswered[name] = unanswered.get(name, 0) + 1
                self._stats.unanswered += 1
        for name, count in unanswered.items():
            _log.warning(
                "the consumer %r has not compacted %d sessions within %g s; they stay usable, and the next append to each "
                "requests it again: check that a member runs, and what it rejects",
                name,
                count,
                self._deadline,
            )

    async def _unanswered(self, tenant: str, ref: SessionRef, since: int) -> str:
        """Returns the consumer that has not compacted the session; empty if one has, or need not."""
        try:
            session = await self._store.get_session(tenant, ref)
            newest = (await self._store.list_compactions(tenant, ref, 1, None)).compactions
        except (SessionNotFound, AmbiguousSession):
            return ""
        effective = self._book.effective(tenant, session.ref)
        if effective is None or not isinstance(effective.policy.strategy, Consumer):
            return ""
        compacted = bool(newest) and newest[0].time >= since
        return "" if compacted or not effective.policy.trigger.fires(session.window) else effective.policy.strategy.consumer
