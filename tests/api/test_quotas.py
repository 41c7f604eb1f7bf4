"""Rate limits and quotas, over gRPC and HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest

from threadkeep import user
from threadkeep.v1 import session_pb2

from .bad_input.requests import refusal_of
from .bad_input.streams import Streams, streams_on

NAMES = ("alice", "bob", "carol", "dave", "small", "tiny", "little")
ALONE = {"small", "tiny", "little"}
TOKENS = {f"token-of-caller-{name}": {"tenant": name if name in ALONE else "acme", "user_id": name} for name in NAMES}
RATE = 4096
LARGE = user("x" * (RATE + RATE // 2))
"""A bucket, which holds twice the rate, has room for one of these."""


@pytest.fixture(scope="module")
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Streams]:
    settings = {
        "auth_tokens": TOKENS,
        "caller_bytes_per_second": RATE,
        "max_streams_per_caller": 1,
        "max_sessions_per_tenant": 6,
        "max_events_per_tenant": 20,
    }
    with streams_on("sqlite", request, tmp_path_factory.mktemp("data"), **settings) as opened:
        for name in NAMES:
            opened.call("CreateSession", session=ref(name), token=token(name))
        yield opened


def ref(name: str, session_id: str = "s") -> session_pb2.SessionRef:
    return session_pb2.SessionRef(app="app", user_id=name, session_id=session_id)


def token(name: str) -> str:
    return f"Bearer token-of-caller-{name}"


def test_a_caller_above_its_rate_is_refused_and_others_are_not(wire: Streams) -> None:
    wire.append(ref("alice"), LARGE, token=token("alice"))
    refused = wire.refused("AppendEvents", session=ref("alice"), events=[LARGE], token=token("alice"))
    assert (refused.code, refused.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")
    assert refused.metadata == {"limit": "bytes_per_second_of_caller"}
    assert "google.rpc.RetryInfo" in refused.details
    wire.append(ref("bob"), LARGE, token=token("bob"))


def test_a_stream_of_requests_is_slowed(wire: Streams) -> None:
    results = wire.stream(ref("dave"), [[LARGE], [LARGE]], token=token("dave"))
    assert [result.WhichOneof("outcome") for result in results] == ["appended", "appended"]
    assert wire.refused("AppendEvents", session=ref("dave"), events=[LARGE], token=token("dave")).reason == "RATE_LIMITED"


def test_a_second_stream_of_a_caller_is_refused(wire: Streams) -> None:
    call = wire.watch("WatchAll", token=token("carol"))
    next(call)
    refused = wire.stream_refused("WatchAll", token=token("carol"))
    assert (refused.reason, refused.metadata) == ("QUOTA_EXCEEDED", {"quota": "streams_per_caller", "limit": "1"})
    call.cancel()


def test_a_tenant_above_its_quota_stores_no_more(wire: Streams) -> None:
    refused = wire.refused("AppendEvents", session=ref("small"), events=[user("x")] * 21, token=token("small"))
    assert (refused.reason, refused.metadata) == ("QUOTA_EXCEEDED", {"quota": "events_per_tenant", "limit": "20"})
    with pytest.raises(grpc.RpcError) as raised:
        _create(wire, 12)  # a count may miss what is being created
    refused = refusal_of(raised.value)
    assert (refused.reason, refused.metadata) == ("QUOTA_EXCEEDED", {"quota": "sessions_per_tenant", "limit": "6"})
    wire.call("CreateSession", session=ref("alice", "other"), token=token("alice"))


def test_a_fork_counts_with_all_of_its_events(wire: Streams) -> None:
    wire.append(ref("little"), *[user("x")] * 11, token=token("little"))
    for name, events in (("f1", 9), ("f2", 11)):
        fields = {"session": ref("little"), "new_session_id": name, "at_seq": events, "operation_id": name}
        if name == "f1":
            wire.call("ForkSession", **fields, token=token("little"))
        else:
            refused = wire.refused("ForkSession", **fields, token=token("little"))
            assert (refused.reason, refused.metadata["quota"]) == ("QUOTA_EXCEEDED", "events_per_tenant")


def test_sessions_that_appends_create_count_and_those_that_exist_are_appended_to(wire: Streams) -> None:
    def append(*names: str) -> None:
        for name in names:
            wire.call("AppendEvents", session=ref("tiny", name), events=[user("x")], create_if_missing={}, token=token("tiny"))

    with pytest.raises(grpc.RpcError) as raised:
        append(*(f"s{number}" for number in range(12)))
    refused = refusal_of(raised.value)
    assert (refused.reason, refused.metadata) == ("QUOTA_EXCEEDED", {"quota": "sessions_per_tenant", "limit": "6"})
    append("s", "s0")


def _create(wire: Streams, count: int) -> None:
    for number in range(count):
        wire.call("CreateSession", session=ref("small", f"s{number}"), token=token("small"))


def test_a_caller_sees_its_limits_and_what_it_uses_but_not_what_others_use(wire: Streams) -> None:
    quotas = {each.name: each for each in wire.call("GetServerInfo", token=token("carol")).caller.quotas}
    assert sorted(quotas) == ["bytes_per_second_of_caller", "events_per_tenant", "sessions_per_tenant", "streams_per_caller"]
    assert quotas["bytes_per_second_of_caller"].limit == RATE
    assert quotas["streams_per_caller"].HasField("used")
    assert not quotas["sessions_per_tenant"].HasField("used")
