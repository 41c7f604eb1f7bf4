"""State through the SDK, on one of both clients, in the long form on both."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.unit.sdk.flavors import FLAVORS, make
from threadkeep import MemoryProvider, State, StateVersion, assistant, errors


@pytest.fixture(params=FLAVORS)
async def client(request: pytest.FixtureRequest, address: str) -> AsyncIterator[Any]:
    async with make(request.param, address, app=f"state-{request.param}", user_id="alice") as client:
        yield client


async def test_state_is_read_as_values_and_kept_as_text(client: Any) -> None:
    trip = client.session("trip")
    await trip.create(state={"cart": {"items": 1}})
    state = trip.state()
    assert await state.get() == State({"cart": '{"items":1}'}, 1)
    assert await state.patch({"none": None}, set_json={"big": "1e400", "id": "9007199254740993"}, remove=["cart"]) == 2
    seen = await state.get()
    assert dict(seen) == {"none": None, "big": float("inf"), "id": 9007199254740993}
    assert seen.texts["big"] == "1e400"
    assert dict(await state.get(["id", "unknown"])) == dict(await state.get(key_prefix="i")) == {"id": 9007199254740993}
    with pytest.raises(errors.VersionMismatch):
        await state.patch({"x": 1}, expect=StateVersion(1))
    with pytest.raises(TypeError, match="keys must be several"):
        await state.get("id")


async def test_an_append_changes_state_in_three_scopes(client: Any) -> None:
    trip = client.session("deltas")
    appended = await trip.append(
        "hi",
        create_if_missing={"state": {"a": 1}},
        state={"set": {"b": 2}, "remove": ["a"]},
        user_state={"set": {"u": "text"}},
        app_state={"set_json": {"p": "[1.0]"}},
    )
    assert appended.session_created
    assert await trip.state().get() == State({"b": "2"}, 2)
    assert dict(await trip.state().get(as_of_log_version=0)) == {"a": 1}
    assert dict(await client.user_state().get()) == {"u": "text"}
    assert (await client.app_state().get()).texts == {"p": "[1.0]"}
    assert dict(await client.user_state("bob").get()) == {}


async def test_a_session_is_loaded_with_its_state_and_its_log(client: Any) -> None:
    trip = client.session("loaded")
    await trip.append("hi", assistant("yes"), create_if_missing={"state": {"a": 1}}, user_state={"set": {"loads": 2}})
    loaded = await trip.load(order="desc", page_size=1, with_newest_event=True)
    assert (loaded.session.last_seq, loaded.state, loaded.newest_event.text) == (2, State({"a": "1"}, 1), "yes")
    assert (loaded.user_state["loads"], loaded.app_state.complete) == (2, True)
    assert [event.text for event in loaded.events] == ["yes"]
    rest = await trip.events_page(order="desc", page_token=loaded.page.next_page_token)
    assert [event.text for event in rest.events] == ["hi"]
    read = await client.load_session("loaded", context=MemoryProvider().max_turns(1), state_scopes=["user"])
    assert (read.context.text(), read.state, read.newest_event) == ("user: hi\nassistant: yes", State({}), None)
    assert [event.text for event in (await trip.load(context=True)).events] == ["hi", "yes"]
    assert (await trip.load(exclude_events=True)).events == []
    with pytest.raises(ValueError, match="state_scopes must be one of"):
        await trip.load(state_scopes=["all"])
    page = await client.sessions_page(prefix="loaded", with_state=True)
    assert dict(page.states[0].values) == {"a": "1"}


async def test_a_state_of_several_pages_is_read_whole(client: Any) -> None:
    state = client.user_state("many")
    for start in range(0, 2500, 500):
        await state.patch({f"k{n:04}": n for n in range(start, start + 500)})
    seen = await state.get()
    assert list(seen.values()) == list(range(2500))
    assert seen.version == 5
