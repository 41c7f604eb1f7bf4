"""A caller's own compactions: by ids, by seq, and by replacing the whole window."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.codec import draft
from tests.support.sessions import TENANT, append, compact, ref
from tests.unit.service.bench import Bench, inserted, log, stub
from threadkeep_server.domain.errors import (
    BrokenToolPair,
    EventIdConflict,
    EventNotFound,
    InvalidField,
    NothingToCompact,
    ThreadkeepError,
)
from threadkeep_server.domain.model import NO_COUNTERS, EventDraft, Role, Usage
from threadkeep_server.store.contract.events import EventQuery

FOUR = "U1 A1 U2 A2"


# --- by ids


async def test_versions_grow_by_one(bench: Bench) -> None:
    await bench.session(FOUR)
    before = await bench.look()
    applied = await bench.apply("U1", "A1", inserts={"U2": [inserted("s")]}, strategy="by hand", actor="me")
    after = await bench.look()
    assert applied.matched
    assert applied.versions == after.versions
    assert (after.log_version, after.window_version) == (before.log_version + 1, before.window_version + 1)
    done = applied.compaction
    assert done is not None
    assert (done.strategy, done.actor, done.archived, done.inserted) == ("by hand", "me", 2, ("s",))
    assert (done.before, done.after) == (before.window, after.window)
    assert await bench.active() == "s U2 A2"


@pytest.mark.parametrize(
    ("inserts", "left"),
    [
        ({None: [inserted("s")]}, "U2 A2 s"),
        ({"U2": [inserted("s"), inserted("t")]}, "s t U2 A2"),
        ({"A2": [inserted("s")], None: [inserted("t")]}, "U2 s A2 t"),
        ({}, "U2 A2"),
    ],
)
async def test_inserts_go_before_what_they_name(bench: Bench, inserts: dict[str | None, list[EventDraft]], left: str) -> None:
    await bench.session(FOUR)
    await bench.apply("U1", "A1", inserts=inserts)
    assert await bench.active() == left


async def test_inserted_events_are_kept_byte_for_byte(bench: Bench) -> None:
    await bench.session(FOUR)
    made = inserted("s", "Zusammenfassung\n☂", metadata_json='{"a": 1}', author="me", usage=Usage(input=7, output=1, total=8))
    await bench.apply("U1", "A1", inserts={None: [made]})
    stored = await bench.store.list_events(TENANT, ref(), EventQuery())
    assert stored.events[-1].body.startswith(made.body)
    window = await bench.store.read_window(TENANT, ref())
    assert (await bench.look()).window == sum((each.counters for each in window.events), NO_COUNTERS)
    # What the summary cost is counted with the session, once.
    assert (await bench.look()).usage == Usage(input=7, output=1, total=8)


async def test_moving_events_counts_no_usage_twice(bench: Bench) -> None:
    await bench.session()
    used = Usage(input=10, output=5, total=15)
    await append(bench.store, draft("hello", event_id="A", role=Role.ASSISTANT, usage=used), *log("U1"))
    await bench.apply("A")
    await bench.replace(*log("U1"))
    assert (await bench.look()).usage == used


@pytest.mark.parametrize("dry_run", [False, True])
async def test_a_stale_window_version_changes_nothing(bench: Bench, dry_run: bool) -> None:
    await bench.session(FOUR)
    await bench.apply("U1")
    before = await bench.everything()
    for stale in (0, 2, -1, (1 << 63) - 1):
        applied = await bench.apply("A1", at=stale, dry_run=dry_run)
        assert (applied.matched, applied.compaction) == (False, None)
        assert applied.versions == before[0].versions
    assert await bench.everything() == before


async def test_appends_fail_only_a_strict_precondition(bench: Bench) -> None:
    await bench.session(FOUR)
    seen = (await bench.look()).log_version
    await append(bench.store, *log("U3"))
    assert not (await bench.apply("U1", at=0, expected_log_version=seen)).matched
    assert (await bench.apply("U1", at=0)).matched
    assert await bench.active() == "A1 U2 A2 U3"
    now = await bench.look()
    assert (await bench.apply("A1", at=1, expected_log_version=now.log_version)).matched


async def test_an_append_between_read_and_apply_fails_a_strict_precondition(bench: Bench) -> None:
    await bench.session(FOUR)
    bench.store.before["compact"] = lambda: append(bench.store, *log("U3"))
    applied = await bench.apply("U1", expected_log_version=(await bench.look()).log_version)
    assert not applied.matched
    assert applied.versions == (await bench.look()).versions
    assert await bench.active() == "U1 A1 U2 A2 U3"


async def test_a_dry_run_checks_all_and_changes_nothing(bench: Bench) -> None:
    await bench.session("U1 A1(c) T1(c)")
    before = await bench.everything()
    applied = await bench.apply("U1", inserts={"A1": [inserted("s")]}, dry_run=True)
    assert applied.matched
    assert applied.compaction is not None
    assert (applied.compaction.archived, applied.compaction.inserted) == (1, ("s",))
    with pytest.raises(BrokenToolPair):
        await bench.apply("A1", dry_run=True)
    assert await bench.everything() == before


@pytest.mark.parametrize(
    ("archive", "inserts", "error"),
    [
        (["nowhere"], {}, EventNotFound),
        (["U1", "nowhere"], {}, EventNotFound),
        (["U1"], {"nowhere": [inserted("s")]}, EventNotFound),
        (["U1"], {"U1": [inserted("s")]}, EventNotFound),
        (["gone"], {}, InvalidField),
        (["U1"], {"gone": [inserted("s")]}, InvalidField),
        (["A1", "nowhere"], {}, EventNotFound),
        (["U1"], {None: [inserted("U2")]}, EventIdConflict),
        (["U1"], {None: [inserted("gone")]}, EventIdConflict),
        (["A1"], {}, BrokenToolPair),
        (["T1"], {}, BrokenToolPair),
        (["U1"], {None: [stub("s", "x")]}, BrokenToolPair),
        (["T1"], {"A1": [stub("s", "c")]}, BrokenToolPair),
        ([], {}, NothingToCompact),
    ],
)
async def test_an_invalid_replacement_changes_nothing(
    bench: Bench, archive: list[str], inserts: dict[str | None, list[EventDraft]], error: type[Exception]
) -> None:
    await bench.session("U1 A1(c) T1(c) U2")
    await append(bench.store, draft("gone", event_id="gone"))
    await compact(bench.store, ["gone"])
    before = await bench.everything()
    with pytest.raises(error):
        await bench.apply(*archive, inserts=inserts)
    assert await bench.everything() == before


async def test_a_stub_replaces_a_result(bench: Bench) -> None:
    await bench.session("U1 A1(c,d) T1(c) T2(d) U2")
    await bench.apply("T1", inserts={"T2": [stub("s", "c")]})
    assert await bench.active() == "U1 A1 s T2 U2"
    with pytest.raises(BrokenToolPair) as caught:
        await bench.apply("s")
    assert caught.value.metadata == {"session_id": "s1", "event_id": "A1", "tied_to": "s"}


async def test_a_branch_restricts(bench: Bench) -> None:
    await bench.session("U1 U2@sub A2@sub A1")
    with pytest.raises(InvalidField) as caught:
        await bench.apply("U2", "U1", branch="sub")
    assert caught.value.metadata["field"] == "event_ids.ids[1]"
    applied = await bench.apply("U2", "A2", branch="sub", inserts={"A1": [inserted("s", branch="sub")]})
    assert await bench.active() == "U1 s A1"
    assert applied.compaction is not None
    assert applied.compaction.branch == "sub"


# --- replays


async def test_a_compaction_is_applied_once(bench: Bench) -> None:
    await bench.session(FOUR)
    first = await bench.apply("U1", "A1", at=0, compaction_id="c1", inserts={"U2": [inserted("s")]})
    await append(bench.store, *log("U3"))
    before = await bench.everything()
    again = await bench.apply("U1", "A1", at=0, compaction_id="c1", inserts={"U2": [inserted("s")]}, expected_log_version=1)
    assert (again.matched, again.replayed, again.compaction) == (True, True, first.compaction)
    assert not first.replayed
    assert again.versions == before[0].versions
    assert await bench.everything() == before
    other = await bench.session("U1 A1", "s2")
    assert not (await bench.apply("U1", compaction_id="c1", of=other)).replayed


@pytest.mark.parametrize("moment", ["read_window", "get_compaction", "compact"])
async def test_a_retry_while_the_first_attempt_is_under_way_is_a_replay(bench: Bench, moment: str) -> None:
    """The second attempt reports that it was applied, with the session's versions, whenever the first one commits."""
    await bench.session(FOUR)

    async def first() -> None:
        assert (await bench.apply("U1", "A1", at=0, compaction_id="c1")).matched
        await append(bench.store, *log("U3"))

    bench.store.before[moment] = first
    second = await bench.apply("U1", "A1", at=0, compaction_id="c1")
    assert (second.matched, second.replayed) == (True, True)
    assert second.versions == (await bench.look()).versions
    assert (await bench.look()).window_version == 1


async def test_without_an_id_a_retry_is_a_mismatch(bench: Bench) -> None:
    await bench.session(FOUR)
    assert (await bench.apply("U1", at=0)).matched
    assert not (await bench.apply("U1", at=0)).matched


# --- through a seq


async def test_the_tail_is_the_unread_events(bench: Bench) -> None:
    await bench.session(FOUR)
    seen = await bench.look()
    await append(bench.store, *log("U3 A3"))
    applied = await bench.apply(
        at=seen.window_version, through_seq=seen.last_seq, inserts={None: [inserted("u", role=Role.USER), inserted("a")]}
    )
    assert await bench.active() == "u a U3 A3"
    assert applied.compaction is not None
    assert (applied.compaction.first_seq, applied.compaction.last_seq) == (1, 4)
    assert applied.versions == (await bench.look()).versions


async def test_of_two_compactions_of_the_same_range_one_is_a_mismatch(bench: Bench) -> None:
    await bench.session(FOUR)
    both = await asyncio.gather(
        *(bench.apply(at=0, through_seq=4, inserts={None: [inserted(name)]}, compaction_id=name) for name in ("one", "two"))
    )
    assert sorted(applied.matched for applied in both) == [False, True]
    assert await bench.active() in {"one", "two"}


async def test_reading_again_after_a_compaction_includes_its_summary(bench: Bench) -> None:
    await bench.session(FOUR)
    await bench.apply(through_seq=4, inserts={None: [inserted("first")]})
    await append(bench.store, *log("U3"))
    await bench.apply(through_seq=6, inserts={None: [inserted("second")]})
    assert await bench.active() == "second"


async def test_a_summary_is_never_placed_between_a_call_and_its_result(bench: Bench) -> None:
    await bench.session("S1 U1 A1(c)")
    seen = await bench.look()
    await append(bench.store, *log("T1(c) A2"))
    await bench.apply(at=0, through_seq=seen.last_seq, inserts={None: [inserted("s")]})
    assert await bench.active() == "S1 s A1 T1 A2"


async def test_events_are_inserted_while_nothing_is_archived(bench: Bench) -> None:
    await bench.session("U1 A1 U2")
    applied = await bench.apply(inserts={"U2": [inserted("s")], None: [inserted("t")]})
    assert applied.compaction is not None
    assert (applied.compaction.archived, applied.compaction.inserted) == (0, ("s", "t"))
    assert await bench.active() == "U1 A1 s U2 t"


async def test_an_event_that_is_appended_after_the_window_was_read_is_not_found(bench: Bench) -> None:
    await bench.session("U1")
    bench.store.before["get_event"] = lambda: append(bench.store, *log("U2"))
    with pytest.raises(EventNotFound):
        await bench.apply("U2")


async def test_a_read_window_without_conversation_is_not_compactable(bench: Bench) -> None:
    await bench.session("S1")
    with pytest.raises(NothingToCompact):
        await bench.apply(through_seq=1, inserts={None: [inserted("s")]})


# --- replacing


async def test_replacing_keeps_inserts_and_archives(bench: Bench) -> None:
    await bench.session("U1 A1")
    before = await bench.look()
    kept = log("A1")
    applied = await bench.replace(inserted("summary"), *kept)
    assert applied.matched
    assert await bench.active() == "summary A1"
    assert [(each.event_id, each.seq, each.archived) for each in await bench.events()] == [
        ("U1", 1, True),
        ("summary", 3, False),
        ("A1", 2, False),
    ]
    assert applied.versions == (await bench.look()).versions
    assert applied.versions.window_version == before.window_version + 1


async def test_replacing_at_a_stale_version_changes_nothing(bench: Bench) -> None:
    await bench.session(FOUR)
    before = await bench.everything()
    for stale in (3, 5, 0, -1):
        applied = await bench.replace(inserted("s"), at=stale)
        assert (applied.matched, applied.compaction, applied.versions) == (False, None, before[0].versions)
    assert await bench.everything() == before


async def test_an_append_in_between_rejects_a_replacement(bench: Bench) -> None:
    await bench.session(FOUR)
    bench.store.before["compact"] = lambda: append(bench.store, *log("U3"))
    assert not (await bench.replace(*log("U1"))).matched
    assert await bench.active() == "U1 A1 U2 A2 U3"


async def test_a_replacement_may_leave_the_window_empty(bench: Bench) -> None:
    await bench.session(FOUR)
    assert (await bench.replace()).matched
    assert await bench.active() == ""
    session = await bench.look()
    assert (session.window_version, session.window, len(await bench.events())) == (1, NO_COUNTERS, 4)


@pytest.mark.parametrize("text", [FOUR, ""])
async def test_replacing_a_window_by_itself_changes_nothing(bench: Bench, text: str) -> None:
    await bench.session(text)
    before = await bench.everything()
    applied = await bench.replace(*log(text))
    assert (applied.matched, applied.compaction, applied.versions) == (True, None, before[0].versions)
    assert await bench.everything() == before


async def test_inserts_are_placed_before_the_named_events(bench: Bench) -> None:
    await bench.session(FOUR)
    names = ["a", "U1", "b", "c", "A2", "d"]
    known = {each.event_id: each for each in log(FOUR)}
    await bench.replace(*(known.get(name) or inserted(name) for name in names))
    assert (await bench.active()).split() == names


async def test_a_dry_replacement_changes_nothing(bench: Bench) -> None:
    await bench.session(FOUR)
    before = await bench.everything()
    applied = await bench.replace(inserted("s"), dry_run=True)
    assert applied.matched
    assert applied.compaction is not None
    assert applied.compaction.archived == 4
    assert await bench.everything() == before


@pytest.mark.parametrize(
    ("drafts", "error", "field"),
    [
        ([draft("other", event_id="U1")], EventIdConflict, "events[0].event_id"),
        ([*log("A1"), *log("U1")], InvalidField, "events[1]"),
        ([*log("U1"), *log("T1(c)")], BrokenToolPair, None),
        ([*log("U1"), *log("A2(c)")], BrokenToolPair, None),
        ([inserted("gone")], EventIdConflict, "inserts"),
        ([stub("s", "x")], BrokenToolPair, None),
    ],
)
async def test_a_replacement_that_cannot_be_made_changes_nothing(
    bench: Bench, drafts: list[EventDraft], error: type[ThreadkeepError], field: str | None
) -> None:
    await bench.session("U1 A1 A2(c) T1(c)")
    await append(bench.store, draft("gone", event_id="gone"))
    await compact(bench.store, ["gone"])
    before = await bench.everything()
    with pytest.raises(error) as caught:
        await bench.replace(*drafts)
    assert caught.value.metadata.get("field") == field
    assert await bench.everything() == before
