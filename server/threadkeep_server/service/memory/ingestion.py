"""Automatic ingestion of sessions into long-term memory.

Ingestion is idempotent: after a restart, or with a second server, sessions are at most read again. One server at a time follows
the feed. It stores its position with its name and the end of its lease; changes that are not ingested yet are after that
position.
"""

from __future__ import annotations

import asyncio
import heapq
import json
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ...domain.backoff import Backoff
from ...domain.errors import SessionNotFound, StoreUnavailable, ThreadkeepError
from ...domain.feed import Change, ChangeKind, FeedTrimmed, Position
from ...domain.model import SECOND_NS, Session, SessionRef
from ...store.contract.feed import FeedStore
from ...store.contract.maintenance import MaintenanceStore
from .memories import MemoryService

_log = logging.getLogger(__name__)

NOTE = "ingestion"
MOST_ATTEMPTS = 8
_CHANGES_AT_ONCE = 512
_MOST_PENDING = 100_000
# Time to collect changes before they are read.
_GATHER_S = 0.5
_POLL_S = 5.0
_SAVED_EVERY_NS = 5 * SECOND_NS
_LEASE_NS = 60 * SECOND_NS
_BACKOFF = Backoff(2.0, 300.0)

Key = tuple[str, SessionRef]


@dataclass(slots=True)
class _Pending:
    """A session to be ingested. `before`: the feed position before the change that requires it; `due`: in nanoseconds."""

    before: Position
    due: int
    compacted: bool
    """Required by a compaction, not only by idleness."""
    attempts: int = 0


class _Note(NamedTuple):
    """The position in the feed, the server that follows it, and the end of its lease in nanoseconds."""

    position: Position
    owner: str
    until: int

    def text(self) -> str:
        return json.dumps([*self.position, self.owner, self.until])

    @classmethod
    def read(cls, text: str) -> _Note:
        xid, change, owner, until = json.loads(text)
        return cls(Position(xid, change), owner, until)


class IngestionStore(FeedStore, MaintenanceStore, Protocol):
    """The part of the store that ingestion uses."""


class AutoIngestion:
    """Ingests sessions when they are compacted (`on_compaction`), after `idle_ns` nanoseconds without an append (None: never),
    and before they expire (`before_delete`, an argument of SessionService). `owner` names this server.

    The first two miss changes that were trimmed from the feed before a server read them.
    """

    def __init__(
        self,
        store: IngestionStore,
        memory: MemoryService,
        clock: Callable[[], int],
        owner: str,
        *,
        on_compaction: bool = False,
        idle_ns: int | None = None,
    ) -> None:
        self._store = store
        self._memory = memory
        self._clock = clock
        self._owner = owner
        self._on_compaction = on_compaction
        self._idle_ns = idle_ns
        self._wanted = asyncio.Event()
        self._pending: OrderedDict[Key, _Pending] = OrderedDict()
        """Ordered by `before`."""
        self._due: list[tuple[int, Key]] = []
        """A heap; an entry counts only if `_pending` has the same time."""
        self._position = Position(0, 0)
        self._noted: _Note | None = None
        self._kept: dict[tuple[str, str], int] = {}
        """Failed attempts at expired sessions, by tenant and uid."""

    # --- before they expire

    async def before_delete(self, tenant: str, session: Session) -> bool:
        """Ingests an expired session. Returns whether it may be deleted: on success, or after MOST_ATTEMPTS failures."""
        key = (tenant, session.uid)
        try:
            await self._memory.ingest(tenant, session.ref)
        except SessionNotFound:
            pass
        except StoreUnavailable:
            return False
        except Exception as exc:
            attempts = self._kept[key] = self._kept.get(key, 0) + 1
            if attempts < MOST_ATTEMPTS:
                _log.warning(
                    "ingestion of expired session %s failed (%s); retrying before its deletion", session.uid, _reason(exc)
                )
                return False
            _log.warning("ingestion of expired session %s failed %d times; deleting it", session.uid, attempts)
        self._kept.pop(key, None)
        return True

    # --- following the feed

    async def run(self) -> None:
        """Follows the feed until canceled; returns at once if neither policy is enabled."""
        if not self._on_compaction and self._idle_ns is None:
            return
        self._store.on_change(self._wanted.set)
        failures = 0
        while True:
            try:
                if await self._take():
                    await self._follow()
                await asyncio.sleep(_POLL_S)
                failures = 0
            except Exception as exc:  # the database may be unavailable
                failures += 1
                delay = _BACKOFF.delay(failures)
                _log.warning("ingestion failed (%s); retrying in %.1f s", _reason(exc), delay)
                await asyncio.sleep(delay)

    async def _take(self) -> bool:
        """Takes over at the stored position, unless the lease of another server is valid. Returns whether it did."""
        text = await self._store.note(NOTE)
        noted = None if text is None else _Note.read(text)
        now = self._clock()
        if noted is not None and noted.owner != self._owner and noted.until > now:
            return False
        position = await self._store.feed_floor() if noted is None else noted.position
        mine = _Note(position, self._owner, now + _LEASE_NS)
        if not await self._store.put_note(NOTE, mine.text(), text):
            return False
        self._noted, self._position = mine, position
        self._pending.clear()
        self._due.clear()
        return True

    async def _follow(self) -> None:
        """Runs until another server takes over."""
        while True:
            self._wanted.clear()
            more = await self._read() if len(self._pending) < _MOST_PENDING else False
            await self._ingest_due()
            if not await self._save():
                return
            if not more:
                await self._wait()

    async def _read(self) -> bool:
        """Reads changes of the feed. Returns whether there are more."""
        try:
            page = await self._store.changes(self._position, _CHANGES_AT_ONCE)
        except FeedTrimmed as trimmed:
            _log.warning("the feed was trimmed past the position of ingestion; continuing at its start, sessions may be missed")
            self._position = trimmed.floor
            return True
        for change in page.changes:
            self._record(change)
            self._position = change.position
        self._position = max(self._position, page.reached)
        return page.more

    def _record(self, change: Change) -> None:
        """Records the session of a change. `_position` is still before the change."""
        key = (change.tenant, change.ref)
        known = self._pending.get(key)
        if change.kind is ChangeKind.DELETED:
            self._pending.pop(key, None)
        elif change.kind is ChangeKind.COMPACTED and self._on_compaction:
            if known is None or not known.compacted:
                self._put(key, _Pending(self._position, change.time, compacted=True))
        elif change.kind is ChangeKind.APPENDED and self._idle_ns is not None and (known is None or not known.compacted):
            self._put(key, _Pending(self._position, change.time + self._idle_ns, compacted=False))

    def _put(self, key: Key, pending: _Pending) -> None:
        self._pending[key] = pending
        self._pending.move_to_end(key)
        heapq.heappush(self._due, (pending.due, key))

    async def _ingest_due(self) -> None:
        now = self._clock()
        while self._due and self._due[0][0] <= now:
            due, key = heapq.heappop(self._due)
            pending = self._pending.get(key)
            if pending is None or pending.due != due:
                continue
            try:
                done = await self._memory.ingest(*key)
            except SessionNotFound:
                done = None
            except StoreUnavailable:
                raise  # continues later from the stored position
            except Exception as exc:  # one session must not block the others
                self._put_off(key, pending, exc)
                continue
            del self._pending[key]
            if done is not None and done.added:
                _log.debug("ingested %d events of a session", done.added)
            if not await self._save():
                return

    def _put_off(self, key: Key, pending: _Pending, exc: Exception) -> None:
        pending.attempts += 1
        if pending.attempts >= MOST_ATTEMPTS:
            _log.warning("ingestion of a session failed %d times (%s); giving up", pending.attempts, _reason(exc))
            del self._pending[key]
            return
        delay = _BACKOFF.delay(pending.attempts)
        _log.warning("ingestion of a session failed (%s); retrying in %.1f s", _reason(exc), delay)
        pending.due = self._clock() + round(delay * SECOND_NS)
        heapq.heappush(self._due, (pending.due, key))

    async def _save(self) -> bool:
        """Stores the position up to which everything is ingested, every 5 s. Returns False if another server has taken over."""
        noted, now = self._noted, self._clock()
        if noted is None:
            return False
        place = next(iter(self._pending.values())).before if self._pending else self._position
        due = now >= noted.until - _LEASE_NS + _SAVED_EVERY_NS
        if not due or (place == noted.position and now < noted.until - _LEASE_NS // 2):
            return True
        mine = _Note(place, self._owner, now + _LEASE_NS)
        if not await self._store.put_note(NOTE, mine.text(), noted.text()):
            self._noted = None
            return False
        self._noted = mine
        return True

    async def _wait(self) -> None:
        """Waits for a change or for the next due session."""
        due = (self._due[0][0] - self._clock()) / SECOND_NS if self._due else _POLL_S
        try:
            async with asyncio.timeout(min(max(due, 0.0), _POLL_S)):
                await self._wanted.wait()
        except TimeoutError:
            return
        await asyncio.sleep(_GATHER_S)


def _reason(exc: Exception) -> str:
    return exc.message if isinstance(exc, ThreadkeepError) else type(exc).__name__
