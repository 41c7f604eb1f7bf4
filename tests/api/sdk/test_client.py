"""The SDK with a real server; each test with one of both clients, in the long form with both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import threadkeep
from tests.unit.sdk.flavors import FLAVORS, make
from threadkeep import LastEventId, LogVersion, errors


@pytest.fixture(params=FLAVORS)
async def client(request: pytest.FixtureRequest, address: str) -> AsyncIterator[Any]:
    async with make(request.param, address, app="shop", user_id="alice") as client:
        yield client


async def collect(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


async def filled(client: Any, *texts: str) -> threadkeep.Session:
    """Creates a session with a user event for each text."""
    session: threadkeep.Session = await client.create_session()
    await client.append(session, *(threadkeep.user(each, event_id=f"e{n}") for n, each in enumerate(texts, 1)))
    return session


async def test_a_conversation_is_read_as_it_was_written(client: Any) -> None:
    session = await client.create_session(metadata=' {"n": 230.0}', labels={"team": "a"})
    call = threadkeep.tool_call("c1", "weather", '{ "city" : "Zürich" }')
    written = threadkeep.with_ids(
        threadkeep.system("be kind"),
        threadkeep.user("Wie wird das Wetter? 天气", event_time=1_700_000_000_123_456_789, metadata={"n": 2**53 + 1}),
        threadkeep.assistant(tool_calls=[call], author="bot", author_role="helper", usage={"input_tokens": 7}),
        threadkeep.tool_result("c1", {"sun": True}, name="weather"),
        threadkeep.assistant([threadkeep.reasoning("hm", signature=b"\x00"), "Sonne."], branch="bot.writer"),
        threadkeep.user([threadkeep.media("image/png", data=b"\x89"), threadkeep.data("x", [1])]),
    )
    response = await client.append(session, *written)
    assert [event.seq for event in response.events] == [1, 2, 3, 4, 5, 6]
    read = await collect(client.events(session, page_size=4))
    for event in read:
        assert event.HasField("record_time")
        for field in ("seq", "record_time", "token_estimate", "size_bytes"):
            event.ClearField(field)
    assert read == written
    stored = await client.get_session(session.ref.session_id)
    assert (stored.metadata_json, dict(stored.labels)) == (' {"n": 230.0}', {"team": "a"})
    assert (stored.last_seq, stored.window.turns, stored.usage.input_tokens) == (6, 2, 7)
    assert threadkeep.text_of(await client.get_event(session, written[0].event_id)) == "be kind"


async def test_appending_the_same_ids_again_stores_nothing_twice(client: Any) -> None:
    session = await client.create_session()
    events = threadkeep.with_ids(threadkeep.user("a"), threadkeep.user("b"))
    first, again = [await client.append(session, *events) for _ in range(2)]
    assert [event.seq for event in again.events] == [event.seq for event in first.events] == [1, 2]
    assert [event.replayed for event in again.events] == [True, True]
    assert again.last_seq == 2


async def test_an_id_with_other_content_is_a_conflict_unless_ignored(client: Any) -> None:
    session = await filled(client, "a")
    other = threadkeep.user("other", event_id="e1")
    with pytest.raises(errors.EventIdConflict) as caught:
        await client.append(session, other)
    assert (caught.value.event_id, caught.value.seq, caught.value.field) == ("e1", 1, "events[0].event_id")
    ignored = await client.append(session, other, if_exists="ignore")
    assert (ignored.events[0].seq, ignored.events[0].replayed) == (1, True)


async def test_a_failed_precondition_is_an_error(client: Any) -> None:
    session = await filled(client, "a", "b")
    with pytest.raises(errors.VersionMismatch) as caught:
        await client.append(session, threadkeep.user("c"), expect=LogVersion(0))
    assert (caught.value.expected, caught.value.actual) == ("0", "1")
    with pytest.raises(errors.VersionMismatch):
        await client.append(session, threadkeep.user("c"), expect=LastEventId(""))
    assert (await client.append(session, threadkeep.user("c"), expect=LastEventId("e2"))).log_version == 2
    assert (await client.append(session, threadkeep.user("d"), expect=LogVersion(2))).last_seq == 4


async def test_append_creates_the_session_on_request(client: Any) -> None:
    with pytest.raises(errors.SessionNotFound) as caught:
        await client.append("new", threadkeep.user("a"))
    assert (caught.value.app, caught.value.user_id, caught.value.session_id) == ("shop", "alice", "new")
    options: threadkeep.CreateOptions = {"never_expires": True, "labels": {"k": "v"}}
    assert (await client.append("new", threadkeep.user("a"), create_if_missing=options)).session_created
    assert not (await client.append("new", threadkeep.user("b"), create_if_missing=True)).session_created
    session = await client.get_session("new")
    assert (dict(session.labels), session.HasField("expire_time")) == ({"k": "v"}, False)


async def test_creating_a_session_twice_returns_or_rejects_it(client: Any) -> None:
    session = await client.create_session("s1", ttl=timedelta(hours=1))
    with pytest.raises(errors.SessionAlreadyExists) as caught:
        await client.create_session("s1")
    assert caught.value.session_id == "s1"
    assert (await client.create_session("s1", return_existing=True)).uid == session.uid
    left = session.expire_time.ToDatetime(UTC) - datetime.now(UTC)
    assert timedelta(minutes=55) < left <= timedelta(hours=1)


async def test_updates_replace_only_given_fields(client: Any) -> None:
    session = await client.create_session(metadata={"a": 1}, labels={"k": "v"})
    updated = await client.update_session(session, labels={}, never_expires=True)
    assert (updated.metadata_json, dict(updated.labels), updated.HasField("expire_time")) == ('{"a":1}', {}, False)
    when = datetime(2100, 1, 1, tzinfo=UTC)
    updated = await client.update_session(session, metadata="", expire_time=when)
    assert (updated.metadata_json, updated.expire_time.ToDatetime(UTC)) == ("", when)


async def test_sessions_are_listed_in_pages(client: Any) -> None:
    for n in range(5):
        await client.create_session(f"s{n}", labels={"odd": str(n % 2)})
    await client.create_session("other", user_id="bob")
    names = [session.ref.session_id async for session in client.sessions(page_size=2)]
    assert names == ["s4", "s3", "s2", "s1", "s0"]
    assert [each.ref.session_id async for each in client.sessions(labels={"odd": "1"})] == ["s3", "s1"]
    assert len(await collect(client.sessions(any_user=True))) == 6
    assert len((await client.sessions_page(page_size=2)).sessions) == 2


async def test_a_deleted_session_is_gone(client: Any) -> None:
    session = await filled(client, "a", "b")
    deleted = await client.delete_session(session)
    assert (deleted.deleted, deleted.deleted_events) == (True, 2)
    assert not (await client.delete_session(session)).deleted
    assert await collect(client.events(session)) == []
    with pytest.raises(errors.SessionNotFound):
        await client.get_session(session)
    assert (await client.delete_expired_sessions()).deleted_sessions == 0


async def test_events_are_filtered_ordered_and_paged(client: Any) -> None:
    session = await filled(client, "one", "two", "three", "four", "five")

    async def texts(filter: threadkeep.Filter | None = None, **options: Any) -> list[str]:  # noqa: A002
        return [threadkeep.text_of(event) async for event in client.events(session, filter, **options)]

    assert await texts(page_size=2) == ["one", "two", "three", "four", "five"]
    assert await texts(order="descending", page_size=2) == ["five", "four", "three", "two", "one"]
    assert await texts(threadkeep.event_filter(last_n=2)) == ["four", "five"]
    assert await texts(threadkeep.event_filter(keyword="T")) == ["two", "three"]
    assert await texts(threadkeep.event_filter(after_seq=1, before_seq=4), page_size=1) == ["two", "three"]
    assert await texts(threadkeep.event_filter(page=1, page_size=2)) == ["three", "four"]
    assert await texts(threadkeep.event_filter(roles=["tool"])) == []


async def test_search_covers_a_session_or_a_user(client: Any) -> None:
    first, second = await filled(client, "red apple", "pear"), await filled(client, "green APPLE")
    bobs = await client.create_session(user_id="bob")
    await client.append(bobs, threadkeep.user("apple of bob"))
    assert [hit.event.seq async for hit in client.search("apple", session=first)] == [1]
    found = [hit.session.session_id async for hit in client.search("apple", mode="substring", page_size=1)]
    assert sorted(found) == sorted([first.ref.session_id, second.ref.session_id])
    assert len(await collect(client.search("apple", user_id="bob"))) == 1


async def test_append_stream_returns_results_in_order(client: Any) -> None:
    for n in range(3):
        await client.create_session(f"s{n}")
    batches = [(f"s{n % 3}", [threadkeep.user(str(n))]) for n in range(60)]
    batches[30] = ("missing", [threadkeep.user("lost")])
    results = await collect(client.append_stream(batches, max_outstanding=8))
    assert [result.index for result in results] == list(range(60))
    failed = {result.index: threadkeep.error_of(result) for result in results if threadkeep.error_of(result)}
    assert list(failed) == [30]
    assert isinstance(failed[30], errors.SessionNotFound)
    texts = [threadkeep.text_of(event) async for event in client.events("s1")]
    assert texts == [str(n) for n in range(60) if n % 3 == 1]


async def test_info_describes_the_server(client: Any) -> None:
    await filled(client, "a")
    info = await client.info()
    assert info.version
    assert info.engine.startswith("sqlite")
    assert info.limits.max_batch_events == 1000
    assert info.total_sessions == 0
    info = await client.info(totals=True)
    assert (info.total_sessions, info.total_events) == (1, 1)


async def test_errors_are_typed(client: Any) -> None:
    session = await filled(client, "a")
    with pytest.raises(errors.InvalidField) as invalid:
        await client.events_page(session, threadkeep.event_filter(last_n=0))
    assert (invalid.value.field, bool(invalid.value.problem)) == ("filter.last_n", True)
    with pytest.raises(errors.InvalidField):
        await client.append(session)
    with pytest.raises(errors.InvalidPageToken):
        await client.events_page(session, page_token="nonsense")
    with pytest.raises(errors.EventNotFound) as missing:
        await client.get_event(session, "nope")
    assert missing.value.event_id == "nope"
    with pytest.raises(errors.BatchTooLarge) as large:
        await client.append(session, *[threadkeep.user("x")] * 1001)
    assert (large.value.size, large.value.limit, large.value.unit) == (1001, 1000, "events")


async def test_a_session_id_alone_may_be_ambiguous(client: Any) -> None:
    for user in ("alice", "bob"):
        await client.create_session("same", user_id=user)
    with pytest.raises(errors.AmbiguousSession) as caught:
        await client.get_session(threadkeep.SessionRef(session_id="same"))
    assert caught.value.session_id == "same"


@pytest.mark.parametrize("flavor", FLAVORS)
async def test_the_token_selects_the_tenant(start_server: Callable[..., Any], flavor: str) -> None:
    tokens = {"token-of-alice-only": {"tenant": "t", "user_id": "alice"}, "token-of-everyone": {"tenant": "t"}}
    server = f"127.0.0.1:{start_server(auth_tokens=tokens).grpc_port}"
    async with (
        make(flavor, server, token="token-of-alice-only") as alice,
        make(flavor, server, token="token-of-everyone") as operator,
        make(flavor, server, token="unknown") as stranger,
        make(flavor, server) as nobody,
    ):
        session = await alice.create_session("s1")
        assert session.ref.user_id == "alice"
        assert (await alice.append("s1", threadkeep.user("hi"))).last_seq == 1
        assert [hit.event.seq async for hit in alice.search("hi")] == [1]
        with pytest.raises(errors.PermissionDenied) as denied:
            await alice.create_session(user_id="bob")
        assert denied.value.field == "session.user_id"
        assert [each.uid async for each in operator.sessions()] == [session.uid]
        for client in (stranger, nobody):
            with pytest.raises(errors.Unauthenticated):
                await client.info()
