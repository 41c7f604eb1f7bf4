"""Compaction: what it archives and inserts, in which order, and what it refuses."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.clock import NOW
from tests.support.codec import draft, parse, texts
from tests.support.sessions import TENANT, Place, append, compact, create, placed, read, ref, session_with
from threadkeep_server.domain.errors import (
    AmbiguousSession,
    EventIdConflict,
    EventNotFound,
    NothingToCompact,
    SessionNotFound,
    ThreadkeepError,
    VersionMismatch,
)
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.model import NO_COUNTERS, SECOND_NS, Compaction, Counters, EventDraft, Role, SessionRef, Usage
from threadkeep_server.store.contract.store import Store

ACTIVE = EventFilter(exclude_archived=True)
CONFLICT = {"field": "inserts"}


def named(*names: str) -> list[EventDraft]:
    """Messages that say their own id."""
    return [draft(name, event_id=name) for name in names]


def summary(name: str, **fields: Any) -> EventDraft:
    return draft(name, event_id=name, **{"role": Role.ASSISTANT, "synthetic": True, **fields})


async def everything(store: Store, of: SessionRef | None = None) -> Any:
    """All that a compaction could change."""
    name = of or ref()
    compactions = await store.list_compactions(TENANT, name, 100, None)
    return await store.get_session(TENANT, name), await read(store, of=name), list(compactions.compactions)


async def flags(store: Store) -> str:
    """The whole log in window order; what is archived in parentheses."""
    return " ".join(f"({text})" if event.archived else text for event in await read(store) for text in texts([event]))


class CompactionRows:
    async def test_archiving_and_inserting_are_one_step(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        compacted = await compact(store, ["e1"], placed("e2", summary("sum")), at=0)
        assert not compacted.replayed
        assert await flags(store) == "(e1) sum e2"
        assert texts(await read(store, ACTIVE)) == ["sum", "e2"]
        assert [event.seq for event in await read(store)] == [1, 3, 2]

    async def test_a_compaction_bumps_both_versions_by_one(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        for number, archive in enumerate((["e1"], ["e2"]), 1):
            await compact(store, archive, now=NOW + number)
            session = await store.get_session(TENANT, ref())
            assert (session.log_version, session.window_version, session.last_seq) == (2 + number, number, 2)
            assert session.update_time == NOW + number
        assert session.window == NO_COUNTERS
        assert await read(store, ACTIVE) == []
        assert (await append(store, draft("next"))).log_version == 5

    async def test_a_stale_compaction_changes_nothing(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3"))
        await compact(store, ["e1"], at=0)
        before = await everything(store)
        with pytest.raises(VersionMismatch) as caught:
            await compact(store, ["e2"], placed("e3", summary("sum")), at=0)
        assert caught.value.metadata == {"session_id": "s1", "expected": "0", "actual": "1"}
        assert await everything(store) == before

    async def test_a_superseded_summary_is_archived_not_dropped(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3"))
        await compact(store, ["e1"], placed("e2", summary("s1")))
        await compact(store, ["s1", "e2"], placed("e3", summary("s2")))
        assert await flags(store) == "(e1) (s1) (e2) s2 e3"

    async def test_summaries_keep_their_place(self, store: Store) -> None:
        await session_with(store, *named("m1", "m2", "m3"))
        await compact(store, ["m1", "m2"], placed("m3", summary("sum1")))
        await append(store, *named("m4", "m5"))
        await compact(store, ["sum1", "m3", "m4"], placed("m5", summary("sum2")))
        await append(store, *named("m6"))
        assert await flags(store) == "(m1) (m2) (sum1) (m3) (m4) sum2 m5 m6"

    async def test_an_event_not_named_by_a_compaction_is_unchanged(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3"))
        await compact(store, ["e2"])
        assert await flags(store) == "e1 (e2) e3"

    async def test_seqs_are_gapless_over_appends_and_insertions(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        places = (placed("e1", *named("a", "b")), placed("e2", *named("c")), placed(None, *named("d", "e")))
        compacted = await compact(store, (), *places)
        assert compacted.compaction.inserted == ("a", "b", "c", "d", "e")
        assert (await append(store, *named("f"))).last_seq == 8
        assert [(text, event.seq) for event in await read(store) for text in texts([event])] == [
            *(("a", 3), ("b", 4), ("e1", 1), ("c", 5), ("e2", 2), ("d", 6), ("e", 7), ("f", 8))
        ]
        assert [parse(event).seq for event in await read(store)] == [event.seq for event in await read(store)]

    async def test_counters_usage_and_the_record_describe_the_compaction(self, store: Store) -> None:
        drafts = [draft("q", event_id="e1", usage=Usage(1, 2, 3, 4, 5)), draft("a", event_id="e2", role=Role.ASSISTANT)]
        drafts.append(draft("long question", event_id="e3"))
        await session_with(store, *drafts)
        made = summary("s1", usage=Usage(10, 10, 20))
        usage = Usage(100, 200, 300, 400, 500)
        options: dict[str, Any] = {"strategy": "recursive", "actor": "bob", "branch": "a.b", "usage": usage}
        done = (await compact(store, ["e3", "e1"], placed("e2", made), now=NOW + 5, compaction_id="c1", **options)).compaction
        session = await store.get_session(TENANT, ref())
        assert (done.before, done.after) == (
            sum((each.counters for each in drafts), NO_COUNTERS),
            drafts[1].counters + made.counters,
        )
        assert session.window == done.after == Counters(2, 0, len(drafts[1].body) + len(made.body), 2)
        assert session.usage == Usage(111, 212, 323, 404, 505)
        assert (done.compaction_id, done.time, done.strategy, done.actor, done.branch) == (
            *("c1", NOW + 5, "recursive", "bob", "a.b"),
        )
        assert (done.archived, done.first_seq, done.last_seq, done.inserted) == (2, 1, 3, ("s1",))
        assert (done.log_version, done.window_version, done.usage) == (4, 1, options["usage"])
        assert await store.get_compaction(TENANT, ref(), "c1") == done
        assert (await append(store, draft("next"))).window.events == 3

    async def test_an_event_named_twice_is_archived_once(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        done = (await compact(store, ["e1", "e1"])).compaction
        assert (done.archived, done.after.events) == (1, 1)
        assert (await store.get_session(TENANT, ref())).window.events == 1

    async def test_the_session_is_not_younger_than_it_was(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        await compact(store, ["e1"], now=NOW - SECOND_NS)
        assert (await store.get_session(TENANT, ref())).update_time == NOW

    async def test_a_compaction_of_one_session_leaves_the_others_alone(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        other = await session_with(store, *named("e1", "e2"), session_id="other")
        before = await everything(store, other)
        await compact(store, ["e1"], placed("e2", summary("sum")))
        assert await everything(store, other) == before

    async def test_fifty_compactions_change_no_seq_and_no_byte(self, store: Store) -> None:
        await create(store)
        for number in range(60):
            await append(store, draft(f"m{number} ä\x00", event_id=f"m{number}", metadata_json="{}"))
        first = {event.seq: event.body for event in await read(store)}
        order = [event.seq for event in await read(store)]
        seen: dict[int, bytes] = {}
        for number in range(50):
            gone = [f"m{number}"] + ([f"sum{number - 1}"] if number else [])
            await compact(store, gone, placed(f"m{number + 1}", summary(f"sum{number}")), at=number)
            if number % 5 == 4:
                seen |= {event.seq: event.body for event in await read(store) if event.seq not in seen}
        events = await read(store)
        assert {event.seq: event.body for event in events} == seen
        assert first.items() <= seen.items()
        assert [event.seq for event in events if event.seq <= 60] == order
        assert sorted(event.seq for event in events) == list(range(1, 111))
        assert texts(event for event in events if not event.archived)[0] == "sum49"
        assert sum(event.archived for event in events) == 99


class RefusalRows:
    @pytest.mark.parametrize(
        ("archive", "inserts", "error", "metadata"),
        [
            (["gone"], (), EventNotFound, {"session_id": "s1", "event_id": "gone"}),
            (["no"], (), EventNotFound, {"session_id": "s1", "event_id": "no"}),
            (["e1", "no"], (), EventNotFound, {"session_id": "s1", "event_id": "no"}),
            ([], (placed("no", *named("a")),), EventNotFound, {"session_id": "s1", "event_id": "no"}),
            ([], (placed("gone", *named("a")),), EventNotFound, {"session_id": "s1", "event_id": "gone"}),
            (["e1", "e2"], (placed("e2", *named("a")),), EventNotFound, {"session_id": "s1", "event_id": "e2"}),
            (["e1"], (placed("e2", *named("a", "e2")),), EventIdConflict, {**CONFLICT, "event_id": "e2", "seq": "3"}),
            (
                ["e1"],
                (placed(None, *named("gone", "e2")),),
                EventIdConflict,
                {"field": "inserts", "event_id": "gone", "seq": "1"},
            ),
            ([], (), NothingToCompact, {"session_id": "s1"}),
            ([], (placed("e1"),), NothingToCompact, {"session_id": "s1"}),
        ],
    )
    @pytest.mark.parametrize("dry_run", [False, True])
    async def test_an_inapplicable_compaction_changes_nothing(
        self,
        store: Store,
        archive: list[str],
        inserts: tuple[Place, ...],
        error: type[ThreadkeepError],
        metadata: dict[str, str],
        dry_run: bool,
    ) -> None:
        await session_with(store, *named("gone", "e1", "e2"))
        await compact(store, ["gone"])
        before = await everything(store)
        with pytest.raises(error) as caught:
            await compact(store, archive, *inserts, dry_run=dry_run)
        assert caught.value.metadata == metadata
        assert await everything(store) == before

    async def test_of_several_unknown_events_the_first_is_reported(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        for archive in (["b", "a"], ["a", "b"], ["e1", *(f"x{number}" for number in range(1200))]):
            with pytest.raises(EventNotFound) as caught:
                await compact(store, archive)
            assert caught.value.metadata["event_id"] == next(name for name in archive if name != "e1")

    async def test_both_versions_can_be_expected(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3"))
        before = await everything(store)
        wrong: list[dict[str, Any]] = [{"at": 1}, {"expected_log_version": 2}, {"at": 0, "expected_log_version": 4}]
        for expected in wrong:
            with pytest.raises(VersionMismatch):
                await compact(store, ["e1"], **expected)
        assert await everything(store) == before
        await compact(store, ["e1"], at=0, expected_log_version=3)

    async def test_appends_after_the_plan_reject_it_only_on_request(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        await append(store, *named("e3"))
        with pytest.raises(VersionMismatch):
            await compact(store, ["e1"], at=0, expected_log_version=2)
        await compact(store, ["e1"], placed("e2", summary("sum")), at=0)
        assert await flags(store) == "(e1) sum e2 e3"

    async def test_a_session_must_exist_and_be_unambiguous(self, store: Store) -> None:
        with pytest.raises(SessionNotFound):
            await compact(store, ["e1"])
        await session_with(store, *named("e1"))
        await session_with(store, *named("e1"), user="bob")
        with pytest.raises(AmbiguousSession):
            await compact(store, ["e1"], of=SessionRef("", "", "s1"))
        with pytest.raises(SessionNotFound):
            await compact(store, ["e1"], tenant="other")
        for call in (store.list_compactions(TENANT, ref("no"), 1, None), store.get_compaction(TENANT, ref("no"), "c")):
            with pytest.raises(SessionNotFound):
                await call
        assert texts(await read(store, ACTIVE)) == ["e1"]

    async def test_a_bare_id_is_enough_for_a_session_that_is_alone(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        await compact(store, ["e1"], of=SessionRef("", "", "s1"), compaction_id="c1")
        assert await store.get_compaction(TENANT, SessionRef("", "", "s1"), "c1") is not None
        assert await flags(store) == "(e1)"


class RecordRows:
    async def test_a_replay_returns_the_record_and_ignores_the_rest(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        once = await compact(store, ["e1"], placed("e2", summary("sum")), compaction_id="c1", at=0)
        await append(store, *named("e3"))
        before = await everything(store)
        for archive, options in (
            (["e1"], {"at": 0}),
            (["no"], {"expected_log_version": 77}),
            ((), {}),
            ((), {"dry_run": True}),
        ):
            again = await compact(store, archive, compaction_id="c1", now=NOW + 9, **options)
            assert (again.replayed, again.compaction) == (True, once.compaction)
        assert await everything(store) == before

    async def test_an_event_id_belongs_to_one_session(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        other = await session_with(store, *named("e1"), session_id="other")
        await compact(store, ["e1"], compaction_id="c1")
        assert not (await compact(store, ["e1"], compaction_id="c1", of=other)).replayed

    async def test_a_dry_run_returns_the_record_and_changes_nothing(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        before = await everything(store)
        dry = await compact(store, ["e1"], placed("e2", summary("sum")), compaction_id="c1", dry_run=True)
        assert await everything(store) == before
        assert await store.get_compaction(TENANT, ref(), "c1") is None
        done = await compact(store, ["e1"], placed("e2", summary("sum")), compaction_id="c1")
        assert (dry.compaction, dry.replayed) == (done.compaction, False)
        with pytest.raises(VersionMismatch):
            await compact(store, ["e2"], at=0, dry_run=True)

    async def test_records_are_listed_newest_first_in_pages(self, store: Store) -> None:
        await session_with(store, *named(*(f"e{number}" for number in range(7))))
        await session_with(store, *named("x"), session_id="other")
        await compact(store, ["x"], of=ref("other"))
        made = [(await compact(store, [f"e{number}"], compaction_id=f"c{number}")).compaction for number in range(7)]
        for limit in (1, 3, 6, 7, 100):
            found: list[Compaction] = []
            cursor = None
            while True:
                page = await store.list_compactions(TENANT, ref(), limit, cursor)
                assert 0 < len(page.compactions) <= limit
                found += page.compactions
                if (cursor := page.cursor) is None:
                    break
            assert found == made[::-1]

    async def test_a_page_continues_after_another_compaction(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3"))
        for number in (1, 2):
            await compact(store, [f"e{number}"], compaction_id=f"c{number}")
        page = await store.list_compactions(TENANT, ref(), 1, None)
        await compact(store, ["e3"], compaction_id="c3")
        rest = await store.list_compactions(TENANT, ref(), 10, page.cursor)
        assert [each.compaction_id for each in (*page.compactions, *rest.compactions)] == ["c2", "c1"]
        assert rest.cursor is None

    async def test_records_are_deleted_with_their_session(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        await compact(store, ["e1"], placed("e2", summary("sum")), compaction_id="c1")
        assert await store.delete_session(TENANT, ref()) == 3
        await session_with(store, *named("e1"))
        assert list((await store.list_compactions(TENANT, ref(), 10, None)).compactions) == []
        assert not (await compact(store, ["e1"], compaction_id="c1")).replayed


class CompactionConcurrencyRows:
    async def test_of_two_compactions_at_one_version_exactly_one_wins(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3", "e4", "e5"))
        attempts = [compact(store, ["e1", "e2", "e3"], placed("e4", summary(f"sum{n}")), at=0) for n in range(8)]
        outcomes = await asyncio.gather(*attempts, return_exceptions=True)
        won = [each for each in outcomes if not isinstance(each, BaseException)]
        assert [type(each) for each in outcomes if isinstance(each, BaseException)] == [VersionMismatch] * 7
        assert [each.compaction.archived for each in won] == [3]
        assert await flags(store) == f"(e1) (e2) (e3) {won[0].compaction.inserted[0]} e4 e5"

    async def test_the_same_compaction_at_once_is_applied_once(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        outcomes = await asyncio.gather(*(compact(store, ["e1"], compaction_id="c1", at=0) for _ in range(8)))
        assert sorted(each.replayed for each in outcomes) == [False] + [True] * 7
        assert (await store.get_session(TENANT, ref())).window_version == 1

    async def test_a_rejected_compaction_succeeds_on_a_fresh_window(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3"))
        stale = await store.read_window(TENANT, ref())
        await compact(store, ["e1"], placed("e2", summary("sum")), at=stale.session.window_version)
        again: dict[str, Any] = {"compaction_id": "mine"}
        with pytest.raises(VersionMismatch):
            await compact(store, ["e1", "e2"], at=stale.session.window_version, **again)
        fresh = await store.read_window(TENANT, ref())
        assert [event.event_id for event in fresh.events] == ["sum", "e2", "e3"]
        await compact(store, ["sum", "e2"], at=fresh.session.window_version, **again)
        assert await flags(store) == "(e1) (sum) (e2) e3"

    async def test_concurrent_appends_and_compactions_lose_nothing(self, store: Store) -> None:
        await session_with(store, *named("e0"))

        async def appending(name: str) -> list[int]:
            return [(await append(store, *named(f"{name}{number}"))).last_seq for number in range(25)]

        async def compacting() -> None:
            for number in range(15):
                window = await store.read_window(TENANT, ref())
                oldest, newest = window.events[0].event_id, window.events[-1].event_id
                if oldest != newest:
                    await compact(store, [oldest], placed(newest, summary(f"sum{number}")), at=window.session.window_version)
                await asyncio.sleep(0)

        a, b, _ = await asyncio.gather(appending("a"), appending("b"), compacting())
        events = await read(store)
        inserted = [event for event in events if parse(event).synthetic]
        assert sorted(event.seq for event in events) == list(range(1, len(events) + 1))
        assert len(events) == 51 + len(inserted)
        appended = [event.seq for event in events if not parse(event).synthetic]
        assert appended == sorted(appended)
        by_seq = dict(zip(sorted(event.seq for event in events), texts(sorted(events, key=lambda e: e.seq)), strict=True))
        assert [by_seq[seq] for seq in a] == [f"a{number}" for number in range(25)]
        assert [by_seq[seq] for seq in b] == [f"b{number}" for number in range(25)]
        session = await store.get_session(TENANT, ref())
        assert session.window.events == sum(not event.archived for event in events)
        assert session.log_version == 51 + session.window_version == 51 + len(inserted)
