"""The resources that a caller uses with streams: at most its quota, and released however a stream ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from tests.support.runs.thoroughness import size
from threadkeep import user
from threadkeep.v1 import session_pb2, subscription_service_pb2, subscription_service_pb2_grpc

from ..bad_input.requests import eventually
from ..bad_input.streams import Streams, streams_on

ALL = "WatchAll"
QUOTA = 60
ROUNDS, AT_ONCE = size(40, 10), 50


@pytest.fixture(scope="module")
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Streams]:
    settings = {"max_subscriptions": QUOTA, "consumer_lease": "2s"}
    with streams_on("sqlite", request, tmp_path_factory.mktemp("data"), **settings) as opened:
        name = session_pb2.SessionRef(app="app", user_id="alice", session_id="s")
        for _ in range(20):
            opened.append(name, *(user("text") for _ in range(50)), create_if_missing={})
        yield opened


@pytest.fixture(autouse=True)
def everything_is_given_back(wire: Streams) -> Iterator[None]:
    yield
    wire.holds_nothing()
    eventually(lambda: _all_can_be_had(wire))
    wire.holds_nothing()  # behind Envoy the departure of a client is noticed within 5 s


def _all_can_be_had(wire: Streams) -> bool:
    calls = [wire.watch(ALL) for _ in range(QUOTA)]
    try:
        for call in calls:
            next(call)
    except grpc.RpcError:
        return False
    finally:
        for call in calls:
            call.cancel()
    return True


def test_the_subscription_quota_of_the_server_is_enforced(wire: Streams) -> None:
    calls = [wire.watch(ALL) for _ in range(QUOTA - 1)]
    for call in calls:
        next(call)
    with wire.consuming() as stream:
        stream.joined()
        refusal = wire.stream_refused(ALL)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED")
        assert refusal.metadata == {"quota": "subscriptions", "limit": str(QUOTA)}
        with wire.consuming() as other:
            other.say(join={"name": "other"})
            assert other.refusal() == refusal
        stream.half_close()
        stream.rest()
    assert wire.changes(ALL, 1), "the place of a member that left is free"
    for call in calls:
        call.cancel()


def test_a_rejected_subscription_uses_no_quota(wire: Streams) -> None:
    for _ in range(2 * QUOTA):
        assert wire.stream_refused(ALL, resume_token="forged").reason == "INVALID_RESUME_TOKEN"
        assert wire.stream_refused("WatchSession", session={"session_id": "none"}).reason == "SESSION_NOT_FOUND"
        with wire.consuming() as stream:
            stream.joined()
            stream.say()
            assert stream.refusal().reason == "INVALID_FIELD"


@pytest.mark.parametrize("first_is_awaited", [False, True])
async def test_streams_closed_at_once_release_their_quota(wire: Streams, first_is_awaited: bool) -> None:
    """Opens 500 subscriptions, 2,000 in the long form, each with its own filter, on a channel that breaks repeatedly."""
    target = wire.target
    for round_ in range(ROUNDS):
        channel = grpc.aio.insecure_channel(target)
        stub: Any = subscription_service_pb2_grpc.SubscriptionServiceStub(channel)
        calls = []
        for number in range(AT_ONCE):
            request = subscription_service_pb2.WatchAllRequest(from_beginning=True)
            request.filter.after_seq = round_ * AT_ONCE + number
            calls.append(stub.WatchAll(request))
        if first_is_awaited:
            await asyncio.gather(*(call.read() for call in calls), return_exceptions=True)
        if round_ % 2:
            for call in calls:
                call.cancel()
        await channel.close()


def test_a_filter_without_matches_does_not_delay_others(wire: Streams) -> None:
    wanted = {"keywords": ["in no text"], "author_filters": [{"exclude": {"ids": [f"a{n}" for n in range(2000)]}}]}
    calls = [wire.watch(ALL, from_beginning=True, filter=wanted) for _ in range(QUOTA - 1)]
    for call in calls:
        next(call)
    slowest = 0.0
    for _ in range(20):
        began = time.monotonic()
        wire.call("GetSession", session=session_pb2.SessionRef(app="app", user_id="alice", session_id="s"))
        slowest = max(slowest, time.monotonic() - began)
    assert slowest < 20
    for call in calls:
        call.cancel()
