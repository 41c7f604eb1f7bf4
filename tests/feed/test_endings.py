"""How a stream ends, and streams that are not read: drained, fallen behind, resumed elsewhere."""

from __future__ import annotations

import asyncio
import time

import pytest

import threadkeep
from tests.support.servers.server_process import ServerProcess, url_settings
from threadkeep.v1 import subscription_pb2 as pb
from threadkeep.v1 import subscription_service_pb2 as su
from threadkeep.v1.event_pb2 import NativeContent
from threadkeep.v1.filter_pb2 import EventFilter

from .conftest import ServerMaker
from .facts import facts_of
from .scene import opened
from .streams import EVERYTHING, View, is_checkpoint, named, subscriber

AT_ONCE = 30.0
"""Half of the grace for calls."""
MIB = 1 << 20


class TestDrained:
    async def test_every_drained_stream_ends_with_a_resume_token(
        self, make_server: ServerMaker, database_url: str | None
    ) -> None:
        server = make_server(watch_heartbeat="1s", drain_grace="60s", **url_settings(database_url)).start()
        views = [EVERYTHING, View(named()), View(su.ChangeScope(app="shop"), EventFilter(keyword="word"))]
        async with opened(server.address) as scene:
            await scene.create()
            await scene.settle()
            together = asyncio.Barrier(5 * len(views) + 1)
            async with asyncio.TaskGroup() as group:
                drained = [self._until_drained(server.address, view, together) for view in views for _ in range(5)]
                ends = [group.create_task(each) for each in drained]
                await together.wait()
                await scene.say("the last word")
                await together.wait()
                began = time.monotonic()
                assert await asyncio.to_thread(server.terminate) == 0
                assert time.monotonic() - began < AT_ONCE
        await asyncio.to_thread(server.start)
        async with opened(server.address) as scene:
            answer = await scene.say("a word more")
            await scene.settle()
            for view, end in zip([view for view in views for _ in range(5)], ends, strict=True):
                rest = facts_of(await scene.tap.read(view, resume_token=end.result()))
                assert [fact.version for fact in rest if fact.version] == [answer.log_version]

    async def _until_drained(self, address: str, view: View, together: asyncio.Barrier) -> str:
        """Meets the others when it is live and when it has the one append. Returns the token of the last checkpoint."""
        async with subscriber(address) as tap, tap.watch(view) as stream:
            await stream.live()
            await together.wait()
            (change,) = await stream.changes(1)
            assert change.HasField("batch")
            await together.wait()
            read: list[pb.Change] = []
            error = await stream.error(read)
            assert error.reason == "SERVER_DRAINING"
            assert is_checkpoint(read[-1], pb.CHECKPOINT_KIND_DRAINING)
            assert not facts_of(read)
            return read[-1].resume_token

    async def test_a_subscriber_that_does_not_read_delays_shutdown_at_most_by_the_grace(
        self, make_server: ServerMaker, database_url: str | None
    ) -> None:
        server = make_server(drain_grace="1s", **url_settings(database_url)).start()
        async with opened(server.address) as scene:
            await scene.create()
            async with scene.live(EVERYTHING), scene.live(scene.session_view()):
                for _ in range(8):
                    await scene.client.append("s", _large())
                began = time.monotonic()
                await asyncio.to_thread(server.terminate)
                assert time.monotonic() - began < 1 + AT_ONCE


class TestFallenBehind:
    async def test_a_subscriber_that_falls_behind_is_notified_and_gets_everything(
        self, make_server: ServerMaker, database_url: str | None
    ) -> None:
        server = make_server(prelude=SHORT_MEMORY, **url_settings(database_url)).start()
        async with opened(server.address) as scene:
            await scene.create()
            async with scene.live(scene.view()) as slow, scene.live(scene.view()) as quick:
                for number in range(1, 41):
                    await scene.client.append("s", _large())
                    (change,) = await quick.changes(1)
                    assert change.versions.log_version == number
                read = await slow.until(pb.CHECKPOINT_KIND_CAUGHT_UP)
                assert [fact.version for fact in facts_of(read)] == list(range(1, 41))
                checkpoints = [change.checkpoint.kind for change in read if change.HasField("checkpoint")]
                assert checkpoints == [pb.CHECKPOINT_KIND_FELL_BEHIND, pb.CHECKPOINT_KIND_CAUGHT_UP]
                await scene.say("live again")
                assert [change.versions.log_version for change in await slow.changes(1)] == [41]

    async def test_the_fell_behind_checkpoint_can_be_resumed(self, make_server: ServerMaker, database_url: str | None) -> None:
        server = make_server(prelude=SHORT_MEMORY, **url_settings(database_url)).start()
        async with opened(server.address) as scene:
            await scene.create()
            async with scene.live(scene.view()) as slow:
                for _ in range(30):
                    await scene.client.append("s", _large())
                read = await slow.until(pb.CHECKPOINT_KIND_FELL_BEHIND)
            received = [fact.version for fact in facts_of(read)]
            rest = facts_of(await scene.tap.read(scene.view(), resume_token=read[-1].resume_token))
            assert received + [fact.version for fact in rest] == list(range(1, 31))


SHORT_MEMORY = f"from threadkeep_server.feed.live.tail import Tail\nTail.__init__.__kwdefaults__['kept_bytes'] = {2 * MIB}\n"
"""Makes a tail that keeps so little that a subscriber without reads falls behind quickly."""


def _large() -> threadkeep.SessionEvent:
    return threadkeep.user("hello", native=NativeContent(format="bytes/1", content=bytes(MIB // 2)))


@pytest.mark.parametrize("watched", ["everything", "a session"])
async def test_disconnected_subscribers_are_released(server: ServerProcess, watched: str) -> None:
    """Connections are closed without notice; the next ones resume, repeatedly."""
    view = EVERYTHING if watched == "everything" else View(named())
    async with opened(server.address) as scene:
        await scene.create()
        await scene.settle()
        (*_, last) = await scene.tap.read(view)
        token, versions = last.resume_token, []
        for number in range(1, 31):
            await scene.say(f"word {number}")
            if number % 3:
                continue
            async with subscriber(server.address) as other, other.watch(view, resume_token=token) as stream:
                for change in await stream.changes(number % 4 or 1):
                    versions.append(change.versions.log_version)
                    token = change.resume_token
        await scene.settle()
        rest = facts_of(await scene.tap.read(view, resume_token=token))
        versions += [fact.version for fact in rest if fact.version]
    assert versions == list(range(1, 31))
