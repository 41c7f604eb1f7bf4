"""The laws of compaction, end to end: strategies run on the SQL stores and the reference, on generated logs and on real runs.

In every case the log keeps each event unchanged and in its place, a tool call and its result are kept or archived together,
nothing is compacted twice, contexts separate no call from its result, and the stores agree event by event.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.clock import NOW
from tests.support.codec import CODEC, event, parse
from tests.support.conversations import agent_runs, answered, orphans, renamed
from tests.support.runs.thoroughness import by_engine_in_turn, on_stores, size, some
from tests.support.sessions import TENANT, append, create, read, ref
from tests.unit.compaction.laws import windows
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.message_pb2 import ROLE_USER, Part, ToolCallPart, ToolResultPart
from threadkeep_server.compaction.plan import Strategy
from threadkeep_server.compaction.strategies.pipeline import Pipeline
from threadkeep_server.compaction.strategies.recursive_summary import RecursiveSummary
from threadkeep_server.compaction.strategies.sliding_window import SlidingWindow
from threadkeep_server.compaction.strategies.token_budget import TokenBudget
from threadkeep_server.compaction.strategies.trim_tool_results import TrimToolResults
from threadkeep_server.compaction.strategies.turn_window import TurnWindow
from threadkeep_server.domain.context import ContextSpec, is_lead
from threadkeep_server.domain.filters import Authors, AuthorStep
from threadkeep_server.domain.model import NO_COUNTERS, EventDraft, Role, SessionRef, Usage, WindowEvent
from threadkeep_server.domain.text import estimate_tokens
from threadkeep_server.providers.summarizers.base import Summary
from threadkeep_server.service.compaction.compaction_runner import CompactionRunner, StrategyRun
from threadkeep_server.store.contract.compaction import WindowRead
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.inmemory import InMemoryStore
from threadkeep_server.store.sql.store import open_store
from threadkeep_server.transport.convert.events import DraftMaker
from threadkeep_server.transport.convert.summary_events import SummaryEncoder

SMALL: list[Strategy] = [
    SlidingWindow(4),
    TurnWindow(2),
    TokenBudget(300),
    RecursiveSummary(3, 1),
    TrimToolResults(1, 1),
    Pipeline((TrimToolResults(1, 1), TokenBudget(400))),
    Pipeline((TrimToolResults(2, 1), TurnWindow(3), RecursiveSummary(4, 1))),
]
REAL: list[Strategy] = [
    SlidingWindow(),
    TurnWindow(3),
    TokenBudget(2000),
    RecursiveSummary(),
    TrimToolResults(),
    Pipeline((TrimToolResults(), TokenBudget(3000))),
    Pipeline((TrimToolResults(2), RecursiveSummary())),
]
ENOUGH = 1 << 40
EXAMPLES = on_stores(25)

LIMITS = st.none() | st.integers(1, 12)
AUTHORS = st.frozensets(st.sampled_from([role.name for role in Role]), min_size=1, max_size=2)
SPECS = st.builds(
    ContextSpec,
    authors=st.lists(st.builds(AuthorStep, st.booleans(), st.builds(Authors, AUTHORS)), max_size=2).map(tuple),
    last_n=LIMITS,
    max_turns=LIMITS,
    max_tokens=st.none() | st.integers(1, 400),
    max_bytes=st.none() | st.integers(1, 1500),
    branch=st.sampled_from(["", "", "a", "a.b"]),
    include_system=st.booleans(),
)


def estimated(text: str) -> int:
    return estimate_tokens(len(text))


def make_draft(event: SessionEvent) -> EventDraft:
    """As the transport makes it; its maker writes into the event that it is given."""
    return DraftMaker(lambda: "unused", estimated)(SessionEvent.FromString(event.SerializeToString()))


class Digests:
    """A summarizer that says the same about the same text."""

    model = "digest"

    async def summarize(self, *, system_prompt: str, prompt: str, max_tokens: int) -> Summary:
        text = hashlib.sha256(f"{system_prompt}{prompt}".encode()).hexdigest()
        return Summary(f"They met: {text[:16]}.", Usage(output=max_tokens), self.model)

    async def aclose(self) -> None:
        return None


class World:
    """A store with a compactor. Two worlds with the same calls have the same ids and times."""

    def __init__(self, store: Store) -> None:
        self.store = store
        ids, times = count(1), count(NOW)
        composer = SummaryEncoder(DraftMaker(lambda: "unused", estimated))
        self.compactor = CompactionRunner(store, composer, estimated, Digests(), times.__next__, lambda: f"new-{next(ids)}")

    async def window(self, of: SessionRef) -> WindowRead:
        return await self.store.read_window(TENANT, of)


@dataclass
class Both:
    """The tested world, the reference, and their event loop."""

    runner: asyncio.Runner
    tested: World
    reference: World
    names: Iterator[int] = field(default_factory=lambda: count(1))

    def log(self) -> Log:
        return Log(self, ref(f"s{next(self.names)}"))


@pytest.fixture
def both(url: str) -> Iterator[Both]:
    # hypothesis cannot await a test, so the stores live on a loop that outlasts the examples.
    with asyncio.Runner() as runner:
        opened = open_store(url, CODEC)
        tested = runner.run(opened.__aenter__())
        try:
            yield Both(runner, World(tested), World(InMemoryStore(CODEC)))
        finally:
            runner.run(opened.__aexit__(None, None, None))


class Log:
    """One session in both worlds. Each operation checks the laws."""

    def __init__(self, both: Both, name: SessionRef) -> None:
        self._worlds = (both.tested, both.reference)
        self._tested = both.tested
        self._name = name
        self._sent: dict[str, tuple[int, bytes]] = {}
        self._inserted: set[str] = set()
        self.compactions = 0

    async def open(self) -> Log:
        for world in self._worlds:
            await create(world.store, self._name.session_id)
        return self

    async def append(self, events: Iterable[SessionEvent]) -> None:
        drafts = [make_draft(event) for event in events]
        for world in self._worlds:
            appended = await append(world.store, *drafts, to=self._name)
        self._sent |= {draft.event_id: (new.seq, draft.body) for new, draft in zip(appended.events, drafts, strict=True)}

    async def compact(self, strategy: Strategy, branch: str = "") -> None:
        """Runs the strategy, and again: what has not changed since is left alone."""
        run = StrategyRun(TENANT, self._name, strategy, branch, actor="test")
        before = await self._window()
        done, reference = [await world.compactor.run(run) for world in self._worlds]
        assert done.compaction == reference.compaction, "the stores keep the same record"
        after = await self._window()
        if done.compaction is None or done.prepared is None:
            assert after == before
            return
        self.compactions += 1
        inserted = [draft for drafts in done.prepared.inserts.values() for draft in drafts]
        self._note(inserted, before.session.last_seq)
        assert after.session.window == done.prepared.after
        check_untorn(parsed(before.bodies.values()), parsed(after.bodies.values()))
        for world in self._worlds:
            assert (await world.compactor.run(run)).compaction is None, f"{strategy} found something to do twice"
        assert await self._window() == after

    def _note(self, drafts: Sequence[EventDraft], last_seq: int) -> None:
        self._sent |= {draft.event_id: (seq, draft.body) for seq, draft in enumerate(drafts, last_seq + 1)}
        self._inserted |= {draft.event_id for draft in drafts}

    async def _window(self) -> WindowRead:
        return await self._tested.store.read_window(TENANT, self._name)

    async def check(self) -> None:
        """The whole log is as it was sent, and both worlds have the same."""
        events, reference = [await read(world.store, of=self._name) for world in self._worlds]
        assert events == reference
        ids = [parse(event).event_id for event in events]
        kept = {name: (event.seq, event.body[: parse(event).size_bytes]) for name, event in zip(ids, events, strict=True)}
        assert kept == self._sent, "nothing disappears from the history, and nothing in it changes"
        assert sorted(event.seq for event in events) == list(range(1, len(events) + 1))
        said = [event.seq for name, event in zip(ids, events, strict=True) if name not in self._inserted]
        assert said == sorted(said), "what was appended keeps its order"
        window, reference_window = [await world.store.read_window(TENANT, self._name) for world in self._worlds]
        assert window.session.versions == reference_window.session.versions
        assert (
            list(window.bodies.values())
            == list(reference_window.bodies.values())
            == [event.body for event in events if not event.archived]
        )
        assert [event.event_id for event in window.events] == [event.event_id for event in parsed(window.bodies.values())]
        assert window.session.window == sum((event.counters for event in window.events), NO_COUNTERS)
        records, same = [await world.store.list_compactions(TENANT, self._name, 1000, None) for world in self._worlds]
        assert records == same
        assert len(records.compactions) == self.compactions == window.session.window_version
        assert sum(each.archived for each in records.compactions) == sum(event.archived for event in events)
        assert {name for each in records.compactions for name in each.inserted} == self._inserted

    async def context(self, spec: ContextSpec) -> None:
        """A context tears nothing and is the same in both worlds."""
        page, reference = [await world.store.get_context(TENANT, self._name, spec, ENOUGH) for world in self._worlds]
        assert page == reference
        window = await self._window()
        talk = [body for event, body in zip(window.events, window.bodies.values(), strict=True) if not is_lead(event)]
        known = {event.event_id for event in parsed(talk)}
        given_out = {event.event_id for event in parsed(event.body for event in page.events)} & known
        for call, result in answered(parsed(talk)):
            assert (call in given_out) == (result in given_out), f"{call} and {result} were parted"
        assert not given_out & set(orphans(parsed(talk)))


def parsed(bodies: Iterable[bytes]) -> list[SessionEvent]:
    return [SessionEvent.FromString(body) for body in bodies]


def check_untorn(before: Sequence[SessionEvent], after: Sequence[SessionEvent]) -> None:
    """Of a call and its result both stay or both go; the stub of a result is the result."""
    known = {event.event_id for event in before}
    left = {event.event_id for event in after}
    stubs = {
        found[1]: event.event_id
        for event in after
        if event.event_id not in known and (found := re.search(r"Event (\S+) has it", str(event.message)))
    }
    for call, result in answered(before):
        assert (call in left) == (result in left or result in stubs), f"{call} and {result} were parted"
    kept = {(call, stubs.get(result, result)) for call, result in answered(before) if call in left}
    assert answered(after) == kept


def said(made_up: WindowEvent, name: str) -> SessionEvent:
    """A made-up event as a client would send it; what a tool says is in its results."""
    parts = [Part(tool_call=ToolCallPart(id=call, name="f", arguments_json="{}")) for call in made_up.calls]
    text = [Part(text=made_up.text)]
    in_results = text if made_up.role is Role.TOOL else []
    parts += [Part(tool_result=ToolResultPart(call_id=each, name=f"find_{each}", parts=in_results)) for each in made_up.results]
    return event(
        None if in_results else made_up.text,
        role=made_up.role,
        event_id=f"{name}-{made_up.event_id}",
        author=made_up.role.name,
        branch=made_up.branch,
        synthetic=made_up.synthetic,
        parts=parts,
    )


@by_engine_in_turn("strategy", SMALL, [strategy.name for strategy in SMALL])
@EXAMPLES
@given(logs=st.lists(windows, min_size=1, max_size=3), specs=st.lists(SPECS, min_size=1, max_size=3))
def test_any_log(both: Both, strategy: Strategy, logs: list[Any], specs: list[ContextSpec]) -> None:
    async def check() -> None:
        log = await both.log().open()
        for number, made_up in enumerate(logs):
            if made_up.events:
                await log.append(said(each, f"b{number}") for each in made_up.events)
            await log.compact(strategy, made_up.branch)
            for spec in specs:
                await log.context(spec)
        await log.check()

    both.runner.run(check())


@by_engine_in_turn("number", range(len(REAL)), [strategy.name for strategy in REAL])
def test_real_runs(both: Both, number: int) -> None:
    """Each run is compacted by one of the strategies while it grows."""

    async def check() -> int:
        compactions = 0
        for run in some(agent_runs()[number :: len(REAL)], 6):
            log = await both.log().open()
            for turn, events in enumerate(turns(run)):
                await log.append(events)
                if turn % 3 == 2:
                    await log.compact(REAL[number])
                    await log.context(ContextSpec(max_tokens=1500))
            await log.check()
            compactions += log.compactions
        return compactions

    assert both.runner.run(check()) > size(10, 2)


def test_fifty_compactions_change_no_event(both: Both) -> None:
    async def check() -> None:
        log = await both.log().open()
        talk = (turn for number, run in enumerate(agent_runs()) for turn in turns(renamed(run, f"r{number}")))
        for number, turn in enumerate(talk):
            await log.append(turn)
            if number % 4 == 3:
                await log.compact((*SMALL, *REAL)[number // 4 % len((*SMALL, *REAL))])
            if log.compactions == 50:
                break
        assert log.compactions == 50
        await log.check()

    both.runner.run(check())


def turns(run: Sequence[SessionEvent]) -> Iterator[list[SessionEvent]]:
    """A run in parts that begin where the user speaks."""
    part: list[SessionEvent] = []
    for each in run:
        if part and each.message.role == ROLE_USER:
            yield part
            part = []
        part.append(each)
    yield part
