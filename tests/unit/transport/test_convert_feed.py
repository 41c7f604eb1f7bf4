"""Conversion of subscription requests, and rejection of invalid ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.tokens import resume_tokens
from threadkeep.v1 import subscription_service_pb2 as pb
from threadkeep.v1.filter_pb2 import EventFilter
from threadkeep.v1.session_pb2 import SessionRef
from threadkeep_server.domain.errors import InvalidField, InvalidResumeToken, ThreadkeepError
from threadkeep_server.domain.feed import BEGINNING, FeedScope
from threadkeep_server.domain.model import Caller
from threadkeep_server.service.feed.subscriptions import Start
from threadkeep_server.transport.convert.feed import scope_of, start_of
from threadkeep_server.transport.servicers.subscriptions import SubscriptionServicer

CALLER = Caller("acme")


class FakeService:
    """Records its calls, and uses the encoder of the request."""

    def __init__(self) -> None:
        self.requested: tuple[Any, ...] = ()

    async def watch_session(self, *requested: Any) -> AsyncIterator[bytes]:
        self.requested = requested
        yield requested[-1].token(FeedScope("acme"), BEGINNING).encode()

    watch_all = watch_session


async def _token(request: pb.WatchSessionRequest | pb.WatchAllRequest, service: FakeService) -> str:
    servicer = SubscriptionServicer(service, resume_tokens())  # type: ignore[arg-type]
    if isinstance(request, pb.WatchSessionRequest):
        responses = servicer.WatchSession(request, CALLER)
    else:
        responses = servicer.WatchAll(request, CALLER)
    (token,) = [response async for response in responses]
    return token.decode()


@pytest.mark.parametrize(
    ("request_", "start"),
    [
        (pb.WatchSessionRequest(), Start()),
        (pb.WatchSessionRequest(live_only=True), Start()),
        (pb.WatchSessionRequest(after_seq=0), Start(after_seq=0)),
        (pb.WatchSessionRequest(after_seq=7), Start(after_seq=7)),
        (pb.WatchSessionRequest(resume_token="t"), Start(resume_token="t")),
        (pb.WatchAllRequest(), Start()),
        (pb.WatchAllRequest(live_only=True), Start()),
        (pb.WatchAllRequest(from_beginning=True), Start(from_beginning=True)),
        (pb.WatchAllRequest(resume_token="t"), Start(resume_token="t")),
    ],
)
def test_a_start_is_converted(request_: Any, start: Start) -> None:
    assert start_of(request_) == start


@pytest.mark.parametrize(
    ("request_", "field", "says"),
    [
        (pb.WatchSessionRequest(after_seq=-1), "after_seq", "must not be negative"),
        (pb.WatchSessionRequest(live_only=False), "live_only", "must be true"),
        (pb.WatchAllRequest(live_only=False), "live_only", "must be true"),
        (pb.WatchAllRequest(from_beginning=False), "from_beginning", "must be true"),
    ],
)
def test_an_invalid_start_is_rejected(request_: Any, field: str, says: str) -> None:
    with pytest.raises(InvalidField, match=says) as caught:
        start_of(request_)
    assert caught.value.metadata["field"] == field


@pytest.mark.parametrize("kind", [pb.WatchSessionRequest, pb.WatchAllRequest])
def test_an_empty_resume_token_is_rejected(kind: Any) -> None:
    with pytest.raises(InvalidResumeToken):
        start_of(kind(resume_token=""))


def test_an_unset_app_means_any_app_and_an_empty_one_no_app() -> None:
    assert scope_of(pb.ChangeScope()) == FeedScope("")
    assert scope_of(pb.ChangeScope(app="")) == FeedScope("", app="")
    labels = {"z": "1", "a": "2"}
    assert scope_of(pb.ChangeScope(app="shop", user_id="ann", labels=labels)) == FeedScope(
        "", "shop", "ann", None, (("a", "2"), ("z", "1"))
    )


@pytest.mark.parametrize(
    ("scope", "field"),
    [
        ({"app": "a" * 256}, "scope.app"),
        ({"user_id": "a\n"}, "scope.user_id"),
        ({"user_id": " "}, "scope.user_id"),
        ({"labels": {"": "x"}}, "scope.labels key"),
        ({"labels": {"k": "\x00"}}, "scope.labels['k']"),
        ({"labels": {str(number): "" for number in range(65)}}, "scope.labels"),
    ],
)
def test_a_scope_that_matches_no_session_is_rejected(scope: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidField) as caught:
        scope_of(pb.ChangeScope(**scope))
    assert caught.value.metadata["field"] == field


async def test_the_service_receives_the_request() -> None:
    service = FakeService()
    request = pb.WatchAllRequest(from_beginning=True, filter=EventFilter(keyword="Hi"))
    request.scope.labels["k"] = "v"
    await _token(request, service)
    caller, app, user_id, labels, wanted, start, _ = service.requested
    assert (caller, app, user_id, labels, wanted.terms) == (CALLER, None, None, {"k": "v"}, ("hi",))
    assert start == Start(from_beginning=True)
    await _token(pb.WatchSessionRequest(session=SessionRef(session_id="s1"), after_seq=3), service)
    assert service.requested[:2] == (CALLER, ("", "", "s1"))
    assert service.requested[3] == Start(after_seq=3)


async def test_tokens_depend_on_the_filter_and_not_on_the_start() -> None:
    def request(**more: Any) -> pb.WatchSessionRequest:
        return pb.WatchSessionRequest(session=SessionRef(session_id="s1"), **more)

    service = FakeService()
    token = await _token(request(), service)
    assert await _token(request(after_seq=3, filter={}), service) == token
    assert await _token(request(resume_token=token), service) == token
    assert await _token(request(filter={"keyword": "hi"}), service) != token


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"session": {}}, "session.session_id"),
        ({"filter": {"last_n": 3}}, "filter.last_n"),
        ({"filter": {"page": {"page_size": 3}}}, "filter.page"),
        ({"filter": {"roles": [9]}}, "filter.roles[0]"),
    ],
)
async def test_an_invalid_request_does_not_reach_the_service(wrong: dict[str, Any], field: str) -> None:
    service = FakeService()
    with pytest.raises(ThreadkeepError) as caught:
        await _token(pb.WatchSessionRequest(**({"session": {"session_id": "s1"}} | wrong)), service)
    assert caught.value.metadata["field"] == field
    assert not service.requested
    if "filter" in wrong:
        with pytest.raises(ThreadkeepError):
            await _token(pb.WatchAllRequest(**wrong), service)
