"""Readers of a session that others append to and compact. Their reads are compared with the final log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle, pairwise
from typing import Any

from tests.support.conversations import answered, calls_of, orphans
from tests.support.marks import Mark, is_summary, shown
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.filter_pb2 import LOG_VIEW_ACTIVE
from threadkeep.v1.message_pb2 import ROLE_USER

from .window_invariants import mark_of
from .wire import Wire

SPECS: Sequence[dict[str, Any]] = ({"last_n": 5}, {"max_turns": 2}, {"max_tokens": 300}, {"max_bytes": 900, "last_n": 9})


@dataclass(frozen=True)
class Sight:
    """The content of a read: everything after `first_seq`, at least up to `last_seq`, which is read before the events."""

    what: str
    marks: Counter[Mark]
    last_seq: int
    first_seq: int = 0


@dataclass
class Watch:
    """The reads of all readers."""

    sights: list[Sight] = field(default_factory=list)
    followed: list[str] = field(default_factory=list)
    histories: list[tuple[int, str]] = field(default_factory=list)
    """The number of events that a complete read found, and the last one."""

    async def windows(self, wire: Wire, session: str) -> None:
        """Reads complete windows in both ways."""
        while True:
            read = await wire.context(session)
            assert not read.truncated
            assert read.context.events == len(read.events)
            self._saw("context", read.events, read.session_last_seq)
            page = await wire.page(session, view=LOG_VIEW_ACTIVE)
            assert not page.next_page_token
            self._saw("active view", page.events, page.last_seq)

    async def contexts(self, wire: Wire, session: str) -> None:
        """Reads the newest part of the window with several limits."""
        for spec in cycle(SPECS):
            read = await wire.context(session, **spec)
            talk = [event for event in read.events if not is_summary(event)]
            if not talk:
                continue
            assert read.events[-len(talk) :] == talk, "summaries come first"
            assert talk[0].message.role == ROLE_USER, "a context starts with a turn"
            assert read.first_seq == talk[0].seq
            self._saw(str(spec), talk, read.session_last_seq, read.first_seq - 1)

    async def follow(self, wire: Wire, session: str) -> None:
        """Reads from the last seq that it saw."""
        last = 0
        while True:
            page = await wire.page(session, after_seq=last)
            assert not page.next_page_token
            self.followed += [event.event_id for event in sorted(page.events, key=lambda event: event.seq)]
            last = max((event.seq for event in page.events), default=last)

    async def history(self, wire: Wire, session: str) -> None:
        """Reads everything in pages, between which others write."""
        while True:
            said = [event for event in await wire.log(session) if not event.synthetic]
            assert all(one.seq < other.seq for one, other in pairwise(said))
            if said:
                self.histories.append((len(said), said[-1].event_id))

    def _saw(self, what: str, events: Sequence[SessionEvent], last_seq: int, first_seq: int = 0) -> None:
        assert not orphans(events), f"{what}: a result without its call"
        assert len(answered(events)) == sum(len(calls_of(event)) for event in events), f"{what}: a call without its result"
        self.sights.append(Sight(what, shown(events), last_seq, first_seq))

    def check(self, log: Sequence[SessionEvent]) -> None:
        """Checks that every read has all events up to some instant exactly once."""
        by_seq = sorted(log, key=lambda event: event.seq)
        said = {mark_of(event): event.seq for event in by_seq if not event.synthetic}
        for sight in self.sights:
            last = max([sight.last_seq, *(said[mark] for mark in sight.marks)])
            expected = Counter(mark for mark, seq in said.items() if sight.first_seq < seq <= last)
            assert sight.marks == expected, f"{sight.what} at {sight.last_seq}"
        assert self.followed == [event.event_id for event in by_seq[: len(self.followed)]], "nothing appears later before it"
        in_order = [event.event_id for event in log if not event.synthetic]
        for found, newest in self.histories:
            assert in_order[found - 1] == newest, "a read of everything leaves nothing out"
