"""Checkpoints, and the content of each kind of change."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

import threadkeep
from threadkeep import compaction
from threadkeep.v1 import subscription_pb2 as pb
from threadkeep.v1.compaction_pb2 import CompactionStrategy, SlidingWindow
from threadkeep.v1.filter_pb2 import LOG_VIEW_ACTIVE, EventFilter
from threadkeep.v1.message_pb2 import ROLE_TOOL
from threadkeep.v1.session_pb2 import SessionRef

from .conftest import ServerMaker
from .facts import Fact, facts_of
from .scene import Scene, next_change, opened, session_of
from .streams import EVERYTHING, WITHIN, View, is_checkpoint, named

HEARTBEAT, DEFAULT_HEARTBEAT = 1.0, 15.0
TOOLS = EventFilter(roles=[ROLE_TOOL])


class TestCheckpoints:
    async def test_a_stream_starts_with_a_checkpoint_and_reports_catching_up(self, scene: Scene) -> None:
        async with scene.live(scene.view()):
            await scene.create()
            await scene.say()
        read = await scene.replay(scene.session_view())
        kinds = [change.WhichOneof("kind") for change in read]
        assert kinds == ["checkpoint", "session_change", "batch", "checkpoint"]
        assert is_checkpoint(read[0], pb.CHECKPOINT_KIND_STARTED)
        assert all(not change.HasField("change_time") for change in (read[0], read[-1]))
        assert not read[0].HasField("session")

    async def test_changes_after_the_first_frame_are_delivered(self, scene: Scene) -> None:
        await scene.create()
        for _ in range(20):
            async with scene.tap.watch(scene.session_view()) as stream:
                await stream.checkpoint(pb.CHECKPOINT_KIND_STARTED)
                answer = await scene.say()
                while (version := (await next_change(stream)).version) < answer.log_version:
                    pass  # the last commit may not have been settled
                assert version == answer.log_version

    async def test_an_idle_stream_has_heartbeats_whose_tokens_advance(self, scene: Scene) -> None:
        await scene.create()
        loop = asyncio.get_running_loop()
        await scene.settle()
        since = loop.time()  # the server may be well ahead of what is read here
        async with scene.tap.watch(scene.session_view(wanted=TOOLS)) as stream:
            await stream.live()
            first = await stream.checkpoint(pb.CHECKPOINT_KIND_HEARTBEAT)
            assert HEARTBEAT * 0.8 < loop.time() - since < DEFAULT_HEARTBEAT
            assert first.resume_token == stream.edge.resume_token
            await scene.say("nothing for this subscriber")
            async with asyncio.timeout(WITHIN):  # some may have been sent before it
                while (second := await stream.checkpoint(pb.CHECKPOINT_KIND_HEARTBEAT)).resume_token == first.resume_token:
                    pass
        view = scene.session_view(wanted=TOOLS)
        assert facts_of(await scene.tap.read(view, resume_token=second.resume_token)) == []

    async def test_a_busy_stream_has_no_heartbeats(self, scene: Scene) -> None:
        await scene.create()
        loop = asyncio.get_running_loop()
        since = loop.time()
        async with scene.live(scene.view()) as stream:
            for _ in range(8):
                began = loop.time()
                await scene.say()
                beats = 0
                while not (change := await stream.next()).HasField("batch"):
                    assert is_checkpoint(change, pb.CHECKPOINT_KIND_HEARTBEAT)
                    beats += 1
                # The server sent the two batches within this time, which is longer than a heartbeat on a stalled machine.
                assert not beats or loop.time() - since >= HEARTBEAT
                since = began
                await asyncio.sleep(HEARTBEAT / 4)

    async def test_many_changes_are_sent_in_few_frames(self, scene: Scene) -> None:
        await scene.create()
        batches = [("s", [threadkeep.user(str(number))]) for number in range(300)]
        async for result in scene.client.append_stream(batches):
            assert threadkeep.error_of(result) is None
        async with scene.tap.watch(scene.session_view(), after_seq=0) as stream:
            assert len(await stream.changes(301)) == 301
            assert stream.frames < 10


class TestContents:
    async def test_creating_a_session_is_a_change(self, scene: Scene) -> None:
        async with scene.live(scene.view()) as stream:
            session = await scene.create(labels={"team": "red"}, metadata={"a": 1})
            (change,) = await stream.changes(1)
            assert change.session == session.ref
            assert session_of(change, pb.SESSION_CHANGE_KIND_CREATED) == session
            assert change.change_time == session.create_time

    async def test_creating_a_session_by_an_append_is_a_change(self, scene: Scene) -> None:
        async with scene.live(scene.view()) as stream:
            await scene.client.append("s", threadkeep.user("hello"), create_if_missing={"labels": {"team": "red"}})
            created, batch = await stream.changes(2)
            assert session_of(created, pb.SESSION_CHANGE_KIND_CREATED).labels == {"team": "red"}
            assert batch.versions.log_version == 1

    async def test_updating_a_session_is_a_change(self, scene: Scene) -> None:
        await scene.create(labels={"team": "red"})
        await scene.say()
        async with scene.live(scene.view()) as stream:
            session = await scene.client.update_session("s", labels={"team": "blue"}, metadata={"a": 2}, context_bytes=5000)
            (change,) = await stream.changes(1)
            assert session_of(change, pb.SESSION_CHANGE_KIND_UPDATED) == session

    async def test_an_append_is_a_change(self, scene: Scene) -> None:
        await scene.create()
        async with scene.live(scene.view()) as stream:
            for texts in (("one",), ("two", "three"), ("four",)):
                answer = await scene.say(*texts)
                fact = await next_change(stream)
                session = await scene.client.get_session("s")
                versions = fact.change.versions
                assert (versions.log_version, versions.last_seq) == (answer.log_version, answer.last_seq)
                assert versions.window == answer.window == session.window
                stored = [await scene.client.get_event("s", event.event_id) for event in answer.events]
                assert list(fact.events) == stored

    async def test_a_compaction_is_a_change(self, scene: Scene) -> None:
        await scene.create()
        for number in range(8):
            await scene.say(str(number))
        summary = threadkeep.user("all of it", synthetic=True, compaction_source="test")
        async with scene.live(scene.view()) as stream:
            answer = await scene.client.apply_compaction(
                "s", through_seq=4, inserts=[compaction.insert(summary)], expected_window_version=0, actor="tests"
            )
            by_server = await scene.client.compact("s", CompactionStrategy(sliding_window=SlidingWindow(max_events=2)))
            for record, inserted in ((answer.compaction, 1), (by_server.compaction, 0)):
                fact = await next_change(stream)
                notice, versions = fact.change.compaction, fact.change.versions
                assert notice.compaction == record
                assert len(notice.inserted) == inserted
                assert (versions.log_version, versions.window_version) == (record.log_version, record.window_version)
                assert versions.window == record.after
            session = await scene.client.get_session("s")
            assert (versions.last_seq, versions.window) == (session.last_seq, session.window)

    async def test_a_change_of_state_is_a_change_of_its_own_or_of_an_append(self, scene: Scene) -> None:
        await scene.create()
        client = scene.client
        async with scene.live(scene.view(TOOLS)) as stream:
            await client.session("s").state().patch({"a": 1})
            await client.append("s", threadkeep.user("hi"), state={"set": {"a": 2}}, user_state={"set": {"b": 1}})
            await scene.say("no tool")
            await client.app_state().patch(remove=["a"])  # changes nothing
            await client.app_state().patch({"a": None})
            patched, appended, of_user, of_app = [Fact(each) for each in await stream.changes(4)]
        assert [fact.ref[1:] for fact in (patched, of_user, of_app)] == [("ann", "s"), ("ann", ""), ("", "")]
        assert [dict(fact.state.set) for fact in (patched, of_user, of_app) if fact.state] == [
            {"a": "1"},
            {"b": "1"},
            {"a": "null"},
        ]
        assert not patched.change.HasField("versions")
        assert appended.change.batch.state.version == 2
        assert (list(appended.events), appended.version) == ([], 1)
        of_session = facts_of(await scene.replay(scene.session_view()))
        assert [fact.state.version for fact in of_session if fact.state] == [1, 2]

    async def test_a_removal_is_a_change_with_what_left_and_what_came(self, scene: Scene) -> None:
        await scene.create()
        await scene.client.append("s", *(threadkeep.user(each, event_id=each) for each in ("e1", "e2", "e3")))
        async with scene.live(scene.view()) as stream:
            versions = [(await scene.client.pop("s", 1)).log_version]
            new = threadkeep.user("new", event_id="e2")
            versions.append((await scene.client.replace_suffix("s", ["e2"], new)).log_version)
            versions.append((await scene.client.erase_events("s", ["e2"])).log_version)
            versions.append((await scene.client.clear("s")).log_version)
            read = [await next_change(stream) for _ in versions]
        assert [fact.version for fact in read] == versions
        notices = [fact.change.removal for fact in read]
        assert [list(notice.seqs) for notice in notices] == [[3], [2], [2, 4], []]
        assert [threadkeep.text_of(event) for event in notices[1].inserted] == ["new"]
        assert [notice.erased for notice in notices] == [False, False, True, False]
        assert notices[3].through_seq == 4
        # Who reads later does not receive what was erased.
        replayed = facts_of(await scene.replay(scene.session_view()))
        texts = [[threadkeep.text_of(event) for event in fact.events] for fact in replayed]
        assert texts == [[], ["e1", "", "e3"], [], [""], [], []]

    async def test_deletion_and_expiry_are_changes(self, scene: Scene) -> None:
        async with scene.live(scene.view()) as stream:
            for kind in (pb.SESSION_CHANGE_KIND_DELETED, pb.SESSION_CHANGE_KIND_EXPIRED):
                expires = kind == pb.SESSION_CHANGE_KIND_EXPIRED
                ttl = timedelta(milliseconds=1) if expires else None
                session = await scene.create(labels={"team": "red"}, metadata={"a": 1}, ttl=ttl)
                await stream.changes(1)
                if expires:
                    await asyncio.sleep(0.002)
                    await scene.client.delete_expired_sessions()
                else:
                    await scene.client.delete_session("s")
                (change,) = await stream.changes(1)
                gone = session_of(change, kind)
                assert (gone.ref, gone.uid, gone.labels) == (session.ref, session.uid, session.labels)
                assert not gone.metadata_json

    async def test_calls_that_store_nothing_are_not_changes(self, scene: Scene) -> None:
        await scene.create()
        event = threadkeep.user("hello", event_id="e")
        await scene.client.append("s", event)
        async with scene.live(scene.view()) as stream:
            assert (await scene.client.append("s", event)).events[0].replayed
            await scene.client.create_session("s", return_existing=True)
            await scene.client.delete_session("there is none")
            with pytest.raises(threadkeep.errors.VersionMismatch):
                await scene.client.append("s", threadkeep.user("late"), expect=threadkeep.LogVersion(7))
            await scene.say("at last")
            assert (await next_change(stream)).version == 2


class TestScopes:
    async def test_a_session_may_be_watched_before_it_exists_and_after_deletion(self, scene: Scene) -> None:
        async with scene.live(scene.session_view(), from_beginning=True) as stream:
            for _ in range(2):
                await scene.create("other")
                created = await scene.create()
                await scene.say()
                first, batch = await stream.changes(2)  # who reads after the deletion receives the deletion alone
                await scene.client.delete_session("s")
                await scene.client.delete_session("other")
                (gone,) = await stream.changes(1)
                assert session_of(first, pb.SESSION_CHANGE_KIND_CREATED).uid == created.uid
                assert batch.versions.last_seq == 1
                assert session_of(gone, pb.SESSION_CHANGE_KIND_DELETED).uid == created.uid

    async def test_a_bare_id_must_name_one_session(self, scene: Scene) -> None:
        name = f"only-in-{scene.app}"
        bare = View(SessionRef(session_id=name))
        assert (await scene.tap.refused(bare)).reason == "SESSION_NOT_FOUND"
        await scene.create(name)
        async with scene.live(bare) as stream:
            await scene.say(to=name)
            assert (await next_change(stream)).ref == (scene.app, "ann", name)
        await scene.client.create_session(name, user_id="bob")
        assert (await scene.tap.refused(bare)).reason == "AMBIGUOUS_SESSION"

    async def test_label_scopes_match_labels_before_and_after_an_update(self, scene: Scene) -> None:
        labeled = scene.view(labels={"mood": "good"})
        async with scene.live(scene.view()) as every, scene.live(labeled) as stream:
            await scene.create()
            await scene.say("unheard")
            await every.changes(2)  # the labels are those at the time of reading
            await scene.client.update_session("s", labels={"mood": "good", "team": "red"})
            (change,) = await stream.changes(1)
            assert session_of(change, pb.SESSION_CHANGE_KIND_UPDATED).labels["mood"] == "good"
            await scene.say("heard")
            assert (await next_change(stream)).version == 2
            await scene.client.update_session("s", labels={"mood": "bad"})
            (change,) = await stream.changes(1)
            assert session_of(change, pb.SESSION_CHANGE_KIND_UPDATED).labels == {"mood": "bad"}
            await scene.say("unheard")
            await every.changes(4)
            await scene.client.update_session("s", labels={"mood": "good"})
            (change,) = await stream.changes(1)
            assert session_of(change, pb.SESSION_CHANGE_KIND_UPDATED).last_seq == 3

    async def test_the_active_view_is_evaluated_when_reading(self, scene: Scene) -> None:
        await scene.create()
        for number in range(6):
            await scene.say(str(number))
        await scene.client.compact("s", CompactionStrategy(sliding_window=SlidingWindow(max_events=2)))
        active = EventFilter(view=LOG_VIEW_ACTIVE)
        replay = facts_of(await scene.replay(scene.session_view(wanted=active)))
        kept = [event.event_id async for event in scene.client.events("s", active)]
        assert [event.event_id for fact in replay for event in fact.events] == kept
        assert [fact.change.WhichOneof("kind") for fact in replay] == ["session_change", "batch", "batch", "compaction"]


class TestLimits:
    async def test_a_subscriber_that_leaves_frees_its_quota(self, make_server: ServerMaker, database_url: str | None) -> None:
        settings = {} if database_url is None else {"database_url": database_url}
        server = make_server(max_subscriptions_per_caller=2, **settings).start()
        async with opened(server.address) as scene:
            async with scene.tap.watch(EVERYTHING) as one, scene.tap.watch(View(named())) as other:
                await one.live()
                await other.live()
                assert (await scene.tap.refused(EVERYTHING)).reason == "QUOTA_EXCEEDED"
            async with asyncio.timeout(60):
                while not await _is_let_in(scene):  # noqa: ASYNC110 - it learns of it when the call has ended
                    await asyncio.sleep(0.02)


async def _is_let_in(scene: Scene) -> bool:
    async with scene.tap.watch(EVERYTHING) as stream:
        try:
            await stream.live()
        except threadkeep.errors.QuotaExceeded:
            return False
        return True
