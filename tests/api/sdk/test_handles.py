"""Session handles, values and changes against a real server; each case on one of both clients, in the long form on both."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator
from typing import Any

import pytest

import threadkeep
from tests.unit.sdk.flavors import FLAVORS, make
from threadkeep import (
    Appended,
    Change,
    CheckpointReached,
    Compacted,
    SessionCreated,
    SessionDeleted,
    SessionUpdated,
    chat,
    errors,
)


@pytest.fixture(params=FLAVORS)
async def client(request: pytest.FixtureRequest, address: str) -> AsyncIterator[Any]:
    async with make(request.param, address, app="shop", user_id="alice") as client:
        yield client


async def test_a_handle_has_the_results_of_the_client(client: Any) -> None:
    trip = client.session("trip")
    assert (trip.id, trip.ref) == ("trip", threadkeep.SessionRef(app="shop", user_id="alice", session_id="trip"))
    assert (await trip.create(labels={"team": "eu"})).ref == trip.ref
    assert (await trip.update(labels={"team": "us"})).labels["team"] == "us"
    await trip.append("On time?", {"role": "assistant", "content": "Yes."})
    events = [event async for event in trip.events()]
    assert [(event.seq, event.role, event.text) for event in events] == [(1, "user", "On time?"), (2, "assistant", "Yes.")]
    assert (await trip.get_event(events[0].id)).text == "On time?"
    assert (await trip.events_page(page_size=1)).events == events[:1]
    assert [hit.event.text async for hit in trip.search('"on TIME"')] == ["On time?"]
    assert (await trip.get_context()).text() == "user: On time?\nassistant: Yes."
    assert (await trip.compact(threadkeep.compaction.sliding_window(1))).compaction.archived_events >= 0
    assert (await trip.get()).last_seq >= 2
    assert (await client.get_session(trip)).ref == trip.ref
    assert (await trip.delete()).deleted
    with pytest.raises(errors.SessionNotFound):
        await trip.append("x")


async def test_usage_is_read_by_turn(client: Any) -> None:
    talk = client.session("spending")
    spent = [threadkeep.assistant(str(n), invocation_id="i1", usage=threadkeep.TokenUsage(output_tokens=n)) for n in (3, 4)]
    await talk.append("hi", spent[0], "again", spent[1], create_if_missing=True)
    for page_size in (0, 1):
        entries = [each async for each in talk.usage(page_size=page_size)]
        assert [(each.turn_seq, each.invocation_id, each.usage.output_tokens) for each in entries] == [
            (1, "i1", 3),
            (3, "i1", 4),
        ]
    assert (await talk.usage_page(branch="x")).entries == []
    assert [each.name for each in (await talk.branches_page()).branches] == [""]


async def test_a_handle_of_another_user_creates_the_session_of_that_user(client: Any) -> None:
    bobs = client.session(threadkeep.SessionRef(app="", user_id="bob", session_id="s1"))
    assert (await bobs.create()).ref == threadkeep.SessionRef(user_id="bob", session_id="s1")


async def test_a_wrong_argument_of_a_handle_is_rejected_by_name(client: Any) -> None:
    with pytest.raises(TypeError, match="append has no argument 'creat'; did you mean create"):
        await client.session("trip").append("x", creat=True)
    with pytest.raises(TypeError, match="session must be str"):
        client.session(7)


async def test_every_way_to_append_reaches_the_log(client: Any) -> None:
    talk = client.session("talk")
    first = threadkeep.with_ids("one")
    await talk.append(first, create_if_missing=True)
    await talk.append(first)
    stored = [event async for event in talk.events()]
    copied = client.session("copy")
    await copied.append(stored, chat.user("two"), [{"role": "assistant", "content": "three"}], create_if_missing=True)
    assert [event.text async for event in copied.events()] == ["one", "two", "three"]
    await client.session("again").append(await copied.get_context(), create_if_missing=True)
    assert len(await client.session("again").get_context()) == 3
    with pytest.raises(errors.InvalidField):
        await talk.append()
    with pytest.raises(TypeError, match=r"events\[0\] must be"):
        await talk.append(7)


async def test_a_watch_yields_typed_changes(client: Any) -> None:
    trip = client.session("trip")
    await trip.create()
    await trip.append("one", "two", "three")
    await trip.compact(threadkeep.compaction.sliding_window(1))
    await trip.update(labels={"a": "b"})
    seen: list[str] = []
    changes = client.watch_all(from_beginning=True, checkpoints=True)
    async for change in changes:
        assert isinstance(change, Change)
        match change:
            case Appended(events):
                seen.append(f"appended {[event.text for event in events]}")
            case Compacted(record):
                seen.append(f"compacted {record.archived_events}")
            case SessionCreated(session):
                seen.append(f"created {session.ref.session_id}")
            case SessionUpdated(session):
                seen.append(f"updated {dict(session.labels)}")
                await trip.delete()
            case SessionDeleted():
                seen.append(f"deleted {change.session_id}")
                break
            case CheckpointReached():
                assert change.time is None
    await changes.aclose()
    assert seen[-1] == "deleted trip"
    assert {each.split()[0] for each in seen} <= {"appended", "compacted", "created", "updated", "deleted"}
    assert "created trip" in seen


def test_handles_have_the_signatures_of_the_client_without_the_session() -> None:
    names = {name for name, _ in inspect.getmembers(threadkeep.SessionHandle, inspect.isfunction) if not name.startswith("_")}
    assert names >= {"create", "get", "update", "delete", "append", "events", "get_context", "search", "watch", "compact"}
    for handle, client in (
        (threadkeep.SessionHandle, threadkeep.Client),
        (threadkeep.AsyncSessionHandle, threadkeep.AsyncClient),
    ):
        for name in ("append", "events", "get_context", "compact"):
            of_client = [each for each in inspect.signature(getattr(client, name)).parameters if each != "session"]
            assert list(inspect.signature(getattr(handle, name)).parameters) == of_client
            assert getattr(handle, name).__doc__ == getattr(client, name).__doc__


def test_the_repr_shows_address_app_and_user(address: str) -> None:
    with threadkeep.Client(address, app="shop", user_id="alice") as client:
        assert repr(client) == f"Client({address!r}, app='shop', user_id='alice')"
        assert repr(client.session("trip")) == "SessionHandle('trip', app='shop', user_id='alice')"


def test_memories_are_those_of_the_clients_user(address: str) -> None:
    with threadkeep.Client(address, app="shop", user_id="alice") as client:
        assert (client.memories.app, client.memories.user_id) == ("shop", "alice")
        assert (client.memory(user_id="bob").app, client.memory(user_id="bob").user_id) == ("shop", "bob")
