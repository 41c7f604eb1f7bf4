"""Compaction in fault tests: clients with their own plans, whose summaries list the events they replace, and strategies."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count, cycle
from typing import TypeVar

import grpc
import grpc.aio

from tests.support.marks import shown, summary, turn
from threadkeep.v1 import compaction_pb2 as pb
from threadkeep.v1 import compaction_service_pb2 as cs
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.event_service_pb2 import GetContextResponse
from threadkeep.v1.message_pb2 import ROLE_USER

from .ledger import Batch, Ledger
from .wire import Wire, named

T = TypeVar("T")

_UNCERTAIN = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
_names = count(1)


class TurnLedger(Ledger):
    """Appends complete turns whose events have sequential numbers; writers are named w0, w1, ..."""

    def new_batch(self, session: str, writer: str) -> Batch:
        batches = self.requested.setdefault(session, [])
        number = sum(len(batch) for batch in batches if batch[0].event_id.startswith(f"{writer}:"))
        batches.append(turn(int(writer[1:]), number))
        return batches[-1]


@dataclass
class Score:
    """The results of compactions: unanswered requests by session, and acknowledged records by session and id."""

    outcomes: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    unanswered: dict[str, cs.ApplyCompactionRequest] = field(default_factory=dict)
    records: defaultdict[str, dict[str, pb.Compaction]] = field(default_factory=lambda: defaultdict(dict))

    def won(self, session: str, record: pb.Compaction) -> None:
        self.outcomes["won"] += 1
        self.records[session][record.compaction_id] = record

    async def answered(self, call: Callable[[], Awaitable[T]]) -> T:
        """Retries until there is a response."""
        while True:
            try:
                return await call()
            except grpc.aio.AioRpcError as error:
                if error.code() not in _UNCERTAIN:
                    raise
                self.problems[error.code().name] += 1
                await asyncio.sleep(0.05)


def place_to_cut(events: Sequence[SessionEvent], keep: int) -> int | None:
    """Returns the start of a turn followed by at most `keep` events, else the newest start; None if no conversation precedes
    it."""
    starts = [place for place, event in enumerate(events) if event.message.role == ROLE_USER and not event.synthetic]
    if len(starts) < 2:
        return None
    return next((place for place in starts[1:] if len(events) - place <= keep), starts[-1])


async def apply_each(wire: Wire, session: str, score: Score, keep: int = 8, *, alone: bool = True) -> None:
    """Summarizes by ApplyCompaction, by ids or by seq; first repeats an unanswered request. `alone`: no other client compacts,
    so no race is lost."""
    while True:
        request = score.unanswered.get(session)
        if request is None:
            request = application(session, await score.answered(partial(wire.context, session)), keep)
        if request is None:
            await asyncio.sleep(0.005)
            continue
        if alone:
            score.unanswered[session] = request
        answer = await _applied(wire, request, score)
        score.unanswered.pop(session, None)
        assert answer is not None or not alone
        if answer is None:
            score.outcomes["lost"] += 1
        else:
            score.outcomes["replayed"] += answer.replayed
            score.won(session, answer.compaction)


async def _applied(wire: Wire, request: cs.ApplyCompactionRequest, score: Score) -> cs.ApplyCompactionResponse | None:
    """Returns None if another compaction was faster, reported as the request specifies."""
    try:
        answer = await score.answered(lambda: wire.compaction.ApplyCompaction(request, timeout=wire.seconds))
    except grpc.aio.AioRpcError as error:
        if error.code() is grpc.StatusCode.ABORTED and not request.report_mismatch:
            return None
        raise
    assert answer.applied or request.report_mismatch
    return answer if answer.applied else None


def application(session: str, read: GetContextResponse, keep: int) -> cs.ApplyCompactionRequest | None:
    """Archives by id or everything read, at random; events appended during the read are left for the next request."""
    name = f"apply-{next(_names)}"
    seen = [event for event in read.events if event.seq <= read.session_last_seq]
    place = place_to_cut(seen, keep)
    if place is None:
        return None
    request = cs.ApplyCompactionRequest(
        session=named(session),
        compaction_id=name,
        expected_window_version=read.window_version,
        actor="tests",
        report_mismatch=random.random() < 0.5,
    )
    insert = request.inserts.add()
    if random.random() < 0.5:
        request.event_ids.ids.extend(event.event_id for event in seen[:place])
        insert.before_event_id = seen[place].event_id
        insert.events.extend(summary(shown(seen[:place]), name))
    else:
        request.through_seq = read.session_last_seq
        insert.events.extend(summary(shown(seen), name))
    return request


async def replace_each(wire: Wire, session: str, score: Score, keep: int = 8) -> None:
    while True:
        await replace_once(wire, session, score, keep)
        await asyncio.sleep(0)


async def replace_once(wire: Wire, session: str, score: Score, keep: int = 8) -> None:
    """Replaces the window by a summary and the newest turns."""
    read = await score.answered(lambda: wire.context(session))
    place = place_to_cut(read.events, keep)
    if place is None:
        return
    events = [*summary(shown(read.events[:place]), f"replace-{next(_names)}"), *read.events[place:]]
    request = cs.ReplaceEventsRequest(session=named(session), events=events, expected_log_version=read.log_version)
    answer = await score.answered(lambda: wire.compaction.ReplaceEvents(request, timeout=wire.seconds))
    if answer.replaced:
        score.won(session, answer.compaction)
    else:
        score.outcomes["lost"] += 1


async def run_strategies(wire: Wire, session: str, score: Score, strategies: Sequence[pb.CompactionStrategy]) -> None:
    """Runs strategies on the server, one after the other."""
    for strategy in cycle(strategies):
        request = cs.CompactSessionRequest(session=named(session), strategy=strategy, actor="tests")
        try:
            answer = await score.answered(partial(wire.compaction.CompactSession, request, timeout=wire.seconds))
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.ABORTED:
                raise
            score.outcomes["lost for good"] += 1
            continue
        score.outcomes["lost"] += answer.lost_races
        if answer.compacted:
            score.won(session, answer.compaction)
        else:
            await asyncio.sleep(0.005)
