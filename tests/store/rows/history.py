"""Reads as of a moment: what an agent was shown then."""

from __future__ import annotations

import pytest

from tests.store.rows.compaction import named, summary
from tests.support.codec import call, draft, result, texts
from tests.support.sessions import TENANT, append, compact, create, placed, ref, session_with
from threadkeep_server.domain.context import ContextSpec
from threadkeep_server.domain.errors import InvalidField
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.model import Counters, Role, SessionChange
from threadkeep_server.store.contract.events import ContextPage, EventPage, EventQuery
from threadkeep_server.store.contract.history import AsOf
from threadkeep_server.store.contract.store import Store

ENOUGH = 1 << 40


async def context(
    store: Store, version: int | None = None, *, seq: int | None = None, spec: ContextSpec | None = None
) -> ContextPage:
    return await store.get_context(TENANT, ref(), spec or ContextSpec(), ENOUGH, AsOf(seq, version))


async def listed(store: Store, version: int | None = None, *, seq: int | None = None, **query: object) -> EventPage:
    return await store.list_events(TENANT, ref(), EventQuery(as_of=AsOf(seq, version), **query))  # type: ignore[arg-type]


async def flags(store: Store, version: int) -> str:
    """The whole log as of then in window order; what was archived in parentheses."""
    events = (await listed(store, version)).events
    return " ".join(f"({text})" if event.archived else text for event in events for text in texts([event]))


class HistoryRows:
    async def test_a_context_as_of_a_version_is_the_one_of_then(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3"))
        await compact(store, ["e1", "e2"], placed("e3", summary("sum")))
        await append(store, *named("e4"))
        await compact(store, ["sum", "e3"], placed("e4", summary("sum2")))
        shown = {
            0: [],
            1: ["e1"],
            2: ["e1", "e2"],
            3: ["e1", "e2", "e3"],
            4: ["sum", "e3"],
            5: ["sum", "e3", "e4"],
            6: ["sum2", "e4"],
        }
        assert {version: texts((await context(store, version)).events) for version in shown} == shown

    async def test_a_list_as_of_a_version_marks_what_was_archived_then(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3"))
        await compact(store, ["e1"], placed("e2", summary("sum")))
        await compact(store, ["sum", "e2"], placed("e3", summary("sum2")))
        assert await flags(store, 3) == "e1 e2 e3"
        assert await flags(store, 4) == "(e1) sum e2 e3"
        assert await flags(store, 5) == "(e1) (sum) (e2) sum2 e3"
        active = EventFilter(exclude_archived=True)
        assert texts((await listed(store, 4, filter=active)).events) == ["sum", "e2", "e3"]
        assert texts((await listed(store, 5, filter=active, descending=True)).events) == ["e3", "sum2"]

    async def test_as_of_a_seq_is_after_the_whole_append_or_compaction_that_stored_it(self, store: Store) -> None:
        await create(store)
        await append(store, *named("e1", "e2", "e3"))
        await append(store, *named("e4"))
        await compact(store, ["e1", "e2"], placed("e3", summary("a"), summary("b")))
        for seq, version, shown in ((1, 1, "e1 e2 e3"), (3, 1, "e1 e2 e3"), (4, 2, "e1 e2 e3 e4"), (5, 3, "a b e3 e4")):
            page = await context(store, seq=seq)
            assert (page.versions.log_version, " ".join(texts(page.events))) == (version, shown)
            assert await listed(store, seq=seq) == await listed(store, version)

    async def test_versions_and_counters_are_those_of_then(self, store: Store) -> None:
        drafts = named("e1", "e2", "e3")
        await session_with(store, *drafts)
        made = summary("sum")
        await compact(store, ["e1", "e2"], placed("e3", made))
        await append(store, *named("e4"))
        first, second = [(await context(store, version)) for version in (2, 4)]
        assert (first.versions.log_version, first.versions.window_version, first.versions.last_seq) == (2, 0, 2)
        assert first.versions.window == sum((each.counters for each in drafts[:2]), Counters()) == first.context
        assert (second.versions.log_version, second.versions.window_version, second.versions.last_seq) == (4, 1, 4)
        assert second.versions.window == drafts[2].counters + made.counters
        assert ((await listed(store, 2)).log_version, (await listed(store, 2)).last_seq) == (2, 2)
        assert second.compactable_through_seq == 4

    async def test_counters_are_right_at_every_version_of_a_long_session(self, store: Store) -> None:
        await create(store)
        expected = []
        for number in range(40):
            appended = await append(
                store, *(draft("x" * number, event_id=f"{number}-{part}") for part in range(number % 7 + 1))
            )
            expected.append((appended.window, appended.last_seq))
        assert [
            (page.versions.window, page.versions.last_seq)
            for page in [await context(store, version) for version in range(1, 41)]
        ] == expected

    async def test_budgets_and_filters_apply_to_the_window_of_then(self, store: Store) -> None:
        prompt = draft("prompt", event_id="p", role=Role.SYSTEM)
        turns = [draft(text, event_id=text, role=role) for text, role in (("q1", Role.USER), ("a1", Role.ASSISTANT))]
        more = [draft(text, event_id=text, role=role) for text, role in (("q2", Role.USER), ("a2", Role.ASSISTANT))]
        await session_with(store, prompt, *turns, *more)
        await compact(store, ["q1", "a1"], placed("q2", summary("sum")))
        await compact(store, ["p", "sum", "q2"])
        last = ContextSpec(max_turns=1)
        assert texts((await context(store, 3, spec=last)).events) == ["prompt", "q1", "a1"]
        page = await context(store, 5, spec=last)
        assert (texts(page.events), page.truncated) == (["prompt", "q2", "a2"], True)
        assert texts((await context(store, 6, spec=last)).events) == ["prompt", "sum", "q2", "a2"]
        small = await context(store, 5, spec=ContextSpec(max_bytes=5, include_system=False))
        assert (texts(small.events), small.over_budget, small.max_bytes) == (["q2", "a2"], False, 5)
        assert texts((await context(store, 7)).events) == ["a2"]

    async def test_a_trimmed_tool_result_is_whole_before_it_was_trimmed(self, store: Store) -> None:
        await session_with(store, draft("go", event_id="q"), call("c1", event_id="c"), result("c1", event_id="r"))
        stub = result("c1", event_id="stub", synthetic=True)
        await compact(store, ["r"], placed(None, stub))
        before, after = await context(store, 3), await context(store, 4)
        assert [event.seq for event in before.events] == [1, 2, 3]
        assert [event.seq for event in after.events] == [1, 2, 4]

    async def test_pages_as_of_a_version_do_not_see_later_changes(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3", "e4"))
        first = await listed(store, 4, limit=2)
        await compact(store, ["e1", "e2", "e3"], placed("e4", summary("sum")))
        await append(store, *named("e5"))
        rest = await listed(store, 4, limit=2, cursor=first.cursor)
        assert (texts(first.events), texts(rest.events), rest.cursor) == (["e1", "e2"], ["e3", "e4"], None)
        assert not any(event.archived for event in rest.events)
        newest = await listed(store, 4, filter=EventFilter(exact_last_n=2))
        assert texts(newest.events) == ["e3", "e4"]

    async def test_the_budget_of_the_session_is_that_of_now_and_is_reported(self, store: Store) -> None:
        await session_with(store, *named("q1"))
        assert (await context(store, 1)).max_bytes == ENOUGH
        await store.update_session(TENANT, ref(), SessionChange(frozenset({"context_bytes"}), 1, context_bytes=4096))
        assert (await context(store, 1)).max_bytes == 4096
        assert (await store.get_context(TENANT, ref(), ContextSpec(max_bytes=9), ENOUGH)).max_bytes == 9

    @pytest.mark.parametrize(
        ("as_of", "field"), [(AsOf(seq=3), "as_of_seq"), (AsOf(log_version=3), "as_of_log_version")], ids=["seq", "version"]
    )
    async def test_the_future_is_refused(self, store: Store, as_of: AsOf, field: str) -> None:
        await session_with(store, *named("e1", "e2"))
        for of in (ref(), ref("unknown")):
            with pytest.raises(InvalidField) as caught:
                await store.get_context(TENANT, of, ContextSpec(), ENOUGH, as_of)
            assert caught.value.metadata["field"] == field
            with pytest.raises(InvalidField):
                await store.list_events(TENANT, of, EventQuery(as_of=as_of))
        assert await store.list_events(TENANT, ref("unknown"), EventQuery(as_of=AsOf(log_version=0))) == EventPage([])
