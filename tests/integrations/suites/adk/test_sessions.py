"""Sessions: creation, reads, lists and deletion."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.sessions.base_session_service import GetSessionConfig
from pydantic import ValidationError

from tests.integrations.suites.adk.support import USER, changed, read, said, texts
from threadkeep import AsyncClient, SessionRef, ThreadkeepError
from threadkeep.formats import adk
from threadkeep.integrations.adk import ThreadkeepSessionService

Service = ThreadkeepSessionService


async def test_created_session_is_returned_equal_with_time_and_marker(service: Service, app: str) -> None:
    state = {"key": "value", "app:a": 1, "user:u": [2], "nested": {"x": None}}
    created = await service.create_session(app_name=app, user_id=USER, state=state)
    assert created.id
    assert created.state == state
    found = await read(service, app, created.id)
    assert found == created
    assert found.last_update_time == created.last_update_time
    assert found._storage_update_marker == created._storage_update_marker is not None


async def test_unknown_session_is_none(service: Service, app: str) -> None:
    assert await service.get_session(app_name=app, user_id=USER, session_id="missing") is None
    assert await service.get_session(app_name=app, user_id=USER, session_id=" ") is None


async def test_flush_has_nothing_to_write(service: Service) -> None:
    await service.flush()


async def test_existing_id_raises_already_exists(service: Service, app: str) -> None:
    await service.create_session(app_name=app, user_id=USER, session_id="s1", state={"k": 1})
    with pytest.raises(AlreadyExistsError, match="s1"):
        await service.create_session(app_name=app, user_id=USER, session_id="s1", state={"k": 2, "app:k": 3})
    assert (await read(service, app, "s1")).state == {"k": 1}


async def test_of_concurrent_creations_of_an_id_one_wins(service: Service, app: str) -> None:
    attempts = (service.create_session(app_name=app, user_id=USER, session_id="s1") for _ in range(10))
    results = await asyncio.gather(*attempts, return_exceptions=True)
    assert sum(isinstance(each, AlreadyExistsError) for each in results) == 9
    assert (await read(service, app, "s1")).events == []


@pytest.mark.parametrize("padded", ["  s1", "s1 ", "\ts1\n"])
async def test_padded_id_is_stripped_on_create_get_and_delete(service: Service, app: str, padded: str) -> None:
    created = await service.create_session(app_name=app, user_id=USER, session_id=padded)
    assert created.id == "s1"
    assert await read(service, app, padded) == await read(service, app, "s1") == created
    await service.delete_session(app_name=app, user_id=USER, session_id=padded)
    assert await service.get_session(app_name=app, user_id=USER, session_id="s1") is None


@pytest.mark.parametrize("blank", [None, "", "   "])
async def test_blank_id_is_generated(service: Service, app: str, blank: str | None) -> None:
    first = await service.create_session(app_name=app, user_id=USER, session_id=blank)
    second = await service.create_session(app_name=app, user_id=USER, session_id=blank)
    assert first.id.strip()
    assert first.id != second.id


async def test_id_is_that_of_two_sessions_under_two_users(service: Service, app: str) -> None:
    first = await service.create_session(app_name=app, user_id="u1", session_id="s1")
    await service.append_event(first, said("mine"))
    second = await service.create_session(app_name=app, user_id="u2", session_id="s1")
    assert second.events == []
    assert (await read(service, app, "s1", user="u2")).user_id == "u2"
    assert texts(await read(service, app, "s1", user="u1")) == ["mine"]


async def test_deletion_is_of_app_user_and_id(service: Service, app: str) -> None:
    for app_name, user in ((app, "u1"), (app, "u2"), (f"{app}_other", "u1")):
        await service.create_session(app_name=app_name, user_id=user, session_id="s1")
    await service.delete_session(app_name=app, user_id="u1", session_id="s1")
    assert await service.get_session(app_name=app, user_id="u1", session_id="s1") is None
    await read(service, app, "s1", user="u2")
    await read(service, f"{app}_other", "s1", user="u1")


async def test_deletion_of_unknown_session_does_nothing(service: Service, app: str) -> None:
    await service.delete_session(app_name=app, user_id=USER, session_id="missing")
    await service.delete_session(app_name=app, user_id=USER, session_id="")


async def test_session_whose_shared_state_is_refused_is_not_created(service: Service, app: str) -> None:
    with pytest.raises(ThreadkeepError):
        await service.create_session(app_name=app, user_id=USER, session_id="s1", state={"app:big": "x" * 2_000_000})
    assert await service.get_session(app_name=app, user_id=USER, session_id="s1") is None


async def test_list_is_oldest_update_first_and_ties_are_by_user_then_id(service: Service, app: str) -> None:
    times = {("u2", "a"): 30.0, ("u1", "b"): 20.0, ("u2", "c"): 20.0, ("u1", "d"): 20.0, ("u1", "e"): 10.0}
    for (user, session_id), time in times.items():
        session = await service.create_session(app_name=app, user_id=user, session_id=session_id)
        await service.append_event(session, said("x", timestamp=time))
    listed = (await service.list_sessions(app_name=app)).sessions
    assert [each.id for each in listed] == ["e", "b", "d", "c", "a"]
    assert [each.last_update_time for each in listed] == [10.0, 20.0, 20.0, 20.0, 30.0]
    assert [each.id for each in (await service.list_sessions(app_name=app, user_id="u2")).sessions] == ["c", "a"]


async def test_list_has_merged_state_and_no_events(service: Service, app: str) -> None:
    for user in ("u1", "u2"):
        state = {"k": user, "user:name": user, "app:shared": "yes"}
        session = await service.create_session(app_name=app, user_id=user, session_id="s", state=state)
        await service.append_event(session, changed({"k2": True, "user:n": 1}))
    for each in (await service.list_sessions(app_name=app)).sessions:
        user = each.user_id
        assert each.events == []
        assert each.state == {"k": user, "k2": True, "user:name": user, "user:n": 1, "app:shared": "yes"}


async def test_list_of_unknown_app_or_user_is_empty(service: Service, app: str) -> None:
    await service.create_session(app_name=app, user_id=USER)
    assert (await service.list_sessions(app_name=f"{app}_other")).sessions == []
    assert (await service.list_sessions(app_name=app, user_id="nobody")).sessions == []
    assert (await service.list_sessions(app_name=app, user_id="")).sessions == []


async def test_list_is_longer_than_a_page(service: Service, client: AsyncClient, app: str) -> None:
    await asyncio.gather(*(client.create_session(f"s{n:03}", app=app, user_id=USER) for n in range(230)))
    listed = (await service.list_sessions(app_name=app, user_id=USER)).sessions
    assert sorted(each.id for each in listed) == [f"s{n:03}" for n in range(230)]


async def test_listed_session_has_the_time_and_marker_of_the_loaded_one(service: Service, app: str) -> None:
    session = await service.create_session(app_name=app, user_id=USER, session_id="s1")
    await service.append_event(session, said("x", timestamp=1700000000.123456))
    (listed,) = (await service.list_sessions(app_name=app, user_id=USER)).sessions
    session.events = []
    assert listed == session


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"num_recent_events": 0}, []),
        ({"num_recent_events": 3}, [3, 4, 5]),
        ({"num_recent_events": 9}, [1, 2, 3, 4, 5]),
        ({"after_timestamp": 4.0}, [4, 5]),
        ({"after_timestamp": 50.0}, []),
        ({"after_timestamp": 4.0, "num_recent_events": 3}, [4, 5]),
        ({"after_timestamp": 2.0, "num_recent_events": 1}, [5]),
    ],
)
async def test_config_selects_the_newest_events_and_those_since_a_time(
    service: Service, app: str, config: dict[str, Any], expected: list[int]
) -> None:
    session = await service.create_session(app_name=app, user_id=USER, session_id="s1", state={"k": 1})
    for n in range(1, 6):
        await service.append_event(session, said(str(n), timestamp=n))
    found = await read(service, app, "s1", **config)
    assert [int(text) for text in texts(found)] == expected
    assert (found.state, found.last_update_time) == ({"k": 1}, 5.0)
    assert found._storage_update_marker == session._storage_update_marker


async def test_negative_number_of_events_is_rejected() -> None:
    with pytest.raises(ValidationError):
        GetSessionConfig(num_recent_events=-1)


@pytest.mark.parametrize("config", [{}, {"num_recent_events": 2_150}])
async def test_session_of_many_pages_comes_whole(
    service: Service, client: AsyncClient, app: str, config: dict[str, Any]
) -> None:
    await service.create_session(app_name=app, user_id=USER, session_id="s1")
    events = [adk.event_of(said(str(n)).model_dump(mode="json", exclude_none=True)) for n in range(2_200)]
    ref = SessionRef(app=app, user_id=USER, session_id="s1")
    for start in range(0, len(events), 100):
        await client.append(ref, events[start : start + 100])
    found = texts(await read(service, app, "s1", **config))
    assert found == [str(n) for n in range(2_200)][-config.get("num_recent_events", 2_200) :]
