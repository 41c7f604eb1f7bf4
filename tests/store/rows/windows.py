"""The active window and contexts of it, as stored; what a context selects is domain.windows' to say and to test."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from tests.store.rows.compaction import named, summary
from tests.support.clock import NOW
from tests.support.codec import CODEC, call, draft, parse, result, texts
from tests.support.runs.thoroughness import size
from tests.support.sessions import TENANT, append, compact, create, placed, read, ref, session_with
from threadkeep_server.domain.context import ContextMode, ContextSpec
from threadkeep_server.domain.errors import AmbiguousSession, SessionNotFound
from threadkeep_server.domain.filters import Authors, AuthorStep, EventFilter
from threadkeep_server.domain.model import Counters, Role, SessionChange, SessionRef, StoredEvent
from threadkeep_server.store.contract.events import ContextPage
from threadkeep_server.store.contract.store import Store

ENOUGH = 1 << 40


async def context(store: Store, of: SessionRef | None = None, *, default: int = ENOUGH, **spec: Any) -> ContextPage:
    page = await store.get_context(TENANT, of or ref(), ContextSpec(**spec), default)
    return replace(page, events=tuple(page.events))


async def shown(store: Store, **spec: Any) -> list[str]:
    return texts((await context(store, **spec)).events)


class WindowRows:
    async def test_the_window_is_every_active_event_as_stored(self, store: Store) -> None:
        drafts = [
            draft("prompt", event_id="s", role=Role.SYSTEM),
            draft("q ä", event_id="q", author="bob", author_role="user", branch="a.b", time=7),
            call("x", "y", event_id="c"),
            result("y", "x", event_id="r"),
            draft("large " * 10_000, event_id="large"),
        ]
        await session_with(store, draft("old", event_id="old"), *drafts)
        made = summary("sum")
        await compact(store, ["old"], placed("q", made))
        window = await store.read_window(TENANT, ref())
        assert window.session == await store.get_session(TENANT, ref())
        in_order = [drafts[0], made, *drafts[1:]]
        events = await read(store, EventFilter(exclude_archived=True))
        assert list(window.bodies.values()) == [event.body for event in events]
        assert [event.seq for event in window.events] == [event.seq for event in events] == [2, 7, 3, 4, 5, 6]
        assert [event.position for event in window.events] == sorted(event.position for event in window.events)
        for event, body, sent in zip(window.events, window.bodies.values(), in_order, strict=True):
            reading = CODEC.reading(body)
            assert (event.event_id, event.role, event.author, event.author_role, event.branch, event.synthetic) == (
                *(sent.event_id, sent.role, sent.author, sent.author_role, sent.branch, sent.synthetic),
            )
            assert event.time == (NOW if sent.event_time is None else sent.event_time)
            assert (event.tokens, event.size, event.archived) == (sent.token_estimate, len(sent.body), False)
            assert (event.content_bytes, event.prompt_text) == (sent.content_bytes, reading.prompt_text)
            assert (event.calls, event.results) == (reading.calls, reading.results)
            assert event.result_names == reading.result_names
        assert [(event.calls, event.results) for event in window.events[3:5]] == [(("x", "y"), ()), ((), ("y", "x"))]
        assert sum((event.counters for event in window.events), Counters()) == window.session.window

    async def test_an_empty_window_and_no_session(self, store: Store) -> None:
        with pytest.raises(SessionNotFound):
            await store.read_window(TENANT, ref())
        await session_with(store, *named("e1"))
        await compact(store, ["e1"])
        window = await store.read_window(TENANT, ref())
        assert (list(window.events), list(window.bodies.values())) == ([], [])
        await create(store, user="bob")
        with pytest.raises(AmbiguousSession):
            await store.read_window(TENANT, SessionRef("", "", "s1"))


class ContextRows:
    async def test_no_session_is_an_empty_context(self, store: Store) -> None:
        assert await context(store) == ContextPage()
        await create(store)
        assert await context(store) == ContextPage(max_bytes=ENOUGH)
        await create(store, user="bob")
        with pytest.raises(AmbiguousSession):
            await context(store, SessionRef("", "", "s1"))

    @pytest.mark.parametrize(
        ("spec", "first_seq", "through"),
        [
            ({}, 2, 9),
            ({"last_n": 2}, 5, 9),
            ({"max_turns": 1}, 5, 9),
            ({"authors": (AuthorStep(False, Authors(ids=frozenset({"helper"}))),)}, 2, 5),
            ({"branch": "other"}, 2, 5),
            ({"last_n": 2, "branch": "other"}, 5, 5),
            ({"mode": ContextMode.WRITE_ONLY}, 0, 0),
        ],
        ids=str,
    )
    async def test_compactable_through_seq_ends_before_the_first_event_the_context_hides(
        self, store: Store, spec: dict[str, Any], first_seq: int, through: int
    ) -> None:
        """Events before the first one of the context are excluded by from_seq."""
        await session_with(store, draft("p", event_id="p", role=Role.SYSTEM), *named("q2"))
        await append(store, *(draft(f"a{n}", event_id=f"a{n}", role=Role.ASSISTANT) for n in (3, 4)))
        hidden = draft("a6", event_id="a6", role=Role.ASSISTANT, author="helper", branch="helper")
        await append(store, *named("q5"), hidden, *(draft(f"a{n}", event_id=f"a{n}", role=Role.ASSISTANT) for n in (7, 8)))
        await compact(store, ["a3"], placed("q5", summary("sum")))
        page = await context(store, **spec)
        assert (page.first_seq, page.compactable_through_seq) == (first_seq, through)

    async def test_a_context_has_leading_events_then_the_active_conversation(self, store: Store) -> None:
        await session_with(store, *named("q1", "q2", "q3"), draft("prompt", event_id="p", role=Role.SYSTEM))
        await compact(store, ["q1"], placed("q2", summary("sum")))
        page = await context(store)
        assert texts(page.events) == ["prompt", "sum", "q2", "q3"]
        events = {event.seq: event for event in await read(store)}
        assert [events[event.seq] for event in page.events] == list(page.events)
        session = await store.get_session(TENANT, ref())
        assert page.versions == session.versions
        assert (page.context, page.first_seq, page.last_seq) == (session.window, 2, 3)
        assert not page.truncated
        assert not page.over_budget

    @pytest.mark.parametrize("mode", [ContextMode.NONE, ContextMode.WRITE_ONLY])
    async def test_a_context_without_events_has_only_versions(self, store: Store, mode: ContextMode) -> None:
        await session_with(store, *named("q1"))
        session = await store.get_session(TENANT, ref())
        assert await context(store, mode=mode) == ContextPage(versions=session.versions)

    async def test_the_context_size_comes_from_caller_session_or_server(self, store: Store) -> None:
        await session_with(store, *(draft(f"{number:10}") for number in range(10)))
        assert len((await context(store, default=35)).events) == 3
        assert (await context(store, default=35)).truncated
        await store.update_session(TENANT, ref(), SessionChange(frozenset({"context_bytes"}), NOW, context_bytes=55))
        assert len((await context(store, default=35)).events) == 5
        assert len((await context(store, default=35, max_bytes=20)).events) == 2
        assert len((await context(store, default=35, max_bytes=1000)).events) == 10
        await store.update_session(TENANT, ref(), SessionChange(frozenset({"context_bytes"}), NOW))
        assert len((await context(store, default=35)).events) == 3
        over = await context(store, default=1)
        assert (len(over.events), over.over_budget) == (1, True)

    async def test_limits_cut_between_turns_and_keep_leading_events(self, store: Store) -> None:
        await session_with(store, draft("prompt", role=Role.SYSTEM))
        for turn in range(5):
            await append(store, draft(f"q{turn}"), draft(f"a{turn}", role=Role.ASSISTANT))
        assert await shown(store, last_n=3) == ["prompt", "q3", "a3", "q4", "a4"]
        assert await shown(store, max_turns=1) == ["prompt", "q4", "a4"]
        assert await shown(store, max_tokens=6, include_system=False) == ["q2", "a2", "q3", "a3", "q4", "a4"]
        page = await context(store, last_n=2)
        assert (page.first_seq, page.last_seq, page.truncated) == (10, 11, True)

    async def test_authors_and_branches(self, store: Store) -> None:
        await session_with(
            store,
            draft("root", author="a", author_role="planner"),
            draft("mine", author="b", author_role="writer", branch="x.y"),
            draft("other", author="b", branch="x.z"),
        )
        only_b = (AuthorStep(True, Authors(frozenset({"b"}))),)
        assert await shown(store, authors=only_b) == ["mine", "other"]
        assert await shown(store, authors=only_b, branch="x.y") == ["mine"]
        writers = (AuthorStep(False, Authors(roles=frozenset({"writer"}))),)
        assert await shown(store, authors=writers) == ["root", "other"]
        assert await shown(store, authors=writers, author_roles={"a": "writer", "b": ""}) == ["mine", "other"]

    async def test_tool_calls_stay_with_their_results(self, store: Store) -> None:
        await session_with(
            store, draft("q", event_id="q"), call("x", event_id="c"), draft("note", event_id="n"), result("x", event_id="r")
        )
        assert [event.seq for event in (await context(store, last_n=2)).events] == [1, 2, 3, 4]
        await compact(store, ["q", "c"])
        assert [event.seq for event in (await context(store)).events] == [3]

    async def test_large_events_are_delivered_completely(self, store: Store) -> None:
        await session_with(store, *(draft(f"{number}" * 40_000, event_id=f"e{number}") for number in range(3)))
        await compact(store, ["e0"], placed("e1", summary("s" * 40_000)))
        page = await context(store)
        assert texts(page.events) == ["s" * 40_000, "1" * 40_000, "2" * 40_000]

    @pytest.mark.parametrize("last_n", [None, 1, 300, 5000])
    async def test_long_windows_are_whole(self, store: Store, last_n: int | None) -> None:
        """Longer than any store reads at once; the only turn start is at the beginning."""
        await create(store)
        await append(store, draft("q"), *(draft(f"a{number}", role=Role.ASSISTANT) for number in range(1200)))
        page = await context(store, last_n=last_n)
        assert [event.seq for event in page.events] == list(range(1, 1202))
        assert not page.truncated

    async def test_another_tenants_data_is_invisible(self, store: Store) -> None:
        await create(store, tenant="other")
        await append(store, draft("theirs"), tenant="other")
        assert await context(store) == ContextPage()


Seen = tuple[int, list[str]]
"""The window version that came with a read, and what was read."""

COMPACTIONS = size(30, 10)
NAMES = [f"m{number}" for number in range(COMPACTIONS + 5)]
WINDOWS = [NAMES, *([f"sum{done}", *NAMES[done:]] for done in range(1, COMPACTIONS + 1))]
"""Every window that there is, in order: each compaction takes the oldest event into its summary."""


class ContextConcurrencyRows:
    """A reader sees only windows that existed: no summary is missing, and none occurs together with events that it covers."""

    async def test_a_context_read_during_compactions(self, store: Store) -> None:
        async def look() -> Seen:
            page = await context(store)
            return page.versions.window_version, _titles(page.events)

        await _watch(store, look)

    async def test_a_short_context_read_during_compactions(self, store: Store) -> None:
        async def look() -> Seen:
            page = await context(store, last_n=3)
            reported = _titles(page.events)
            assert reported[-3:] == NAMES[-3:]
            done = int(reported[0].removeprefix("sum")) if reported[:-3] else 0
            return page.versions.window_version, WINDOWS[done]

        await _watch(store, look)

    async def test_a_window_read_during_compactions(self, store: Store) -> None:
        async def look() -> Seen:
            window = await store.read_window(TENANT, ref())
            reported = [event.event_id for event in window.events]
            assert [parse(StoredEvent(0, body, archived=False)).event_id for body in window.bodies.values()] == reported
            return window.session.window_version, reported

        await _watch(store, look)

    async def test_a_list_read_during_compactions(self, store: Store) -> None:
        async def look() -> Seen:
            return 0, _titles(await read(store, EventFilter(exclude_archived=True)))

        await _watch(store, look)


async def _watch(store: Store, look: Callable[[], Awaitable[Seen]]) -> None:
    """Looks again and again while the session is compacted."""
    await session_with(store, *named(*NAMES))
    compacting = asyncio.create_task(_compact_all(store))
    # Large contexts are long in the coming; several at once see more of what is between.
    await asyncio.gather(*(_look_until(compacting, look) for _ in range(3)))
    await compacting
    assert (await look())[1] == WINDOWS[-1]


async def _look_until(done: asyncio.Task[None], look: Callable[[], Awaitable[Seen]]) -> None:
    while not done.done():
        version, reported = await look()
        assert reported in WINDOWS
        assert version <= WINDOWS.index(reported), "a version that is newer than what was seen is not safe to expect"
        await asyncio.sleep(0)


async def _compact_all(store: Store) -> None:
    for done in range(1, COMPACTIONS + 1):
        # Large enough for its bytes to be read by themselves.
        made = draft(f"sum{done} {'.' * 40_000}", event_id=f"sum{done}", role=Role.ASSISTANT, synthetic=True)
        gone = [NAMES[done - 1], *([f"sum{done - 1}"] if done > 1 else [])]
        await compact(store, gone, placed(NAMES[done], made), at=done - 1)
        await asyncio.sleep(0)


def _titles(events: Iterable[StoredEvent]) -> list[str]:
    return [text.split(" ")[0] for text in texts(events)]
