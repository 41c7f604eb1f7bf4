"""Resume tokens: valid across restarts, for one request only, and expired after retention."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

import threadkeep
from tests.support.servers.server_process import ServerProcess, url_settings
from threadkeep import compaction
from threadkeep.errors import ResumePositionExpired
from threadkeep.v1 import subscription_service_pb2 as su
from threadkeep.v1.event_pb2 import NativeContent
from threadkeep.v1.filter_pb2 import EventFilter
from threadkeep.v1.message_pb2 import ROLE_USER
from threadkeep.v1.subscription_pb2 import Change

from .conftest import ServerMaker
from .facts import Transcript, facts_of, transcript
from .scene import Scene, opened
from .streams import EVERYTHING, Subscriber, View, named, subscriber

VIEWS = [
    EVERYTHING,
    View(su.ChangeScope(), EventFilter(keyword="even")),
    View(su.ChangeScope(app="shop", user_id="ann")),
    View(named("s0")),
    View(named("s0"), EventFilter(keyword="odd")),
]
MIB = 1 << 20


async def write(scene: Scene, rounds: int = 12) -> None:
    """Changes of all kinds in three sessions."""
    for number in range(rounds):
        name = f"s{number % 3}"
        text = "even" if number % 2 == 0 else "odd"
        await scene.client.append(name, *(threadkeep.user(text) for _ in range(1 + number % 3)), create_if_missing=True)
        if number % 5 == 4:
            await scene.client.update_session(name, metadata={"round": number})
        if number % 4 == 3:
            await scene.client.pop(name)
            await scene.client.session(name).state().patch({"round": number})
        if number % 6 == 3:
            await scene.client.user_state().patch({"round": number})
        if number % 6 == 5:
            session = await scene.client.get_session(name)
            await scene.client.apply_compaction(
                name, through_seq=session.last_seq, inserts=[], expected_window_version=session.window_version
            )


async def transcript_of(scene: Scene, view: View) -> Transcript:
    return transcript(await scene.replay(view))


async def test_every_token_survives_its_server(server: ServerProcess) -> None:
    async with opened(server.address) as scene:
        await write(scene)
        before = [await transcript_of(scene, view) for view in VIEWS]
    server.kill()
    server.start()
    async with opened(server.address) as scene:
        await write(scene, 4)
        for view, old in zip(VIEWS, before, strict=True):
            new = await transcript_of(scene, view)
            assert list(new.facts[: len(old.facts)]) == list(old.facts)
            for mark in old.bookmarks:
                rest = facts_of(await scene.tap.read(view, resume_token=mark.token))
                assert rest == list(new.facts[mark.changes :])


class TestWhatItIsBoundTo:
    @pytest.mark.parametrize(
        "other",
        [
            View(su.ChangeScope(app="shop")),
            View(su.ChangeScope(app="")),
            View(su.ChangeScope(user_id="ann")),
            View(su.ChangeScope(labels={"team": "red"})),
            View(su.ChangeScope(), EventFilter(roles=[ROLE_USER])),
            View(named()),
        ],
        ids=["app", "no app", "user", "labels", "filter", "session"],
    )
    async def test_a_token_of_another_request_is_rejected(self, scene: Scene, other: View) -> None:
        await scene.create()
        (*_, last) = await scene.tap.read(EVERYTHING)
        assert (await scene.tap.refused(other, resume_token=last.resume_token)).reason == "INVALID_RESUME_TOKEN"
        (*_, last) = await scene.tap.read(other)
        assert (await scene.tap.refused(EVERYTHING, resume_token=last.resume_token)).reason == "INVALID_RESUME_TOKEN"

    async def test_a_token_of_another_session_is_rejected(self, scene: Scene) -> None:
        (*_, last) = await scene.tap.read(View(named("one")))
        assert (await scene.tap.refused(View(named("other")), resume_token=last.resume_token)).reason == "INVALID_RESUME_TOKEN"

    async def test_a_token_of_another_store_is_rejected(self, scene: Scene, make_server: ServerMaker) -> None:
        (*_, last) = await scene.tap.read(EVERYTHING)
        async with subscriber(make_server().start().address) as elsewhere:
            assert (await elsewhere.refused(EVERYTHING, resume_token=last.resume_token)).reason == "INVALID_RESUME_TOKEN"

    @pytest.mark.parametrize("token", ["", "?", "AAAA", "A" * 44])
    async def test_a_malformed_token_is_rejected(self, scene: Scene, token: str) -> None:
        for view in (EVERYTHING, View(named())):
            assert (await scene.tap.refused(view, resume_token=token)).reason == "INVALID_RESUME_TOKEN"

    async def test_equal_filters_accept_each_others_tokens(self, scene: Scene) -> None:
        one = View(su.ChangeScope(labels={"a": "1", "b": "2"}), EventFilter(keyword="x", after_seq=1))
        same = View(su.ChangeScope(labels={"b": "2", "a": "1"}), EventFilter(after_seq=1, keyword="x"))
        (*_, last) = await scene.tap.read(one)
        assert facts_of(await scene.tap.read(same, resume_token=last.resume_token)) == []


async def test_a_resume_next_to_a_live_subscriber_delivers_nothing_of_a_deleted_session(scene: Scene) -> None:
    """The live one keeps its messages in the server's memory."""
    async with scene.live(scene.view()) as live:
        await scene.create("gone")
        await scene.say("secret", to="gone")
        # Before it is deleted: later, its events are delivered to nobody.
        assert [fact.kind for fact in facts_of(await live.changes(2))][1] == 0
        await scene.client.delete_session("gone")
        await scene.create("other")
        await live.changes(2)
        resumed = facts_of(await scene.tap.read(scene.view(), resume_token=live.edge.resume_token))
        assert [(fact.ref[2], fact.is_gone) for fact in resumed] == [("gone", True), ("other", False)]


class TestLargeChanges:
    """A change larger than a message is sent in parts, and resumed as a whole."""

    async def test_a_large_append_is_resumed_completely(self, scene: Scene) -> None:
        await scene.create()
        await scene.say("before")
        answer = await scene.say(*(str(number) * (MIB // 3) for number in range(8)))
        await scene.say("after")
        await self._check(scene, [event.event_id for event in answer.events])

    async def test_a_large_compaction_is_resumed_completely(self, scene: Scene) -> None:
        await scene.create()
        await scene.say("before")
        summaries = [
            threadkeep.user(str(number) * (MIB // 3), event_id=f"e{number}", synthetic=True, compaction_source="test")
            for number in range(8)
        ]
        await scene.client.apply_compaction(
            "s", through_seq=1, inserts=[compaction.insert(*summaries)], expected_window_version=0
        )
        await scene.say("after")
        await self._check(scene, [event.event_id for event in summaries])

    async def _check(self, scene: Scene, event_ids: Sequence[str]) -> None:
        view = scene.session_view()
        read = await scene.replay(view)
        parts = [change for change in read if change.batch.continues or change.compaction.continues]
        assert len(parts) >= 2
        assert all(change.ByteSize() < MIB + 1000 for change in read)
        before = read[read.index(parts[0]) - 1]
        assert {part.resume_token for part in parts} == {before.resume_token}
        whole = transcript(read)
        large = whole.facts[2]
        assert [event.event_id for event in large.events] == list(event_ids)
        for mark in whole.bookmarks:
            assert facts_of(await scene.tap.read(view, resume_token=mark.token)) == whole.rest(mark)
        for seq in range(large.events[0].seq, large.events[-1].seq):
            rest = facts_of(await scene.tap.read(view, after_seq=seq))
            assert rest == [large.after(seq), *whole.facts[3:]]

    async def test_a_large_live_append_is_split_into_messages(self, scene: Scene) -> None:
        await scene.create()
        async with scene.live(scene.view()) as stream:
            await scene.say(*("x" * (MIB // 2) for _ in range(5)))
            read: list[Change] = []
            while not read or read[-1].batch.continues:
                read += await stream.changes(1)
        (fact,) = facts_of(read)
        assert len(read) >= 3
        assert [event.seq for event in fact.events] == [1, 2, 3, 4, 5]

    async def test_one_event_larger_than_a_message_should_be(self, scene: Scene) -> None:
        await scene.create()
        await scene.say("small", "x" * (2 * MIB), "small")
        *_, fact = facts_of(await scene.replay(scene.session_view()))
        assert [event.seq for event in fact.events] == [1, 2, 3]


def forgetting(cut: int) -> str:
    """Settings of a server with this retention, which trims often."""
    return (
        "from threadkeep_server.service.feed.feed_retention import FeedRetention\n"
        "init = FeedRetention.__init__\n"
        "def patched(self, store, clock, *, retention):\n"
        f"    init(self, store, lambda: {cut} + retention, retention=retention, interval=0.05)\n"
        "FeedRetention.__init__ = patched\n"
    )


RECENT = (
    "from threadkeep_server.service.feed.feed_retention import FeedRetention\n"
    "from threadkeep_server.feed.live.tail import Tail\n"
    "FeedRetention.__init__.__kwdefaults__['interval'] = 0.05\n"
    f"Tail.__init__.__kwdefaults__['kept_bytes'] = {2 * MIB}\n"
)
"""Settings of a server with short retention, whose tail keeps few bytes."""


class TestForgetting:
    """Positions before the retention are expired; no change is skipped silently."""

    @pytest.mark.parametrize("view", VIEWS[:2], ids=["everything", "filtered"])
    async def test_tokens_expire(self, make_server: ServerMaker, database_url: str | None, view: View) -> None:
        async with self._trimmed(make_server, database_url, view) as (scene, old, trimmed):
            for mark in old.bookmarks:
                if mark.changes < trimmed:
                    refused = await scene.tap.refused(view, resume_token=mark.token)
                    assert isinstance(refused, ResumePositionExpired)
                    oldest = await scene.tap.read(view, resume_token=refused.oldest_resume_token)
                    assert facts_of(oldest) == list(old.facts[trimmed:])
            last = old.bookmarks[-1]
            assert facts_of(await scene.tap.read(view, resume_token=last.token)) == []
            for mark in old.bookmarks:
                if mark.changes > trimmed:
                    assert facts_of(await scene.tap.read(view, resume_token=mark.token)) == list(old.facts[mark.changes :])
            assert facts_of(await scene.tap.read(view, from_beginning=True)) == list(old.facts[trimmed:])

    async def test_old_seqs_expire_in_the_feed_but_not_in_the_log(
        self, make_server: ServerMaker, database_url: str | None
    ) -> None:
        view = VIEWS[3]
        async with self._trimmed(make_server, database_url, view) as (scene, old, trimmed):
            refused = await scene.tap.refused(view, after_seq=0)
            assert isinstance(refused, ResumePositionExpired)
            assert refused.oldest_seq is not None
            oldest = int(refused.oldest_seq)
            log = [event async for event in scene.client.events("s0")]
            assert [event.seq for event in log] == list(range(1, len(log) + 1))
            known = max(event.seq for fact in old.facts[:trimmed] for event in fact.events)
            assert oldest == known
            for seq in range(1, len(log) + 1):
                if seq < oldest:
                    assert (await scene.tap.refused(view, after_seq=seq)).reason == "RESUME_POSITION_EXPIRED"
                else:
                    rest = [event.seq for fact in facts_of(await scene.tap.read(view, after_seq=seq)) for event in fact.events]
                    assert rest == list(range(seq + 1, len(log) + 1))

    @asynccontextmanager
    async def _trimmed(
        self, make_server: ServerMaker, database_url: str | None, view: View
    ) -> AsyncIterator[tuple[Scene, Transcript, int]]:
        """Returns the transcript of the view before and after the server trimmed the first half, and the number of trimmed
        facts."""
        server = make_server(**url_settings(database_url)).start()
        async with opened(server.address) as scene:
            await write(scene)
            await asyncio.sleep(0.01)
            cut = (await scene.client.create_session("cut")).create_time.ToNanoseconds()
            await write(scene)
            every = await transcript_of(scene, EVERYTHING)
            old = await transcript_of(scene, view)
        server.kill()
        server = make_server(prelude=forgetting(cut), **url_settings(database_url)).start()
        trimmed = _before(cut, old)
        assert 2 < trimmed < len(old.facts) - 2
        async with opened(server.address) as scene:
            # It is trimmed as far as it is indexed: the view may lack a change of which others are still to be trimmed.
            last = _before(cut, every) - 1
            await until_expired(scene.tap, EVERYTHING, next(mark.token for mark in every.bookmarks if mark.changes == last))
            yield scene, old, trimmed

    async def test_a_slow_reader_gets_an_error(self, make_server: ServerMaker, database_url: str | None) -> None:
        """Unread changes are trimmed: the subscriber receives the next ones, and then the error."""
        settings = {"feed_retention": "5s", **url_settings(database_url)}  # a pause must not make the tail miss changes
        # Not as text, because changes that are not indexed are not trimmed.
        large = threadkeep.user("hello", native=NativeContent(format="bytes/1", content=bytes(MIB // 2)))
        server = make_server(prelude=RECENT, **settings).start()
        async with opened(server.address) as scene:
            await scene.create()
            async with scene.live(EVERYTHING) as slow:
                for _ in range(40):
                    await scene.client.append("s", large)
                await scene.settle()
                probe = View(named())  # the newest frames, which other subscribers share, are kept
                (*_, last) = await scene.tap.read(probe)
                for _ in range(2):  # the last append is kept until it is indexed
                    await scene.client.append("later", threadkeep.user("hello"), create_if_missing=True)
                await until_expired(scene.tap, probe, last.resume_token)
                read: list[Change] = []
                assert isinstance(await slow.error(read), ResumePositionExpired)
            versions = [fact.version for fact in facts_of(read)]
            assert 0 < len(versions) < 40
            assert versions == list(range(1, len(versions) + 1))


def _before(cut: int, read: Transcript) -> int:
    return sum(fact.change.change_time.ToNanoseconds() < cut for fact in read.facts)


async def until_expired(tap: Subscriber, view: View, token: str) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                await tap.read(view, resume_token=token)
            except ResumePositionExpired:
                return
            await asyncio.sleep(0.02)
