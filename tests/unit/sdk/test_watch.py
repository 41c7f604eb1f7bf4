from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
import pytest

import threadkeep
from threadkeep import errors
from threadkeep._streams import backoff
from threadkeep.v1 import subscription_pb2 as su
from threadkeep.v1.message_pb2 import ROLE_USER
from threadkeep.v1.subscription_service_pb2 import WatchAllResponse, WatchSessionResponse

from .fake import HANG, Fail, FakeServer, first_stream_breaks_after

GONE = Fail(grpc.StatusCode.UNAVAILABLE)


def checkpoint(kind: int, token: str) -> su.Change:
    return su.Change(checkpoint=su.Checkpoint(kind=kind), resume_token=token)  # type: ignore[arg-type]


STARTED = checkpoint(su.CHECKPOINT_KIND_STARTED, "t0")


def batch(n: int, *, session: str = "s1", text: str = "", continues: bool = False, token: str = "") -> su.Change:
    """The n-th change of a session, with token "t<n>"."""
    events = [threadkeep.user(text or f"event {n}")]
    change = su.Change(batch=su.EventBatch(events=events, continues=continues), resume_token=token or f"t{n}")
    change.session.session_id = session
    change.versions.log_version = n
    return change


def frame(*changes: su.Change) -> WatchAllResponse:
    return WatchAllResponse(changes=changes)


def tokens(changes: list[su.Change]) -> list[str]:
    return [change.resume_token for change in changes]


def texts(change: su.Change) -> list[str]:
    return [threadkeep.text_of(event) for event in change.batch.events]


async def take(changes: AsyncIterator[su.Change], count: int) -> list[su.Change]:
    async with asyncio.timeout(60):
        return [await anext(changes) for _ in range(count)]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST", 0.001)
    monkeypatch.setattr(backoff, "LONGEST", 0.01)


async def test_changes_have_no_checkpoints_by_default(client: Any, fake: FakeServer) -> None:
    fake.answers["WatchAll"] = [[frame(STARTED), frame(batch(1), batch(2)), HANG]]
    changes = client.watch_all()
    assert tokens(await take(changes, 2)) == ["t1", "t2"]
    await changes.aclose()


async def test_with_checkpoints_the_first_one_reports_the_start(client: Any, fake: FakeServer) -> None:
    fake.answers["WatchAll"] = [[frame(STARTED), frame(batch(1)), HANG]]
    changes = client.watch_all(checkpoints=True)
    first, second = await take(changes, 2)
    await changes.aclose()
    assert first.checkpoint.kind == su.CHECKPOINT_KIND_STARTED
    assert second.WhichOneof("kind") == "batch"


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({}, {"live_only": True}),
        ({"resume_token": "t"}, {"resume_token": "t"}),
        ({"resume_token": ""}, {"resume_token": ""}),
        ({"after_seq": 7}, {"after_seq": 7}),
        ({"from_beginning": True}, {"after_seq": 0}),
    ],
)
async def test_the_position_where_a_session_is_followed_from(client: Any, fake: FakeServer, given: Any, sent: Any) -> None:
    fake.answers["WatchSession"] = [[WatchSessionResponse(changes=[batch(1)]), HANG]]
    changes = client.watch("s1", filter=threadkeep.event_filter(roles=["user"]), **given)
    await take(changes, 1)
    await changes.aclose()
    [request] = fake.requests("WatchSession")
    assert (request.session.user_id, request.session.app, request.session.session_id) == ("alice", "shop", "s1")
    assert {request.WhichOneof("start"): getattr(request, request.WhichOneof("start"))} == sent
    assert list(request.filter.roles) == [ROLE_USER]


@pytest.mark.parametrize(
    ("given", "app", "user_id", "labels", "start"),
    [
        ({}, "shop", "alice", {}, "live_only"),
        ({"any_user": True, "app": ""}, "", "", {}, "live_only"),
        ({"user_id": "", "labels": {"a": "b"}}, "shop", "alice", {"a": "b"}, "live_only"),
        ({"any_user": True, "any_app": True}, "", "", {}, "live_only"),
        ({"user_id": "bob", "labels": {"a": "b"}, "from_beginning": True}, "shop", "bob", {"a": "b"}, "from_beginning"),
        ({"resume_token": "t"}, "shop", "alice", {}, "resume_token"),
    ],
)
async def test_the_scope_of_followed_changes(
    client: Any, fake: FakeServer, given: Any, app: str, user_id: str, labels: dict[str, str], start: str
) -> None:
    fake.answers["WatchAll"] = [[frame(batch(1)), HANG]]
    changes = client.watch_all(**given)
    await take(changes, 1)
    await changes.aclose()
    [request] = fake.requests("WatchAll")
    assert (request.scope.app, request.scope.user_id, dict(request.scope.labels)) == (app, user_id, labels)
    assert request.scope.HasField("app") is not given.get("any_app", False)
    assert request.WhichOneof("start") == start


@pytest.mark.parametrize(
    "given",
    [
        {"session": "s1", "resume_token": "t", "after_seq": 1},
        {"resume_token": "t", "from_beginning": True},
        {"session": "s1", "after_seq": 0, "from_beginning": True},
        {"session": "s1", "max_retries": -1},
        {"max_retries": -1},
    ],
)
@pytest.mark.parametrize("kind", [threadkeep.AsyncClient, threadkeep.Client])
def test_an_invalid_request_raises_at_once(kind: Any, given: Any) -> None:
    client = kind("nowhere:1")
    watch = client.watch if "session" in given else client.watch_all
    with pytest.raises(ValueError, match=r"give|at least"):
        watch(**given)


@pytest.mark.parametrize("broken_after", range(6))
async def test_a_stream_that_breaks_anywhere_loses_and_repeats_nothing(
    client: Any, fake: FakeServer, broken_after: int
) -> None:
    """The server resumes after the token of the request, and the client drops the part that it already has."""
    log = [
        batch(1),
        batch(2, text="a", continues=True, token="t1"),
        batch(2, text="b", continues=True, token="t1"),
        batch(2, text="c"),
        batch(3),
    ]
    following = {"": 0, "t0": 0, "t1": 1, "t2": 4, "t3": 5}
    fake.answers["WatchAll"] = [[frame(STARTED), *map(frame, log[:broken_after]), GONE]]
    changes = client.watch_all()
    reading = asyncio.create_task(take(changes, 3))
    rest = following[tokens([STARTED, *log[:broken_after]])[-1]]
    fake.answers["WatchAll"].append([frame(STARTED), frame(*log[rest:]), frame(batch(4)), HANG])
    found = await reading
    await take(changes, 1)
    await changes.aclose()
    assert tokens(found) == ["t1", "t2", "t3"]
    assert texts(found[1]) == ["a", "b", "c"]
    assert not found[1].batch.continues
    resumed = fake.requests("WatchAll")[1]
    assert resumed.resume_token == tokens([STARTED, *log[:broken_after]])[-1]


async def test_repeated_changes_are_not_returned_again(client: Any, fake: FakeServer) -> None:
    gone = su.Change(
        session=threadkeep.SessionRef(session_id="s1"),
        session_change=su.SessionChange(kind=su.SESSION_CHANGE_KIND_DELETED),
        resume_token="t3",
    )
    anew = batch(1, token="t4")
    fake.answers["WatchAll"] = [
        [frame(batch(1), batch(1, session="s2"), batch(2)), GONE],
        [frame(batch(1), batch(2), batch(2, session="s2"), gone, anew), HANG],
    ]
    changes = client.watch_all()
    found = await take(changes, 6)
    await changes.aclose()
    assert [(c.session.session_id, c.versions.log_version) for c in found] == [
        *(("s1", 1), ("s2", 1), ("s1", 2), ("s2", 2)),
        *(("s1", 0), ("s1", 1)),
    ]


async def test_parts_of_a_compaction_are_put_together(client: Any, fake: FakeServer) -> None:
    def part(n: int, *, continues: bool) -> su.Change:
        record = threadkeep.Compaction(compaction_id="c1")
        inserted = [threadkeep.system(f"summary {n}")]
        notice = su.CompactionNotice(compaction=record, inserted=inserted, continues=continues)
        return su.Change(compaction=notice, resume_token="t2" if not continues else "t1")

    fake.answers["WatchAll"] = [
        [frame(part(1, continues=True)), frame(part(2, continues=True), part(3, continues=False)), HANG]
    ]
    changes = client.watch_all()
    [found] = await take(changes, 1)
    await changes.aclose()
    assert found.compaction.compaction.compaction_id == "c1"
    assert len(found.compaction.inserted) == 3
    assert (found.compaction.continues, found.resume_token) == (False, "t2")


async def test_a_live_subscription_resumes_at_its_first_checkpoint(client: Any, fake: FakeServer) -> None:
    fake.answers["WatchAll"] = [[GONE], [frame(STARTED), GONE], [frame(batch(1)), HANG]]
    changes = client.watch_all()
    await take(changes, 1)
    await changes.aclose()
    assert [request.WhichOneof("start") for request in fake.requests("WatchAll")] == ["live_only", "live_only", "resume_token"]
    assert fake.requests("WatchAll")[2].resume_token == "t0"


async def test_a_kind_of_a_newer_server_is_skipped_and_its_token_used(client: Any, fake: FakeServer) -> None:
    fake.answers["WatchAll"] = [[frame(su.Change(resume_token="t5")), GONE], [frame(batch(6)), HANG]]
    changes = client.watch_all(checkpoints=True)
    assert tokens(await take(changes, 1)) == ["t6"]
    await changes.aclose()
    assert fake.requests("WatchAll")[1].resume_token == "t5"


@pytest.mark.parametrize(
    "failure",
    [
        GONE,
        Fail(grpc.StatusCode.CANCELLED),
        Fail(grpc.StatusCode.UNAVAILABLE, "SERVER_DRAINING", retry_after=0.01),
        Fail(grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE"),
        Fail(grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED", retry_after=0.01),
        None,
    ],
)
async def test_transient_failures_are_retried(client: Any, fake: FakeServer, failure: Fail | None) -> None:
    broken = [frame(batch(1)), *([failure] if failure else [])]
    fake.answers["WatchAll"] = [broken, [frame(batch(2)), HANG]]
    changes = client.watch_all()
    assert tokens(await take(changes, 2)) == ["t1", "t2"]
    await changes.aclose()


async def test_the_retry_waits_for_the_servers_delay(client: Any, fake: FakeServer) -> None:
    fake.answers["WatchAll"] = [
        [Fail(grpc.StatusCode.UNAVAILABLE, "SERVER_DRAINING", retry_after=0.3)],
        [frame(batch(1)), HANG],
    ]
    changes, began = client.watch_all(), time.monotonic()
    await take(changes, 1)
    assert time.monotonic() - began >= 0.3
    await changes.aclose()


async def test_a_silent_stream_is_opened_again(client: Any, fake: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    first_stream_breaks_after(2.5, monkeypatch)
    slow = [frame(batch(1)), *[0.125, frame(STARTED)] * 22, frame(batch(2)), frame(batch(3)), HANG]  # 2.75 s in all
    fake.answers["WatchAll"] = [slow, [frame(batch(4)), HANG]]
    changes = client.watch_all()
    assert tokens(await take(changes, 2)) == ["t1", "t2"]
    await asyncio.sleep(2.75)  # what the reader takes to handle a change is not the server's silence
    assert tokens(await take(changes, 1)) == ["t3"]
    assert len(fake.requests("WatchAll")) == 1
    assert tokens(await take(changes, 1)) == ["t4"]
    assert fake.ended.acquire(timeout=60), "the silent call was left open"
    await changes.aclose()
    assert len(fake.requests("WatchAll")) == 2


async def test_retries_in_a_row_are_bounded_on_request(client: Any, fake: FakeServer) -> None:
    fake.answers["WatchAll"] = [[GONE], [GONE], [frame(batch(1)), GONE], [GONE], [GONE], [frame(batch(2)), HANG]]
    changes = client.watch_all(max_retries=2)
    await take(changes, 1)
    with pytest.raises(errors.Unavailable):
        await take(changes, 1)
    assert len(fake.requests("WatchAll")) == 5


async def test_without_retries_the_first_failure_is_raised(client: Any, fake: FakeServer) -> None:
    fake.answers["WatchAll"] = [[GONE]]
    with pytest.raises(errors.Unavailable):
        await take(client.watch_all(max_retries=0), 1)


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (grpc.StatusCode.OUT_OF_RANGE, "RESUME_POSITION_EXPIRED", errors.ResumePositionExpired),
        (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_RESUME_TOKEN", errors.InvalidResumeToken),
        (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", errors.InvalidField),
        (grpc.StatusCode.PERMISSION_DENIED, "PERMISSION_DENIED", errors.PermissionDenied),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED", errors.QuotaExceeded),
    ],
)
async def test_permanent_errors_are_raised(
    client: Any, fake: FakeServer, code: grpc.StatusCode, reason: str, kind: type[errors.ThreadkeepError]
) -> None:
    """Also on resumption: no change is ever skipped."""
    fake.answers["WatchAll"] = [[frame(batch(1)), GONE], [Fail(code, reason, oldest_resume_token="t9", oldest_seq="1200")]]
    changes = client.watch_all()
    await take(changes, 1)
    with pytest.raises(kind) as caught:
        await take(changes, 1)
    if isinstance(caught.value, errors.ResumePositionExpired):
        assert (caught.value.oldest_resume_token, caught.value.oldest_seq) == ("t9", 1200)
    assert len(fake.requests("WatchAll")) == 2


async def test_closing_the_iterator_ends_the_call(client: Any, fake: FakeServer) -> None:
    fake.answers["WatchAll"] = [[frame(batch(1)), HANG]]
    changes = client.watch_all()
    await take(changes, 1)
    await changes.aclose()
    assert await asyncio.to_thread(fake.ended.acquire, timeout=60)


async def test_leaving_the_loop_ends_the_call(fake: FakeServer) -> None:
    fake.answers["WatchAll"] = [[frame(batch(1)), HANG]]
    async with threadkeep.AsyncClient(fake.address) as client:
        async for _ in client.watch_all():
            break
        assert await asyncio.to_thread(fake.ended.acquire, timeout=60)


def test_leaving_the_loop_ends_the_call_of_the_synchronous_client(fake: FakeServer) -> None:
    fake.answers["WatchAll"] = [[frame(batch(1)), HANG]]
    with threadkeep.Client(fake.address) as client:
        for _ in client.watch_all():
            break
        assert fake.ended.acquire(timeout=60)


async def test_canceling_the_task_ends_the_call(fake: FakeServer) -> None:
    async def follow(client: threadkeep.AsyncClient) -> None:
        async for _ in client.watch_all():
            arrived.set()

    arrived = asyncio.Event()
    fake.answers["WatchAll"] = [[frame(batch(1)), HANG]]
    async with threadkeep.AsyncClient(fake.address) as client:
        task = asyncio.create_task(follow(client))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(fake.ended.acquire, timeout=60)
    assert len(fake.requests("WatchAll")) == 1


async def test_closing_the_client_ends_a_subscription_with_an_error(
    connect: Callable[..., Any], fake: FakeServer, flavor: str
) -> None:
    fake.answers["WatchAll"] = [[frame(batch(1)), HANG]]
    client = connect()
    changes = client.watch_all()
    await take(changes, 1)
    waiting = asyncio.create_task(take(changes, 1))
    await asyncio.sleep(0.1)
    await client.close()
    with pytest.raises(threadkeep.ThreadkeepError) as caught:
        await waiting
    assert caught.value.code is grpc.StatusCode.CANCELLED


async def test_a_server_that_was_unreachable_is_reconnected(connect: Callable[..., Any], fake: FakeServer) -> None:
    fake.answers["WatchAll"] = [[frame(batch(1)), HANG]]
    changes = connect().watch_all()
    await take(changes, 1)
    port = int(fake.address.rpartition(":")[2])
    with socket.socket() as held:  # nobody else gets the port meanwhile; gRPC shares it
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind(("127.0.0.1", port))
        await asyncio.to_thread(fake.stop)
        reading = asyncio.create_task(take(changes, 1))
        await asyncio.sleep(0.3)
        again = FakeServer(port)
    try:
        again.answers["WatchAll"] = [[frame(batch(2)), HANG]]
        assert tokens(await reading) == ["t2"]
        assert again.requests("WatchAll")[0].resume_token == "t1"
        await changes.aclose()
    finally:
        again.stop()
