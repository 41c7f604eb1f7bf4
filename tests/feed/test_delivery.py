"""G8: the changes that subscribers received during a random workload, compared with the final state of the store."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack

import pytest

from tests.support.runs.thoroughness import some
from threadkeep.v1 import event_removal_pb2 as rm
from threadkeep.v1 import subscription_pb2 as pb
from threadkeep.v1.state_pb2 import StateScope

from .facts import Fact, Transcript, facts_of, last_lives
from .streams import View, subscriber
from .workload import VIEWS, Workload
from .writing import MORTAL, REFS, Removed, key_of

RESUMING_AT_ONCE = 8
WITHIN = 240.0


def assert_facts(received: list[Fact], expected: list[Fact]) -> None:
    """Compares; reports the first difference."""
    for place, (one, other) in enumerate(zip(received, expected, strict=False)):
        assert one == other, f"change {place} of {len(expected)}: {one} for {other}"
    assert len(received) == len(expected), f"beyond the end: {received[len(expected) :] or expected[len(received) :]}"


class TestOrdered:
    def test_changes_of_a_session_have_the_order_of_its_log(self, workload: Workload) -> None:
        for witness in workload.witnesses:
            for _, life in last_lives(witness.facts):
                first, *others = life
                assert first.kind == pb.SESSION_CHANGE_KIND_CREATED
                assert all(fact.kind in (0, pb.SESSION_CHANGE_KIND_UPDATED) for fact in others)
                versions = [fact.version for fact in life if fact.version]
                assert versions == list(range(1, len(versions) + 1)), "a change of the log is missing, twice or out of order"
                seqs = [event.seq for fact in life for event in fact.events]
                assert seqs == list(range(1, len(seqs) + 1))

    def test_changes_of_deleted_sessions_are_a_prefix_in_order(self, workload: Workload) -> None:
        for received in (*workload.witnesses, *workload.received.values()):
            last: dict[object, int] = {}
            for fact in received.facts:
                if fact.is_gone:
                    last.pop(fact.ref, None)
                elif fact.version:
                    assert fact.version > last.get(fact.ref, 0)
                    last[fact.ref] = fact.version

    def test_all_subscribers_see_the_same_order(self, workload: Workload) -> None:
        first, *others = [*workload.witnesses, workload.received["everything"]]
        for other in others:
            assert_facts(other.lasting, first.lasting)


class TestUnique:
    def test_no_change_is_delivered_twice(self, workload: Workload) -> None:
        for received in (*workload.witnesses, *workload.received.values()):
            assert max(Counter(received.facts).values()) == 1

    def test_no_event_is_delivered_twice(self, workload: Workload) -> None:
        for received in (*workload.witnesses, *workload.received.values()):
            versions = Counter((event.event_id, event.seq) for fact in received.facts for event in fact.events)
            assert not versions or max(versions.values()) == 1


class TestReliable:
    def test_every_event_is_delivered_as_it_is_stored(self, workload: Workload) -> None:
        lives = dict(last_lives(workload.witnesses[0].facts))
        assert lives.keys() == {key_of(ref) for ref in REFS}
        for ref, log in workload.logs.items():
            received = [event for fact in lives[ref] for event in fact.events]
            for event in log:
                event.ClearField("archived")
            assert received == sorted(log, key=lambda event: event.seq)

    def test_every_compaction_is_delivered_with_its_record(self, workload: Workload) -> None:
        for ref, life in last_lives(workload.witnesses[0].facts):
            received = [fact.change.compaction for fact in life if fact.change.HasField("compaction")]
            assert [notice.compaction for notice in received] == workload.records[ref][::-1]
            assert all(
                [event.event_id for event in notice.inserted] == notice.compaction.inserted_event_ids for notice in received
            )
            for notice in received:
                assert notice.compaction == workload.ledger.compacted[notice.compaction.compaction_id]

    def test_every_removal_is_delivered(self, workload: Workload) -> None:
        delivered = [_removed(fact) for fact in workload.witnesses[0].facts if fact.change.HasField("removal")]
        made = workload.ledger.removed
        assert set(delivered) <= set(made)
        lasting = [Counter(each for each in some if each.ref[2] != MORTAL) for some in (delivered, made)]
        assert lasting[0] == lasting[1]

    def test_changes_of_state_lead_to_the_state_in_order(self, workload: Workload) -> None:
        facts = workload.witnesses[0].facts
        lives = dict(last_lives(facts))
        for ref, stored in workload.states.items():
            changes = [fact.state for fact in (lives[ref] if ref[2] else facts) if fact.ref == ref and fact.state is not None]
            assert [change.version for change in changes] == list(range(1, stored.version + 1))
            values: dict[str, str] = {}
            for change in changes:
                values |= change.set
                for key in change.removed:
                    del values[key]
            assert values == stored.texts

    def test_every_creation_update_and_deletion_is_delivered(self, workload: Workload) -> None:
        facts = workload.witnesses[0].facts
        lives = dict(last_lives(facts))
        for session in workload.sessions:
            life = [fact.change.session_change.session for fact in lives[key_of(session.ref)] if fact.kind]
            assert {each.uid for each in life} == {session.uid}
            assert life[0] == workload.ledger.created.get(session.uid, life[0])
            by_bytes = Counter(each.SerializeToString(deterministic=True) for each in life[1:])
            updates = workload.ledger.updated.get(session.uid, [])
            assert by_bytes == Counter(each.SerializeToString(deterministic=True) for each in updates)
        deleted = Counter(fact.ref for fact in facts if fact.kind == pb.SESSION_CHANGE_KIND_DELETED)
        assert deleted == +workload.ledger.deleted
        assert sum(fact.kind == pb.SESSION_CHANGE_KIND_EXPIRED for fact in facts) == workload.ledger.expired
        assert len({fact.change.session_change.session.uid for fact in facts if fact.is_gone}) == sum(
            fact.is_gone for fact in facts
        )

    def test_the_last_change_of_a_log_has_the_state_of_the_session(self, workload: Workload) -> None:
        lives = dict(last_lives(workload.witnesses[0].facts))
        for session in workload.sessions:
            logged = [fact.change.versions for fact in lives[key_of(session.ref)] if fact.version]
            if not logged:
                assert session.log_version == 0
                continue
            last = logged[-1]
            assert (last.log_version, last.window_version) == (session.log_version, session.window_version)
            assert (last.last_seq, last.window) == (session.last_seq, session.window)

    @pytest.mark.parametrize("name", VIEWS)
    def test_each_view_receives_what_its_scope_and_filter_admit(self, workload: Workload, name: str) -> None:
        assert_facts(workload.received[name].lasting, workload.expected(name))

    def test_the_workload_contains_every_kind_of_change(self, workload: Workload) -> None:
        """Checks that the tests above have enough to compare."""
        facts = workload.witnesses[0].lasting
        assert len(facts) > 80
        assert sum(fact.change.HasField("compaction") for fact in facts) >= 5
        removals = {fact.change.removal.kind for fact in facts if fact.change.HasField("removal")}
        assert removals >= {rm.REMOVAL_KIND_POPPED, rm.REMOVAL_KIND_REPLACED}
        changed = [fact for fact in facts if fact.state is not None]
        assert {fact.state.scope for fact in changed if fact.state} == set(StateScope.values()) - {0}
        assert {fact.change.WhichOneof("kind") for fact in changed} == {"batch", "state"}
        # Changes of owner have tests of their own, in tests/store/rows/moving.
        moves = {pb.SESSION_CHANGE_KIND_MOVED_OUT, pb.SESSION_CHANGE_KIND_MOVED_IN}
        assert {fact.kind for fact in facts} == set(pb.SessionChangeKind.values()) - moves
        for name, received in workload.received.items():
            assert any(fact.events for fact in received.facts), name
            assert len(received.facts) < len(workload.witnesses[0].facts) or name == "everything"


class TestAtomic:
    def test_an_append_is_delivered_completely_with_the_counters_of_its_response(self, workload: Workload) -> None:
        batches = {fact.events[0].event_id: fact for fact in workload.witnesses[0].facts if fact.change.HasField("batch")}
        lasting = {ref for fact in workload.witnesses[0].lasting for ref in [event.event_id for event in fact.events]}
        for appended in workload.ledger.appended:
            fact = batches.get(appended.event_ids[0])
            if fact is None:
                assert lasting.isdisjoint(appended.event_ids)
                continue
            answer, versions = appended.answer, fact.change.versions
            assert [(each.event_id, each.seq) for each in fact.events] == [(each.event_id, each.seq) for each in answer.events]
            assert (versions.log_version, versions.last_seq) == (answer.log_version, answer.last_seq)
            assert versions.window == answer.window

    def test_a_compaction_is_delivered_completely_with_the_counters_of_its_record(self, workload: Workload) -> None:
        for fact in workload.witnesses[0].facts:
            if fact.change.HasField("compaction"):
                record, versions = fact.change.compaction.compaction, fact.change.versions
                assert (versions.log_version, versions.window_version) == (record.log_version, record.window_version)
                assert versions.window == record.after


class TestResumable:
    @pytest.mark.parametrize("name", VIEWS)
    async def test_resuming_from_every_token_delivers_the_rest(self, workload: Workload, name: str) -> None:
        """Resumes on the next server, if there are several. In the short form, from every third token."""
        await check_rests(workload, VIEWS[name], workload.received[name])

    @pytest.mark.parametrize("name", VIEWS)
    async def test_resuming_from_every_token_of_a_replay_delivers_the_rest(self, workload: Workload, name: str) -> None:
        async with subscriber(workload.addresses[0]) as tap:
            read = await tap.read(VIEWS[name], from_beginning=True)
        replayed = facts_of(read)
        expected = workload.expected(name)
        if "session" in name:  # starts with the creation of the existing session
            expected = [fact for _, life in last_lives(expected) for fact in life]
        assert_facts(replayed, expected)

    async def test_starting_after_every_seq_delivers_the_rest(self, workload: Workload) -> None:
        """Excludes earlier events, also within the same append."""
        async with subscriber(workload.addresses[-1]) as tap:
            for ref in REFS[:3]:
                life = dict(last_lives(workload.witnesses[0].facts))[key_of(ref)]
                for seq in range(len(workload.logs[key_of(ref)]) + 1):
                    assert_facts(facts_of(await tap.read(View(ref), after_seq=seq)), after_seq(life, seq))
                refused = await tap.refused(View(ref), after_seq=len(workload.logs[key_of(ref)]) + 1)
                assert refused.reason == "INVALID_FIELD"


def _removed(fact: Fact) -> Removed:
    notice = fact.change.removal
    assert notice.removed == len(notice.event_ids) or notice.kind == rm.REMOVAL_KIND_CLEARED
    return Removed(fact.ref, fact.version, notice.kind, tuple(notice.event_ids), notice.through_seq)


def after_seq(life: list[Fact], seq: int) -> list[Fact]:
    """Returns the rest of one life: the changes after the one with the seq, and the later events of that one."""
    if seq == 0:
        return life
    place = next(place for place, fact in enumerate(life) if any(event.seq == seq for event in fact.events))
    at = life[place].after(seq)
    return [at, *life[place + 1 :]] if at.events else life[place + 1 :]


async def check_rests(workload: Workload, view: View, received: Transcript) -> None:
    room = asyncio.Semaphore(RESUMING_AT_ONCE)

    async def check(number: int) -> None:
        mark = received.bookmarks[number]
        async with room:
            rest = facts_of(await taps[number % len(taps)].read(view, resume_token=mark.token))
        assert_facts(rest, received.rest(mark))

    async with asyncio.timeout(WITHIN), AsyncExitStack() as stack:
        taps = [await stack.enter_async_context(subscriber(address)) for address in workload.addresses]
        async with asyncio.TaskGroup() as group:
            for number in some(range(len(received.bookmarks)), 3):
                group.create_task(check(number))
