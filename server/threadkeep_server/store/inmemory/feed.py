"""The feed of the logs: a list of changes, scanned from end to end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...domain import errors
from ...domain.feed import Change, ChangePage, FeedEvent, FeedScope, FeedState, FeedTrimmed, Incarnations, Position
from ...domain.model import SessionRef
from .logs import Entry, InMemoryLogs, Log


class InMemoryFeed(InMemoryLogs):
    """FeedStore in memory. Every change is visible at once."""

    async def changes(
        self, after: Position, limit: int, scope: FeedScope | None = None, upto: Position | None = None
    ) -> ChangePage:
        if after < self._floor:
            raise FeedTrimmed(self._floor)
        end = self._head if upto is None else min(upto, self._head)
        alone = None if scope is None else scope.ref
        found = [
            change
            for change in self._as_read(alone)
            if after < change.position <= end and (scope is None or scope.admits(change))
        ]
        page = found[:limit]
        reached = page[-1].position if len(page) < len(found) else max(after, end)
        return ChangePage(page, reached, more=reached < self._head)

    async def change_events(self, changes: Sequence[Change], *, with_text: bool) -> Sequence[Sequence[FeedEvent]]:
        logs = {log.number: log for log in self._logs.values()}
        return [
            [
                _feed_event(entry, with_text)
                for entry in sorted(logs[change.session].entries, key=lambda entry: entry.seq)
                if change.first <= entry.seq <= change.last
            ]
            if change.session in logs
            else []
            for change in changes
        ]

    async def feed_head(self) -> Position:
        return self._head

    async def feed_floor(self) -> Position:
        return self._floor

    async def locate(self, tenant: str, ref: SessionRef, after_seq: int) -> Position:
        log = self._find(tenant, ref)
        if log is None and ref.is_bare:
            raise errors.SessionNotFound(ref)
        if log is None:
            return self._head
        last_seq = log.session.last_seq
        if after_seq > last_seq:
            raise errors.InvalidField("after_seq", f"is beyond the session's last seq, {last_seq}")
        kept = [change for change in self._feed if change.session == log.number]
        adding = [change for change in kept if change.first]
        oldest_seq = adding[0].first - 1 if adding else last_seq
        if after_seq < oldest_seq:
            raise FeedTrimmed(self._floor, oldest_seq)
        for change in adding if after_seq else ():
            if change.first <= after_seq <= change.last:
                return change.position if after_seq == change.last else _just_before(change)
        return _just_before(kept[0]) if kept else self._head

    async def trim_feed(self, before: int, limit: int) -> int:
        trimmed = 0
        while trimmed < limit and self._feed and self._feed[0].time < before:
            self._floor = self._feed.pop(0).position
            trimmed += 1
        return trimmed

    @property
    def feed_stalled_s(self) -> float:
        return 0.0

    async def feed_state(self) -> FeedState:
        return FeedState(self._floor, self._head, unsettled=0, oldest_time=self._feed[0].time if self._feed else None)

    def incarnations(self) -> Incarnations:
        return Incarnations()

    def on_incarnation(self, listener: Callable[[], None]) -> None:
        """There is one only."""

    def on_change(self, listener: Callable[[], None]) -> None:
        self._commits.subscribe(listener)

    def _as_read(self, alone: SessionRef | None) -> list[Change]:
        """Returns every change with the present labels of its session. `alone`: the session of a reader of no other one, who
        reads all of it by its present name."""
        logs = {log.number: log for log in self._logs.values()}
        return [
            change if change.moved or change.session not in logs else _present(change, logs[change.session], alone)
            for change in self._feed
        ]


def _present(change: Change, log: Log, alone: SessionRef | None) -> Change:
    labels, ref = log.session.labels, log.session.ref
    if change.position >= log.arrival:
        return replace(change, labels=labels)
    if ref == alone:
        after = None if change.after is None else replace(change.after, ref=ref)
        return replace(change, labels=labels, ref=ref, after=after)
    owner = next(owner for left, owner in log.owners if left > change.position)
    return replace(change, labels=labels, ref=ref._replace(user_id=owner), former=True)


def _just_before(change: Change) -> Position:
    return Position(0, change.position.change - 1)


def _feed_event(entry: Entry, with_text: bool) -> FeedEvent:
    return FeedEvent(
        seq=entry.seq,
        time=entry.time,
        role=entry.role,
        author=entry.author,
        author_role=entry.author_role,
        branch=entry.branch,
        synthetic=entry.synthetic,
        archived=entry.archived,
        text=entry.text if with_text else "",
        invocation_id=entry.invocation_id if with_text else "",
        native_format=entry.native_format if with_text else "",
        metadata_json=entry.metadata_json if with_text else "",
        body=entry.sealed,
    )
