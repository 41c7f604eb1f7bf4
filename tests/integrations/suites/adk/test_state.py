"""State of sessions, users and apps, changed with events."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.errors import StaleSessionError

from tests.integrations.suites.adk.support import USER, changed, read
from threadkeep import AsyncClient, SessionRef
from threadkeep.integrations.adk import ThreadkeepSessionService

Service = ThreadkeepSessionService


async def created(service: Service, app: str, session_id: str = "s1", *, user: str = USER, **state: Any) -> Any:
    """A new session."""
    return await service.create_session(app_name=app, user_id=user, session_id=session_id, state=state or None)


async def test_app_state_is_shared_by_all_users_of_the_app(service: Service, app: str) -> None:
    first = await service.create_session(app_name=app, user_id="u1", session_id="s1", state={"app:k1": "v1"})
    await service.append_event(first, changed({"app:k2": "v2"}))
    assert (await created(service, app, "s2", user="u2")).state == {"app:k1": "v1", "app:k2": "v2"}
    assert (await read(service, app, "s1")).state == {"app:k1": "v1", "app:k2": "v2"}
    assert (await created(service, f"{app}_other", "s3")).state == {}


async def test_user_state_is_shared_by_the_sessions_of_the_user_alone(service: Service, app: str) -> None:
    first = await service.create_session(app_name=app, user_id="u1", session_id="s1", state={"user:k1": "v1"})
    await service.append_event(first, changed({"user:k2": "v2"}))
    assert (await created(service, app, "s2", user="u1")).state == {"user:k1": "v1", "user:k2": "v2"}
    assert (await created(service, app, "s3", user="u2")).state == {}


async def test_session_state_is_not_shared(service: Service, app: str) -> None:
    session = await created(service, app, k1="v1")
    await service.append_event(session, changed({"k2": "v2"}))
    assert (await read(service, app, "s1")).state == {"k1": "v1", "k2": "v2"}
    assert (await created(service, app, "s2")).state == {}


async def test_temporary_keys_are_in_the_callers_session_only(service: Service, app: str) -> None:
    session = await created(service, app)
    event = changed({"temp:k": "now", "k": "kept"})
    await service.append_event(session, event)
    assert session.state == {"temp:k": "now", "k": "kept"}
    assert event.actions.state_delta == {"k": "kept"}
    found = await read(service, app, "s1")
    assert found.state == {"k": "kept"}
    assert found.events[0].actions.state_delta == {"k": "kept"}


async def test_temporary_keys_are_seen_by_the_events_after_them(service: Service, app: str) -> None:
    session = await created(service, app)
    await service.append_event(session, changed({"temp:a": 1}))
    await service.append_event(session, changed({"temp:b": 2}))
    assert session.state == {"temp:a": 1, "temp:b": 2}


async def test_temporary_keys_of_a_new_session_are_not_stored(service: Service, app: str) -> None:
    session = await service.create_session(app_name=app, user_id=USER, session_id="s1", state={"temp:k": 1, "k": 2})
    assert session.state == (await read(service, app, "s1")).state == {"k": 2}


async def test_mapping_in_a_delta_replaces_the_whole_value(service: Service, app: str) -> None:
    session = await created(service, app, cart={"a": 1, "b": {"c": 2}})
    await service.append_event(session, changed({"cart": {"b": {}}}))
    assert (await read(service, app, "s1")).state == {"cart": {"b": {}}}


async def test_none_in_a_delta_is_stored_as_null(service: Service, app: str) -> None:
    session = await service.create_session(app_name=app, user_id=USER, session_id="s1", state={"k": 1, "user:k": 1, "app:k": 1})
    await service.append_event(session, changed({"k": None, "user:k": None, "app:k": None}))
    found = await read(service, app, "s1")
    assert found.state == session.state == {"k": None, "user:k": None, "app:k": None}
    assert found.events[0].actions.state_delta == {"k": None, "user:k": None, "app:k": None}


async def test_boolean_stays_one_after_other_deltas(service: Service, app: str) -> None:
    session = await created(service, app, flag=True, off=False, one=1)
    await service.append_event(session, changed({"other": 1}))
    state = (await read(service, app, "s1")).state
    assert state["flag"] is True
    assert state["off"] is False
    assert type(state["one"]) is int


@pytest.mark.parametrize("value", [2**63, -(2**70), 1.5, 1e300, "", "\x00", "🌞", [], {}, [[{"a": [None]}]], {"": 1, "é": 2}])
async def test_value_comes_back_equal(service: Service, app: str, value: Any) -> None:
    session = await created(service, app)
    await service.append_event(session, changed({"k": value, "user:k": value, "app:k": value}))
    found = await read(service, app, "s1")
    assert found == session
    assert type(found.state["k"]) is type(value)


def shout() -> None:
    """A value that JSON does not have."""


@pytest.mark.parametrize("value", [shout, float("nan"), float("inf")])
async def test_value_that_json_rejects_becomes_its_string_form(service: Service, app: str, value: Any) -> None:
    session = await service.create_session(app_name=app, user_id=USER, session_id="s1", state={"first": value})
    await service.append_event(session, changed({"bad": value, "good": {"n": 1}}, invocation_id="i1"))
    found = await read(service, app, "s1")
    assert isinstance(found.state["first"], str)
    assert isinstance(found.state["bad"], str)
    assert found.state["good"] == {"n": 1}
    assert found.events[0].invocation_id == "i1"


async def test_state_of_a_refused_append_is_unchanged(service: Service, app: str) -> None:
    session = await created(service, app)
    stale = session.model_copy(deep=True)
    await service.append_event(session, changed({"k": 1, "user:k": 1, "app:k": 1}))
    with pytest.raises(StaleSessionError):
        await service.append_event(stale, changed({"k": 2, "user:k": 2, "app:k": 2}))
    assert (await read(service, app, "s1")).state == {"k": 1, "user:k": 1, "app:k": 1}


async def test_state_of_a_user_is_read_without_prefix_and_without_a_session(service: Service, app: str) -> None:
    assert await service.get_user_state(app_name=app, user_id=USER) == {}
    session = await created(service, app)
    await service.append_event(session, changed({"user:profile": {"name": "Ada"}, "k": 1, "app:a": 2}))
    await service.append_event(session, changed({"user:n": 2}))
    assert await service.get_user_state(app_name=app, user_id=USER) == {"profile": {"name": "Ada"}, "n": 2}
    assert await service.get_user_state(app_name=app, user_id="u2") == {}
    assert await service.get_user_state(app_name=f"{app}_other", user_id=USER) == {}


async def test_state_is_that_of_other_sdks(service: Service, client: AsyncClient, app: str) -> None:
    session = await created(service, app, cart=1)
    await service.append_event(session, changed({"cart": 2, "user:seat": "window", "app:open": True}))
    loaded = await client.load_session(SessionRef(app=app, user_id=USER, session_id="s1"))
    assert (dict(loaded.state), dict(loaded.user_state), dict(loaded.app_state)) == (
        {"cart": 2},
        {"seat": "window"},
        {"open": True},
    )
    await client.user_state(USER, app=app).patch({"seat": "aisle"}, remove=["none"])
    assert (await read(service, app, "s1")).state["user:seat"] == "aisle"
