"""The changes of a session's window, found by reads as of its log versions: what left it and what came, in order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from .. import AsyncClient
from ..errors import HistoryUnknown, SessionNotFound
from ..filters import event_filter
from ..v1 import session_pb2
from ..v1.compaction_pb2 import Compaction

_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Moment:
    """A session at a log version."""

    log_version: int
    window_version: int
    last_seq: int


@dataclass(frozen=True, slots=True)
class Changed:
    """A log version that changed the window, which added the events after `before` up to `after`. `record`: of a compaction.
    `as_of` None: the history is unknown, and this is all of it."""

    as_of: int | None
    before: int
    after: int
    record: Compaction | None = None


@dataclass(frozen=True, slots=True)
class Delta:
    """What a change did: the seqs that left the window, and those that came, each with the seq that follows it; 0: the end.
    Those up to `at.before` were in it earlier."""

    at: Changed
    gone: tuple[int, ...]
    came: tuple[tuple[int, int], ...]

    @property
    def restored(self) -> list[int]:
        return [seq for seq, _ in self.came if seq <= self.at.before]

    def applied(self, window: Sequence[int]) -> list[int]:
        """Returns the window after the change."""
        inserted: dict[int, list[int]] = {}
        for seq, following in self.came:
            inserted.setdefault(following, []).append(seq)
        gone, after = set(self.gone), list[int]()
        for seq in window:
            after += inserted.get(seq, ())
            if seq not in gone:
                after.append(seq)
        return after + inserted.get(0, [])


class WindowHistory:
    """Finds the versions of a session that changed its window. The session is as it was when it was read."""

    def __init__(self, client: AsyncClient, session: session_pb2.Session) -> None:
        self._client = client
        self._ref = session.ref
        self._end = Moment(session.log_version, session.window_version, session.last_seq)
        self._records: dict[int, Compaction] = {}

    async def deltas(self) -> list[Delta]:
        """Returns the changes in order; a single one if earlier versions are unknown."""
        found: list[Delta] = []
        window: list[int] = []
        seen = 0
        try:
            for at in await self._changes():
                window += range(seen + 1, at.before + 1)
                active = [seq for seq in await self._active(at.as_of) if seq <= at.after]
                found.append(_delta(at, window, active))
                window, seen = active, at.after
        except SessionNotFound:  # deleted while it is read
            return []
        return found

    async def before(self, at: Changed) -> list[int]:
        """The window directly before a change, as seqs in window order."""
        assert at.as_of is not None  # noqa: S101 - nothing reads the past of an unknown history
        return await self._active(at.as_of - 1)

    async def newest(self, at: Changed, count: int) -> list[int]:
        """The last events in window order directly after a change, archived or not, as seqs; the last one first."""
        size = min(count, _PAGE)
        events = self._client.events(self._ref, order="desc", page_size=size, as_of_log_version=at.as_of)
        found: list[int] = []
        async for event in events:
            found.append(event.seq)
            if len(found) == count:
                break
        return found

    async def _changes(self) -> list[Changed]:
        if not self._end.window_version:
            return []
        try:
            async for record in self._client.compactions(self._ref):
                if record.log_version <= self._end.log_version:
                    self._records[record.log_version] = record
            return [each async for each in self._between(Moment(0, 0, 0), self._end)]
        except HistoryUnknown:
            return [Changed(None, self._end.last_seq, self._end.last_seq)]

    async def _active(self, as_of: int | None) -> list[int]:
        events = self._client.events(self._ref, event_filter(view="active"), page_size=_PAGE, as_of_log_version=as_of)
        return [event.seq async for event in events]

    async def _between(self, low: Moment, high: Moment) -> AsyncIterator[Changed]:
        """The changes after `low` up to `high`."""
        if low.window_version == high.window_version:
            return
        if high.log_version == low.log_version + 1:
            record = self._records.get(high.log_version)
            yield Changed(high.log_version, low.last_seq, high.last_seq, record)
            return
        middle = await moment_of(self._client, self._ref, (low.log_version + high.log_version) // 2)
        async for each in self._between(low, middle):
            yield each
        async for each in self._between(middle, high):
            yield each


async def moment_of(client: AsyncClient, ref: session_pb2.SessionRef, log_version: int) -> Moment:
    """Returns a session as it was at a log version."""
    read = await client.get_context(ref, last_n=1, exclude_system=True, as_of_log_version=log_version)
    return Moment(log_version, read.window_version, read.session_last_seq)


async def last_moment(client: AsyncClient, ref: session_pb2.SessionRef, window_version: int, last_seq: int) -> Moment:
    """Returns the last moment at which a session had at most this window version and this last seq."""
    found, end = Moment(0, 0, 0), (await client.get_session(ref)).log_version
    while found.log_version < end:
        middle = await moment_of(client, ref, (found.log_version + end + 1) // 2)
        if middle.window_version <= window_version and middle.last_seq <= last_seq:
            found = middle
        else:
            end = middle.log_version - 1
    return found


def _delta(at: Changed, window: Sequence[int], active: Sequence[int]) -> Delta:
    known, staying = set(window), set(active)
    came: list[tuple[int, int]] = []
    following = 0
    for seq in reversed(active):
        if seq in known:
            following = seq
        else:
            came.append((seq, following))
    return Delta(at, tuple(seq for seq in window if seq not in staying), tuple(reversed(came)))
