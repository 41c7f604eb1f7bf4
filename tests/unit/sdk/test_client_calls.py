from __future__ import annotations

import contextlib
import math
import re
import socket
import threading
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest

import threadkeep
from threadkeep import errors
from threadkeep.v1 import event_service_pb2 as es
from threadkeep.v1 import search_service_pb2 as rs
from threadkeep.v1 import session_service_pb2 as ss

from .fake import Fail, FakeServer

DOWN = Fail(grpc.StatusCode.UNAVAILABLE)
CANCELED = Fail(grpc.StatusCode.CANCELLED)


async def test_an_append_is_retried_with_the_same_event_ids(client: Any, fake: FakeServer) -> None:
    fake.answers["AppendEvents"] = [DOWN, DOWN, es.AppendEventsResponse(last_seq=2)]
    events = threadkeep.user("hi"), threadkeep.assistant("hello")
    response = await client.append("s1", *events)
    sent = fake.requests("AppendEvents")
    ids = {tuple(event.event_id for event in request.events) for request in sent}
    assert (len(sent), response.last_seq) == (3, 2)
    assert len(ids) == 1
    assert len(set(ids.pop())) == 2
    assert [event.event_id for event in events] == ["", ""]


async def test_a_call_that_the_server_canceled_is_retried_if_it_may_be(client: Any, fake: FakeServer) -> None:
    fake.answers["AppendEvents"] = [CANCELED, CANCELED, es.AppendEventsResponse(last_seq=1)]
    assert (await client.append("s1", threadkeep.user("hi"))).last_seq == 1
    assert len(fake.requests("AppendEvents")) == 3
    fake.answers["CreateSession"] = [CANCELED]
    with pytest.raises(errors.Unavailable, match="canceled the call") as caught:
        await client.create_session()
    assert caught.value.code is grpc.StatusCode.UNAVAILABLE
    assert len(fake.requests("CreateSession")) == 1


async def test_large_appends_are_retried_too(client: Any, fake: FakeServer) -> None:
    fake.answers["AppendEvents"] = [DOWN]
    await client.append("s1", threadkeep.user("x" * 3_000_000))
    assert len(fake.requests("AppendEvents")) == 2


async def test_each_append_makes_new_ids_and_keeps_given_ones(client: Any, fake: FakeServer) -> None:
    event = threadkeep.user("hi")
    await client.append("s1", event, threadkeep.user("hi", event_id="mine"))
    await client.append("s1", event)
    first, second = fake.requests("AppendEvents")
    assert first.events[1].event_id == "mine"
    assert first.events[0].event_id != second.events[0].event_id


async def test_calls_that_are_not_idempotent_are_sent_once(client: Any, fake: FakeServer) -> None:
    fake.answers["CreateSession"] = [DOWN, DOWN]
    with pytest.raises(threadkeep.errors.Unavailable):
        await client.create_session()
    assert len(fake.requests("CreateSession")) == 1


async def test_retries_end(client: Any, fake: FakeServer) -> None:
    fake.answers["GetServerInfo"] = [Fail(grpc.StatusCode.UNAVAILABLE, "SERVER_DRAINING", 1.5)] * 9
    with pytest.raises(errors.ServerDraining) as caught:
        await client.info()
    assert len(fake.requests("GetServerInfo")) == 5
    assert caught.value.retry_after == 1.5


async def test_errors_are_typed_and_have_the_servers_details(client: Any, fake: FakeServer) -> None:
    metadata: dict[str, Any] = {"session_id": "s1", "expected": "7", "actual": "9"}
    fake.answers["AppendEvents"] = [Fail(grpc.StatusCode.ABORTED, "VERSION_MISMATCH", **metadata)]
    with pytest.raises(errors.VersionMismatch, match="scripted") as caught:
        await client.append("s1", threadkeep.user("hi"), expect=threadkeep.LogVersion(7))
    error = caught.value
    assert (error.expected, error.actual, error.session_id) == ("7", "9", "s1")
    assert (error.reason, error.code, error.metadata) == ("VERSION_MISMATCH", grpc.StatusCode.ABORTED, metadata)
    assert (error.message, error.retry_after) == ("scripted", None)


async def test_deadlines_come_from_the_call_or_from_the_client(connect: Callable[..., Any], fake: FakeServer) -> None:
    client = connect(timeout=0.1)
    fake.answers["GetServerInfo"] = [60.0]
    with pytest.raises(errors.DeadlineExceeded):
        await client.info()
    fake.answers["GetServerInfo"] = [0.5]
    await client.info(timeout=math.inf)
    fake.answers["GetServerInfo"] = [60.0]
    with pytest.raises(errors.DeadlineExceeded):
        await connect().info(timeout=0.1)


async def test_an_unreachable_address_error_has_instructions(connect: Callable[..., Any]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        started = time.monotonic()
        with pytest.raises(errors.Unavailable) as caught:  # while the port is held, so that nobody else listens there
            await connect(address).info()
    assert time.monotonic() - started < 25  # the deadline is 30
    assert caught.value.message == f"no server at {address} (Connection refused); start one with `threadkeep serve`"
    shown = traceback.format_exception(caught.value)
    assert "RpcError" not in "".join(shown)
    assert len(shown) == len(traceback.extract_tb(caught.value.__traceback__)) + 2, "one exception, no chain"


async def test_an_http_port_instead_of_the_grpc_port_is_reported(connect: Callable[..., Any]) -> None:
    def answer() -> None:
        with contextlib.suppress(OSError):
            while True:
                open_.append(http.accept()[0])
                open_[-1].recv(1 << 16)
                open_[-1].sendall(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")

    open_: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as http:
        answering = threading.Thread(target=answer, daemon=True)
        answering.start()
        address = f"127.0.0.1:{http.getsockname()[1]}"
        with pytest.raises(errors.Unavailable, match=rf"{address} speaks HTTP, not gRPC: give the server's gRPC port"):
            await connect(f"http://{address}").info()
        http.shutdown(socket.SHUT_RDWR)  # ends the accept
        answering.join(10)
    for each in open_:
        each.close()


async def test_the_error_info_of_a_proxy_is_not_taken_for_the_servers(client: Any, fake: FakeServer) -> None:
    foreign = Fail(grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND", session_id="s1")
    foreign.domain = "proxy.example"
    fake.answers["GetSession"] = [foreign]
    with pytest.raises(threadkeep.ThreadkeepError) as caught:
        await client.get_session("s1")
    assert (type(caught.value), caught.value.reason) == (threadkeep.ThreadkeepError, "")


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda client: client.get_context("s1", last=2), "get_context has no argument 'last'; did you mean last_n?"),
        (
            lambda client: client.create_session("s1", user="bob"),
            "create_session has no argument 'user'; did you mean user_id?",
        ),
        (lambda client: client.append("s1", create=True), "no argument 'create'; did you mean create_if_missing?"),
        (
            lambda client: client.append("s1", threadkeep.user("a"), create_if_missing={"tll": 1}),
            "no argument 'tll'; did you mean ttl?",
        ),
        (
            lambda client: client.events_page("s1", frob=1),
            "events_page has no argument 'frob'; it takes session, filter, order,",
        ),
        (lambda client: client.search_page("x", any_users=True), "search has no argument 'any_users'; did you mean any_user?"),
        (lambda client: client.memory().delete(session="s1"), "delete has no argument 'session'; did you mean session_id?"),
    ],
)
async def test_a_wrong_name_is_refused_with_the_right_one(client: Any, call: Callable[[Any], Any], problem: str) -> None:
    with pytest.raises(TypeError, match=re.escape(problem)):
        await call(client)


async def test_the_first_argument_is_the_session_not_the_user(client: Any, fake: FakeServer) -> None:
    await client.create_session("trip")
    await client.create_session()
    named, unnamed = fake.requests("CreateSession")
    assert named.session == threadkeep.SessionRef(app="shop", user_id="alice", session_id="trip")
    assert unnamed.session == threadkeep.SessionRef(app="shop", user_id="alice")
    for method in ("sessions_page", "sessions", "memory", "delete_expired_sessions"):
        with pytest.raises(TypeError, match="positional argument"):
            await getattr(client, method)("trip")


async def test_create_time_and_before_are_sent_to_the_nanosecond(client: Any, fake: FakeServer) -> None:
    when = datetime(2020, 1, 2, tzinfo=UTC)
    await client.create_session("s1", create_time=when)
    await client.create_session("s2", create_time=1_000_000_001)
    await client.delete_expired_sessions(before=when)
    created = [request.create_time.ToNanoseconds() for request in fake.requests("CreateSession")]
    assert created == [int(when.timestamp()) * 1_000_000_000, 1_000_000_001]
    [deleted] = fake.requests("DeleteExpiredSessions")
    assert deleted.before.seconds == when.timestamp()


@pytest.mark.parametrize(
    ("method", "rpc"), [("sessions_page", "ListSessions"), ("delete_expired_sessions", "DeleteExpiredSessions")]
)
async def test_the_clients_user_and_app_fill_what_a_request_leaves_empty(
    client: Any, fake: FakeServer, method: str, rpc: str
) -> None:
    call = getattr(client, method)
    for given in ({}, {"user_id": ""}, {"user_id": "bob", "app": ""}, {"any_user": True}, {"any_app": True}):
        await call(**given)
    sent = [(each.user_id, each.app if each.HasField("app") else None) for each in fake.requests(rpc)]
    assert sent == [("alice", "shop"), ("alice", "shop"), ("bob", ""), ("", "shop"), ("alice", None)]
    for wrong in ({"user_id": "bob", "any_user": True}, {"app": "", "any_app": True}):
        with pytest.raises(ValueError, match="give either"):
            await call(**wrong)


async def test_labels_alone_keep_the_clients_user(client: Any, fake: FakeServer) -> None:
    await client.sessions_page(labels={"team": "blue"})
    [sent] = fake.requests("ListSessions")
    assert (sent.user_id, sent.app, dict(sent.labels)) == ("alice", "shop", {"team": "blue"})


async def test_an_order_has_a_short_and_a_full_form(client: Any, fake: FakeServer) -> None:
    for order in ("asc", "desc", "DESC", "descending", threadkeep.SortOrder.SORT_ORDER_ASCENDING):
        await client.events_page("s1", order=order)
    assert [request.order for request in fake.requests("ListEvents")] == [1, 2, 2, 2, 1]
    with pytest.raises(ValueError, match="order must be one of"):
        await client.events_page("s1", order="down")


async def test_the_token_is_sent(connect: Callable[..., Any], fake: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THREADKEEP_TOKEN", raising=False)
    await connect().info()
    assert "authorization" not in fake.metadata
    monkeypatch.setenv("THREADKEEP_TOKEN", "environment")
    await connect().info()
    assert fake.metadata["authorization"] == "Bearer environment"
    await connect(token="given").info()
    assert fake.metadata["authorization"] == "Bearer given"


async def test_a_closed_client_raises_an_error(client: Any) -> None:
    await client.info()
    await client.close()
    await client.close()
    with pytest.raises(RuntimeError, match="closed"):
        await client.info()


async def test_a_session_is_named_by_id_reference_or_session(client: Any, fake: FakeServer) -> None:
    other = threadkeep.SessionRef(app="", user_id="bob", session_id="s2")
    for session in ("s1", other, threadkeep.Session(ref=other)):
        await client.get_session(session)
    mine = threadkeep.SessionRef(app="shop", user_id="alice", session_id="s1")
    assert [request.session for request in fake.requests("GetSession")] == [mine, other, other]
    with pytest.raises(TypeError, match="session must be str, SessionRef, Session or a handle, not int"):
        await client.get_session(7)


async def test_create_session_sends_what_it_was_given(client: Any, fake: FakeServer) -> None:
    when = datetime(2030, 1, 2, tzinfo=UTC)
    await client.create_session("s1", user_id="bob", app="", ttl=timedelta(hours=1), metadata={"a": 1}, labels={"k": "v"})
    await client.create_session(expire_time=when, metadata=' {"b":2}', return_existing=True)
    await client.create_session(never_expires=True)
    first, second, third = fake.requests("CreateSession")
    assert first.session == threadkeep.SessionRef(user_id="bob", session_id="s1")
    assert (first.expiry.ttl.seconds, first.metadata_json, dict(first.labels)) == (3600, '{"a":1}', {"k": "v"})
    assert second.session == threadkeep.SessionRef(app="shop", user_id="alice")
    assert (second.expiry.expire_time.seconds, second.metadata_json) == (when.timestamp(), ' {"b":2}')
    assert second.return_existing
    assert third.expiry.never_expires
    with pytest.raises(ValueError, match="at most one of ttl"):
        await client.create_session(ttl=timedelta(1), never_expires=True)


async def test_an_expiry_is_a_datetime_or_nanoseconds(client: Any, fake: FakeServer) -> None:
    when = datetime(2030, 1, 2, tzinfo=UTC)
    nanoseconds = int(when.timestamp()) * 1_000_000_000 + 123_456_789
    await client.create_session(expire_time=nanoseconds)
    await client.append("s1", threadkeep.user("a"), create_if_missing=threadkeep.CreateOptions(expire_time=nanoseconds))
    await client.update_session("s1", expire_time=nanoseconds)
    (created,), (appended,) = fake.requests("CreateSession"), fake.requests("AppendEvents")
    (updated,) = fake.requests("UpdateSession")
    for expiry in (created.expiry, appended.create_if_missing.expiry, updated.expiry):
        assert expiry.expire_time.ToNanoseconds() == nanoseconds
    for wrong in ("tomorrow", True):
        with pytest.raises(TypeError, match="expire_time must be datetime or int, not"):
            await client.create_session(expire_time=wrong)


async def test_update_session_masks_what_was_given(client: Any, fake: FakeServer) -> None:
    await client.update_session("s1", metadata="")
    await client.update_session("s1", labels={}, never_expires=True)
    masks = [sorted(request.update_mask.paths) for request in fake.requests("UpdateSession")]
    assert masks == [["metadata_json"], ["expiry", "labels"]]


async def test_the_size_of_contexts_is_set_and_reset(client: Any, fake: FakeServer) -> None:
    await client.create_session(context_bytes=9000)
    await client.update_session("s1", context_bytes=0)
    assert fake.requests("CreateSession")[0].context_bytes == 9000
    (reset,) = fake.requests("UpdateSession")
    assert (list(reset.update_mask.paths), reset.context_bytes) == (["context_bytes"], 0)


async def test_append_sends_its_conditions(client: Any, fake: FakeServer) -> None:
    await client.append("s1", threadkeep.user("a"), expect=threadkeep.LogVersion(0), if_exists="ignore", create_if_missing=True)
    await client.append(
        "s1",
        threadkeep.user("a"),
        expect=threadkeep.LastEventId(""),
        create_if_missing={"metadata": {"a": 1}, "ttl": timedelta(1)},
    )
    await client.append("s1", threadkeep.user("a"))
    first, second, third = fake.requests("AppendEvents")
    assert (first.WhichOneof("precondition"), second.WhichOneof("precondition")) == (
        "expected_log_version",
        "expected_last_event_id",
    )
    assert (first.if_exists, third.if_exists) == (es.IF_EXISTS_IGNORE, es.IF_EXISTS_UNSPECIFIED)
    assert first.create_if_missing == es.CreateIfMissing()
    assert [request.HasField("create_if_missing") for request in (first, second, third)] == [True, True, False]
    assert second.create_if_missing.metadata_json == '{"a":1}'
    assert third.WhichOneof("precondition") is None
    with pytest.raises(TypeError, match="expect must be LastEventId, not int"):
        await client.append("s1", threadkeep.user("a"), expect=3)
    with pytest.raises(ValueError, match="if_exists must be one of unspecified, replay, ignore, replace, not 'drop'"):
        await client.append("s1", threadkeep.user("a"), if_exists="drop")
    with pytest.raises(TypeError, match=r"events\[1\] must be str, Event, .*, not int"):
        await client.append("s1", [threadkeep.user("a"), 7])


async def test_iterators_follow_the_page_tokens(client: Any, fake: FakeServer) -> None:
    one, two = threadkeep.user("1"), threadkeep.user("2")
    fake.answers["ListEvents"] = [es.ListEventsResponse(events=[one], next_page_token="t"), es.ListEventsResponse(events=[two])]
    fake.answers["ListSessions"] = [
        ss.ListSessionsResponse(sessions=[threadkeep.Session(uid="1")], next_page_token="t"),
        ss.ListSessionsResponse(next_page_token="u"),
        ss.ListSessionsResponse(sessions=[threadkeep.Session(uid="2")]),
    ]
    hit = rs.SearchHit(event=one)
    fake.answers["SearchEvents"] = [
        rs.SearchEventsResponse(hits=[hit], next_page_token="t"),
        rs.SearchEventsResponse(hits=[hit]),
    ]
    wanted = threadkeep.event_filter(roles=["user"])
    assert [event async for event in client.events("s1", wanted, order="descending", page_size=1)] == [one, two]
    assert [session.uid async for session in client.sessions(labels={"a": "b"})] == ["1", "2"]
    assert [found async for found in client.search("hi", session="s1")] == [hit, hit]
    for method, tokens in {"ListEvents": ["", "t"], "ListSessions": ["", "t", "u"], "SearchEvents": ["", "t"]}.items():
        requests = fake.requests(method)
        assert [request.page_token for request in requests] == tokens
        for request in requests:
            request.ClearField("page_token")
            assert request == requests[0]
    assert fake.requests("ListEvents")[0].order == threadkeep.SortOrder.SORT_ORDER_DESCENDING
    assert fake.requests("ListEvents")[0].filter == wanted


async def test_app_and_user_narrow_lists_and_searches(connect: Callable[..., Any], fake: FakeServer) -> None:
    anywhere, shop = connect(user_id="alice"), connect(user_id="alice", app="shop")
    await anywhere.sessions_page()
    await shop.sessions_page()
    await shop.sessions_page(any_user=True, app="")
    lists = fake.requests("ListSessions")
    assert [(each.user_id, each.HasField("app"), each.app) for each in lists] == [
        ("alice", False, ""),
        ("alice", True, "shop"),
        ("", True, ""),
    ]
    await anywhere.search_page("x")
    await shop.search_page("x", user_id="bob")
    users = [request.user for request in fake.requests("SearchEvents")]
    assert [(each.user_id, each.HasField("app"), each.app) for each in users] == [("alice", False, ""), ("bob", True, "shop")]
    with pytest.raises(ValueError, match="either session"):
        await shop.search_page("x", session="s1", user_id="bob")


async def test_the_other_calls_arrive(client: Any, fake: FakeServer) -> None:
    fake.answers["DeleteSession"] = [ss.DeleteSessionResponse(deleted=True, deleted_events=3)]
    fake.answers["DeleteExpiredSessions"] = [ss.DeleteExpiredSessionsResponse(deleted_sessions=2)]
    fake.answers["GetEvent"] = [es.GetEventResponse(event=threadkeep.user("hi"))]
    assert (await client.delete_session("s1", uid="u1")).deleted_events == 3
    assert fake.requests("DeleteSession")[0].uid == "u1"
    assert (await client.delete_expired_sessions()).deleted_sessions == 2
    assert threadkeep.text_of(await client.get_event("s1", "e1")) == "hi"
    await client.info(totals=True)
    assert fake.requests("GetServerInfo")[0].include_totals
