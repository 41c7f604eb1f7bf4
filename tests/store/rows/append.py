"""Appending: order, atomicity, replays, conflicts, preconditions, concurrency."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.support.clock import NOW
from tests.support.codec import draft, parse, texts
from tests.support.sessions import TENANT, append, create, new_session, read, ref, search, session_with
from threadkeep_server.domain.errors import EventIdConflict, SessionNotFound, VersionMismatch
from threadkeep_server.domain.model import SECOND_NS, Counters, EventDraft, Role, Usage
from threadkeep_server.store.contract.events import Appended
from threadkeep_server.store.contract.store import Store


def seqs(appended: Appended) -> list[tuple[int, bool]]:
    return [(event.seq, event.replayed) for event in appended.events]


class AppendRows:
    async def test_appends_number_events_and_versions_without_gaps(self, store: Store) -> None:
        await create(store)
        first = await append(store, draft("a", event_id="e1"))
        assert [(event.event_id, event.seq, event.replayed) for event in first.events] == [("e1", 1, False)]
        assert (first.log_version, first.last_seq, first.session_created) == (1, 1, False)
        second = await append(store, draft("b", event_id="e2"), draft("c", event_id="e3"))
        assert seqs(second) == [(2, False), (3, False)]
        assert (second.log_version, second.last_seq) == (2, 3)
        session = await store.get_session(TENANT, ref())
        assert (session.log_version, session.last_seq, session.window_version) == (2, 3, 0)

    async def test_events_are_in_append_order_for_any_times(self, store: Store) -> None:
        await create(store)
        for text, time, now in (("first", 30, NOW + 9), ("second", 10, NOW + 5), ("third", 20, NOW + 7)):
            await append(store, draft(text, time=time), now=now)
        assert texts(await read(store)) == ["first", "second", "third"]

    async def test_roles_and_texts_are_kept(self, store: Store) -> None:
        wanted = [("q", Role.USER), ("a", Role.ASSISTANT), ("q2", Role.USER), ("s", Role.SYSTEM), ("t", Role.TOOL)]
        await session_with(store, *(draft(text, role=role) for text, role in wanted))
        events = [parse(stored) for stored in await read(store)]
        assert [(event.message.parts[0].text, event.message.role) for event in events] == wanted

    async def test_an_unknown_session_is_not_created(self, store: Store) -> None:
        with pytest.raises(SessionNotFound, match="s1"):
            await append(store, draft("a"))
        with pytest.raises(SessionNotFound):
            await append(store, draft("a"), expected_log_version=0)
        assert await read(store) == []

    async def test_counters_and_usage_add_up(self, store: Store) -> None:
        await create(store)
        drafts = [
            draft("12345", usage=Usage(1, 2, 3, 4, 5)),
            draft("1234", role=Role.ASSISTANT, usage=Usage(10, 20, 30, 40, 50)),
            draft("branch", branch="orch"),
            draft("summary", synthetic=True),
            draft("second turn"),
        ]
        total = Counters()
        for number, each in enumerate(drafts, 1):
            total += each.counters
            appended = await append(store, each)
            assert (appended.window, appended.last_seq) == (total, number)
        session = await store.get_session(TENANT, ref())
        assert session.window == total == Counters(5, 2, sum(len(each.body) for each in drafts), 2 + 1 + 2 + 2 + 3)
        assert session.usage == Usage(11, 22, 33, 44, 55)

    async def test_a_batch_is_stored_whole_in_its_order(self, store: Store) -> None:
        await create(store)
        batch = [draft(f"event {number}") for number in range(250)]
        appended = await append(store, *batch)
        assert seqs(appended) == [(number, False) for number in range(1, 251)]
        assert appended.log_version == 1
        assert texts(await read(store)) == [f"event {number}" for number in range(250)]


class ReplayRows:
    async def test_a_replay_stores_nothing_and_returns_the_first_seq(self, store: Store) -> None:
        await create(store)
        drafts = [draft("a", usage=Usage(1)), draft("b")]
        first = await append(store, *drafts)
        await append(store, draft("c"))
        before = await store.get_session(TENANT, ref())
        again = await append(store, *drafts, now=NOW + SECOND_NS)
        assert seqs(again) == [(1, True), (2, True)]
        assert [event.event_id for event in again.events] == [event.event_id for event in first.events]
        assert (again.log_version, again.last_seq, again.window) == (2, 3, before.window)
        assert await store.get_session(TENANT, ref()) == before
        assert texts(await read(store)) == ["a", "b", "c"]

    async def test_a_replay_keeps_the_record_time_of_the_first_append(self, store: Store) -> None:
        await create(store)
        once = draft("a", event_id="e1")
        await append(store, once)
        stored = await store.get_event(TENANT, ref(), "e1")
        await append(store, once, now=NOW + SECOND_NS)
        assert await store.get_event(TENANT, ref(), "e1") == stored

    async def test_a_replay_ignores_expectations(self, store: Store) -> None:
        await create(store)
        drafts = [draft("a", event_id="e1"), draft("b", event_id="e2")]
        await append(store, *drafts, expected_log_version=0)
        await append(store, draft("c", event_id="e3"))
        assert seqs(await append(store, *drafts, expected_log_version=0)) == [(1, True), (2, True)]
        assert seqs(await append(store, *drafts, expected_last_event_id="")) == [(1, True), (2, True)]

    async def test_a_batch_that_is_known_in_part_stores_the_rest(self, store: Store) -> None:
        await create(store)
        known = [draft("a"), draft("c")]
        await append(store, *known)
        appended = await append(store, draft("x"), known[1], draft("y"), known[0], draft("z"))
        assert seqs(appended) == [(3, False), (2, True), (4, False), (1, True), (5, False)]
        assert (appended.log_version, appended.last_seq) == (2, 5)
        assert texts(await read(store)) == ["a", "c", "x", "y", "z"]

    async def test_a_partial_replay_must_meet_expectations(self, store: Store) -> None:
        await create(store)
        known = draft("a")
        await append(store, known)
        with pytest.raises(VersionMismatch):
            await append(store, known, draft("b"), expected_log_version=0)
        assert texts(await read(store)) == ["a"]

    async def test_the_same_id_with_other_content_is_a_conflict(self, store: Store) -> None:
        await create(store)
        await append(store, draft("a", event_id="e1"), draft("b", event_id="e2"))
        before = await store.get_session(TENANT, ref())
        with pytest.raises(EventIdConflict) as caught:
            await append(store, draft("new"), draft("other", event_id="e2"))
        assert caught.value.metadata == {"field": "events[1].event_id", "event_id": "e2", "seq": "2"}
        assert await store.get_session(TENANT, ref()) == before
        assert texts(await read(store)) == ["a", "b"]

    @pytest.mark.parametrize(
        "other",
        [
            draft("a ", event_id="e1"),
            draft("a", event_id="e1", role=Role.ASSISTANT),
            draft("a", event_id="e1", author="x"),
            draft("a", event_id="e1", branch="x"),
            draft("a", event_id="e1", time=5),
            draft("a", event_id="e1", metadata_json="{}"),
            draft("a", event_id="e1", usage=Usage(1)),
            draft("a", event_id="e1", synthetic=True),
        ],
        ids=["text", "role", "author", "branch", "time", "metadata", "usage", "synthetic"],
    )
    async def test_any_difference_is_other_content(self, store: Store, other: EventDraft) -> None:
        await create(store)
        await append(store, draft("a", event_id="e1"))
        with pytest.raises(EventIdConflict):
            await append(store, other)

    async def test_bytes_after_the_content_are_other_content(self, store: Store) -> None:
        """What the store adds behind the caller's bytes takes no part in the comparison."""
        await create(store)
        once = draft("a", event_id="e1")
        await append(store, once)
        sealed = (await store.get_event(TENANT, ref(), "e1")).body
        assert sealed.startswith(once.body)
        for body in (sealed, once.body[:-1], once.body + b"\x00", b""):
            with pytest.raises(EventIdConflict):
                await append(store, replace(once, body=body))

    async def test_ignore_existing_takes_the_stored_event_for_the_same(self, store: Store) -> None:
        await create(store)
        await append(store, draft("a", event_id="e1"))
        appended = await append(store, draft("other", event_id="e1"), draft("b"), ignore_existing=True)
        assert seqs(appended) == [(1, True), (2, False)]
        assert texts(await read(store)) == ["a", "b"]
        assert seqs(await append(store, draft("more", event_id="e1"), ignore_existing=True)) == [(1, True)]

    async def test_the_same_id_in_another_session_is_another_event(self, store: Store) -> None:
        await create(store, "s1")
        await create(store, "s2")
        await append(store, draft("one", event_id="e1"), to=ref("s1"))
        assert seqs(await append(store, draft("two", event_id="e1"), to=ref("s2"))) == [(1, False)]
        assert texts(await read(store, of=ref("s1"))) == ["one"]
        assert texts(await read(store, of=ref("s2"))) == ["two"]

    @pytest.mark.parametrize("event_id", ["it's", 'a"b', "50%_", "back\\slash", "ÄÖ🦀", "x" * 255, " "])
    async def test_event_ids_are_literal_and_case_sensitive(self, store: Store, event_id: str) -> None:
        await create(store)
        await append(store, draft("a", event_id=event_id))
        await append(store, draft("b", event_id=event_id.swapcase() + "x"))
        assert texts([await store.get_event(TENANT, ref(), event_id)]) == ["a"]
        assert seqs(await append(store, draft("a", event_id=event_id))) == [(1, True)]

    async def test_ids_made_by_the_server_are_new_events(self, store: Store) -> None:
        await create(store)
        for number in (1, 2):
            made = replace(draft("same", event_id=f"server-{number}"), generated_id=True)
            assert seqs(await append(store, made)) == [(number, False)]


class PreconditionRows:
    async def test_an_expected_version_is_met_or_nothing_happens(self, store: Store) -> None:
        await create(store)
        assert (await append(store, draft("a"), expected_log_version=0)).log_version == 1
        assert (await append(store, draft("b"), expected_log_version=1)).log_version == 2
        for expected in (0, 1, 3):
            with pytest.raises(VersionMismatch) as caught:
                await append(store, draft("c"), expected_log_version=expected)
            assert caught.value.metadata == {"session_id": "s1", "expected": str(expected), "actual": "2"}
        assert texts(await read(store)) == ["a", "b"]
        assert (await store.get_session(TENANT, ref())).log_version == 2

    async def test_an_expected_last_event_is_met_or_nothing_happens(self, store: Store) -> None:
        await create(store)
        await append(store, draft("a", event_id="e1"), draft("b", event_id="e2"), expected_last_event_id="")
        await append(store, draft("c", event_id="e3"), expected_last_event_id="e2")
        for expected in ("", "e1", "e2", "E3", "nowhere"):
            with pytest.raises(VersionMismatch) as caught:
                await append(store, draft("d"), expected_last_event_id=expected)
            assert caught.value.metadata == {"session_id": "s1", "expected": expected, "actual": "e3"}
        assert (await append(store, draft("d"), expected_last_event_id="e3")).last_seq == 4

    async def test_of_concurrent_writers_who_expect_the_same_version_one_wins(self, store: Store) -> None:
        await create(store)
        outcomes = await asyncio.gather(
            *(append(store, draft(f"w{number}"), expected_log_version=0) for number in range(16)), return_exceptions=True
        )
        won = [outcome for outcome in outcomes if isinstance(outcome, Appended)]
        assert [outcome.last_seq for outcome in won] == [1]
        assert {type(outcome) for outcome in outcomes} == {Appended, VersionMismatch}
        assert len(await read(store)) == 1

    async def test_of_concurrent_writers_who_expect_the_same_last_event_one_wins(self, store: Store) -> None:
        await create(store)
        outcomes = await asyncio.gather(
            *(append(store, draft(f"w{number}"), expected_last_event_id="") for number in range(16)), return_exceptions=True
        )
        assert [type(outcome) for outcome in outcomes].count(Appended) == 1
        assert len(await read(store)) == 1


class CreatingRows:
    async def test_an_append_can_create_its_session(self, store: Store) -> None:
        new = new_session(expire_time=NOW + 5, metadata_json='{"a":1}', labels={"x": "y"})
        appended = await append(store, draft("a"), create=new)
        assert (appended.session_created, appended.last_seq, appended.log_version) == (True, 1, 1)
        session = await store.get_session(TENANT, ref())
        assert (session.uid, session.expire_time, session.metadata_json) == (new.uid, NOW + 5, '{"a":1}')
        assert (dict(session.labels), session.last_seq, session.log_version) == ({"x": "y"}, 1, 1)

    async def test_an_existing_session_is_kept(self, store: Store) -> None:
        first = await create(store, metadata_json='{"first":1}')
        appended = await append(store, draft("a"), create=new_session(metadata_json='{"second":1}'))
        assert (appended.session_created, appended.last_seq) == (False, 1)
        session = await store.get_session(TENANT, ref())
        assert (session.uid, session.metadata_json) == (first.uid, '{"first":1}')

    async def test_an_append_that_creates_its_session_can_be_replayed(self, store: Store) -> None:
        once = draft("a")
        await append(store, once, create=new_session())
        again = await append(store, once, create=new_session())
        assert (again.session_created, seqs(again), again.log_version) == (False, [(1, True)], 1)

    @pytest.mark.parametrize("expected", [{"expected_log_version": 1}, {"expected_last_event_id": "e1"}])
    async def test_an_unmet_expectation_creates_no_session(self, store: Store, expected: dict[str, Any]) -> None:
        with pytest.raises(VersionMismatch):
            await append(store, draft("a"), create=new_session(), **expected)
        with pytest.raises(SessionNotFound):
            await store.get_session(TENANT, ref())

    @pytest.mark.parametrize("expected", [{"expected_log_version": 0}, {"expected_last_event_id": ""}])
    async def test_a_new_session_is_at_version_zero_without_a_last_event(self, store: Store, expected: dict[str, Any]) -> None:
        assert (await append(store, draft("a"), create=new_session(), **expected)).last_seq == 1
        with pytest.raises(VersionMismatch):
            await append(store, draft("b"), create=new_session(), **expected)

    async def test_of_concurrent_writers_one_creates_the_session_and_no_event_is_lost(self, store: Store) -> None:
        outcomes = await asyncio.gather(*(append(store, draft(f"w{n}"), create=new_session()) for n in range(16)))
        assert [outcome.session_created for outcome in outcomes].count(True) == 1
        assert sorted(outcome.events[0].seq for outcome in outcomes) == list(range(1, 17))
        assert sorted(texts(await read(store))) == sorted(f"w{n}" for n in range(16))


class ConcurrencyRows:
    async def test_sixty_four_writers_on_one_session_leave_no_gap_and_lose_nothing(self, store: Store) -> None:
        await create(store)

        async def write(writer: int) -> list[tuple[int, str]]:
            written = []
            for number in range(4):
                batch = [f"w{writer}.{number}.{part}" for part in range(1 + writer % 3)]
                appended = await append(store, *(draft(text) for text in batch))
                written += [(event.seq, text) for event, text in zip(appended.events, batch, strict=True)]
            return written

        by_writer = await asyncio.gather(*(write(writer) for writer in range(64)))
        reported = dict(pair for written in by_writer for pair in written)
        events = await read(store)
        assert [event.seq for event in events] == list(range(1, len(reported) + 1))
        assert dict(zip((event.seq for event in events), texts(events), strict=True)) == reported
        assert all(written == sorted(written, key=lambda pair: pair[0]) for written in by_writer)
        session = await store.get_session(TENANT, ref())
        assert (session.last_seq, session.log_version, session.window.events) == (len(reported), 64 * 4, len(reported))

    async def test_g4_readers_see_batches_whole(self, store: Store) -> None:
        await create(store)
        done = asyncio.Event()

        async def watch() -> None:
            while not done.is_set():
                events = await read(store)
                assert len(events) % 5 == 0
                assert [event.seq for event in events] == list(range(1, len(events) + 1))
                await asyncio.sleep(0)

        watcher = asyncio.create_task(watch())
        for _ in range(10):
            await asyncio.gather(*(append(store, *(draft("x") for _ in range(5))) for _ in range(4)))
        done.set()
        await watcher

    async def test_one_failing_append_harms_no_other(self, store: Store) -> None:
        """Appends share a transaction where the store groups them; each still succeeds or fails by itself."""
        await create(store, "s1")
        await create(store, "s2")
        known = draft("known", event_id="e1")
        await append(store, known)
        outcomes = await asyncio.gather(
            append(store, draft("a")),
            append(store, draft("conflict", event_id="e1")),
            append(store, known),
            append(store, draft("b"), to=ref("nowhere")),
            append(store, draft("c"), draft("d"), to=ref("s2")),
            append(store, draft("e"), expected_log_version=99),
            append(store, draft("f")),
            return_exceptions=True,
        )
        kinds = [type(outcome) for outcome in outcomes]
        assert kinds == [Appended, EventIdConflict, Appended, SessionNotFound, Appended, VersionMismatch, Appended]
        assert sorted(texts(await read(store))) == ["a", "f", "known"]
        assert texts(await read(store, of=ref("s2"))) == ["c", "d"]

    async def test_g2_the_same_append_sent_many_times_at_once_is_stored_once(self, store: Store) -> None:
        await create(store)
        batch = [draft("a"), draft("b")]
        outcomes = await asyncio.gather(*(append(store, *batch) for _ in range(12)))
        assert {tuple(event.seq for event in outcome.events) for outcome in outcomes} == {(1, 2)}
        assert [outcome.events[0].replayed for outcome in outcomes].count(False) == 1
        assert {outcome.log_version for outcome in outcomes} == {1}
        assert texts(await read(store)) == ["a", "b"]

    async def test_writers_of_many_sessions_do_not_mix(self, store: Store) -> None:
        sessions = [await session_with(store, session_id=f"s{number}") for number in range(8)]

        async def write(number: int) -> None:
            for turn in range(5):
                await append(store, draft(f"s{number} t{turn}"), to=sessions[number])

        await asyncio.gather(*(write(number) for number in range(8)))
        for number, session in enumerate(sessions):
            assert texts(await read(store, of=session)) == [f"s{number} t{turn}" for turn in range(5)]

    async def test_an_append_is_seen_by_every_read_that_starts_after_it(self, store: Store) -> None:
        await create(store)
        for number in range(10):
            appended = await append(store, draft(f"needle {number}", event_id=f"e{number}"))
            assert (await store.get_session(TENANT, ref())).last_seq == appended.last_seq
            assert len(await read(store)) == number + 1
            assert (await store.get_event(TENANT, ref(), f"e{number}")).seq == number + 1
            assert len(await search(store, f"needle {number}")) == 1

    async def test_deleting_while_others_append_leaves_no_orphans(self, store: Store) -> None:
        async def write(number: int) -> None:
            for turn in range(6):
                await append(store, draft(f"w{number} t{turn}"), create=new_session())

        async def delete() -> None:
            for _ in range(6):
                await store.delete_session(TENANT, ref())
                await asyncio.sleep(0)

        await asyncio.gather(*(write(number) for number in range(4)), delete())
        await append(store, draft("last"), create=new_session())
        events = await read(store)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        totals = (await store.info(TENANT, totals=True)).totals
        assert totals is not None
        assert (totals.sessions, totals.events) == (1, len(events))
