"""Appends: who is stale and who is not, and nothing twice."""

from __future__ import annotations

import asyncio
import time

import pytest
from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event
from google.adk.sessions import Session

from tests.integrations.suites.adk.support import USER, changed, read, said, texts
from threadkeep import AsyncClient, SessionRef, compaction, user
from threadkeep.integrations.adk import ThreadkeepSessionService

Service = ThreadkeepSessionService


@pytest.fixture
async def session(service: Service, app: str) -> Session:
    """A session without events."""
    return await service.create_session(app_name=app, user_id=USER, session_id="s1")


async def test_session_after_append_is_returned_equal(service: Service, app: str, session: Session) -> None:
    for n in range(3):
        await service.append_event(session, said(f"text {n}", timestamp=1700000000.123456 + n))
    assert await read(service, app, "s1") == session


async def test_update_time_is_that_of_the_event(service: Service, app: str, session: Session) -> None:
    before = session.last_update_time
    await service.append_event(session, said("x", timestamp=before + 10))
    assert session.last_update_time == before + 10
    assert (await read(service, app, "s1")).last_update_time == before + 10


async def test_stale_writer_is_refused(service: Service, app: str, session: Session) -> None:
    other = await read(service, app, "s1")
    await service.append_event(other, changed({"k": 1}))
    with pytest.raises(StaleSessionError, match="modified in storage"):
        await service.append_event(session, changed({"k": 2}))
    found = await read(service, app, "s1")
    assert (len(found.events), found.state) == (1, {"k": 1})
    await service.append_event(found, said("after a reload"))


async def test_stale_writer_with_the_same_time_is_refused(service: Service, app: str, session: Session) -> None:
    other = await read(service, app, "s1")
    await service.append_event(other, said("one", timestamp=session.last_update_time))
    with pytest.raises(StaleSessionError):
        await service.append_event(session, said("two", timestamp=session.last_update_time))


async def test_of_concurrent_appends_of_copies_one_wins_in_each_of_8_rounds(
    service: Service, app: str, session: Session
) -> None:
    for number in range(8):
        latest = await read(service, app, "s1")
        copies = [latest.model_copy(deep=True) for _ in range(2)]
        appends = [service.append_event(copy, changed({f"k{number}": n})) for n, copy in enumerate(copies)]
        results = await asyncio.gather(*appends, return_exceptions=True)
        assert sorted(isinstance(each, StaleSessionError) for each in results) == [False, True], results
    found = await read(service, app, "s1")
    assert len(found.events) == 8
    assert found.state.keys() == {f"k{number}" for number in range(8)}


async def test_drift_of_the_time_is_not_stale(service: Service, app: str, session: Session) -> None:
    await service.append_event(session, said("one"))
    session.last_update_time -= 0.0001
    await service.append_event(session, said("two"))
    assert texts(await read(service, app, "s1")) == ["one", "two"]


async def test_events_of_the_same_time_are_not_stale(service: Service, app: str, session: Session) -> None:
    for n in range(5):
        await service.append_event(session, said(str(n), timestamp=1700000000.0, id=f"{9 - n}"))
    assert texts(await read(service, app, "s1")) == ["0", "1", "2", "3", "4"]  # of appending, not of ids


async def test_event_of_the_past_is_read_last(service: Service, app: str, session: Session) -> None:
    await service.append_event(session, said("new", timestamp=2000.0))
    await service.append_event(session, said("old", timestamp=1000.0))
    found = await read(service, app, "s1")
    assert texts(found) == ["new", "old"]
    assert found == session


async def test_concurrent_appends_of_one_session_object_all_succeed(service: Service, app: str, session: Session) -> None:
    await asyncio.gather(*(service.append_event(session, said(str(n))) for n in range(20)))
    found = await read(service, app, "s1")
    assert found == session
    assert sorted(map(int, texts(found))) == list(range(20))


async def test_session_without_a_marker_is_compared_by_its_last_event(service: Service, app: str, session: Session) -> None:
    session._storage_update_marker = None
    await service.append_event(session, said("one"))
    session._storage_update_marker = None
    session.last_update_time -= 0.0001
    await service.append_event(session, said("two"))
    assert await read(service, app, "s1") == session


async def test_stale_session_without_a_marker_is_refused(service: Service, app: str, session: Session) -> None:
    await service.append_event(session, said("one"))
    with pytest.raises(StaleSessionError):
        await service.append_event(Session(id="s1", app_name=app, user_id=USER), said("two"))


async def test_marker_of_another_service_is_not_believed(service: Service, app: str, session: Session) -> None:
    session._storage_update_marker = "2026-01-01T00:00:00.000000"
    await service.append_event(session, said("one"))
    assert await read(service, app, "s1") == session


async def test_append_to_a_deleted_session_raises_session_not_found(service: Service, app: str, session: Session) -> None:
    await service.append_event(session, said("one"))
    await service.delete_session(app_name=app, user_id=USER, session_id="s1")
    with pytest.raises(SessionNotFoundError):
        await service.append_event(session, said("two"))
    assert await service.get_session(app_name=app, user_id=USER, session_id="s1") is None


async def test_writer_of_a_session_that_was_created_again_is_refused(service: Service, app: str, session: Session) -> None:
    await service.append_event(session, said("one"))
    await service.delete_session(app_name=app, user_id=USER, session_id="s1")
    await service.create_session(app_name=app, user_id=USER, session_id="s1")
    with pytest.raises(StaleSessionError):
        await service.append_event(session, said("two"))


async def test_partial_event_is_not_stored(service: Service, app: str, session: Session) -> None:
    event = said("unfinished", partial=True)
    assert await service.append_event(session, event) is event
    assert session.events == []
    assert (await read(service, app, "s1")).events == []


async def test_event_delivered_again_is_stored_once(service: Service, app: str, session: Session) -> None:
    event = changed({"n": 1, "user:n": 1})
    for _ in range(3):
        await service.append_event(session, event)
    await service.append_event(session, said("after"))
    await service.append_event(session, event.model_copy(deep=True))
    found = await read(service, app, "s1")
    assert found == session
    assert len(found.events) == 2


async def test_append_whose_answer_was_lost_is_stored_once(service: Service, app: str, session: Session) -> None:
    event = said("one")
    await service.append_event(session.model_copy(deep=True), event)  # the caller's session never learned of it
    await service.append_event(session, event)
    await service.append_event(session, said("two"))
    found = await read(service, app, "s1")
    assert found == session
    assert texts(found) == ["one", "two"]


async def test_event_delivered_again_does_not_hide_what_others_wrote(service: Service, app: str, session: Session) -> None:
    event, other = said("one"), session.model_copy(deep=True)
    await service.append_event(other, event)
    await service.append_event(other, said("from another"))
    await service.append_event(session, event)
    with pytest.raises(StaleSessionError):
        await service.append_event(session, said("two"))


async def test_old_event_delivered_to_a_short_read_changes_nothing(service: Service, app: str, session: Session) -> None:
    event = said("one")
    await service.append_event(session, event)
    await service.append_event(session, said("two"))
    short = await read(service, app, "s1", num_recent_events=1)
    await service.append_event(short, event)
    await service.append_event(short, said("three"))
    assert texts(short) == ["two", "three"]
    assert texts(await read(service, app, "s1")) == ["one", "two", "three"]


async def test_other_event_with_a_stored_id_raises_already_exists(service: Service, app: str, session: Session) -> None:
    await service.append_event(session, said("one", id="e1"))
    with pytest.raises(AlreadyExistsError, match="e1"):
        await service.append_event(session, said("two", id="e1"))
    assert texts(await read(service, app, "s1")) == texts(session) == ["one"]


async def test_append_after_a_short_read_keeps_the_history(service: Service, app: str, session: Session) -> None:
    for n in range(4):
        await service.append_event(session, said(str(n)))
    short = await read(service, app, "s1", num_recent_events=1)
    await service.append_event(short, said("4"))
    assert texts(short) == ["3", "4"]
    assert texts(await read(service, app, "s1")) == ["0", "1", "2", "3", "4"]


async def test_event_without_an_id_gets_one(service: Service, app: str, session: Session) -> None:
    event = said("one")
    event.id = ""
    await service.append_event(session, event)
    assert event.id
    assert await read(service, app, "s1") == session


async def test_writer_of_a_session_that_the_server_compacted_is_not_stale(
    service: Service, client: AsyncClient, app: str, session: Session
) -> None:
    ref = SessionRef(app=app, user_id=USER, session_id="s1")
    for n in range(6):
        await service.append_event(session, said(f"question {n}"))
        await service.append_event(session, said(f"answer {n}", author="helper"))
    for _ in range(2):
        assert (await client.compact(ref, compaction.turn_window(2))).compaction.archived_events
        await service.append_event(session, said("next question"))
        await service.append_event(session, said("next answer", author="helper"))
    found = await read(service, app, "s1")
    assert texts(found)[-1] == "next answer"
    assert "question 0" not in texts(found)
    assert found._storage_update_marker == session._storage_update_marker


async def test_writer_of_a_session_with_a_policy_is_never_stale(
    service: Service, client: AsyncClient, app: str, session: Session
) -> None:
    ref = SessionRef(app=app, user_id=USER, session_id="s1")
    policy = compaction.policy(compaction.turns_over(3), compaction.turn_window(2))
    await client.session(ref).policy().set(policy)
    for n in range(30):
        await service.append_event(session, said(f"question {n}"))
        await service.append_event(session, said(f"answer {n}", author="helper"))
    deadline = time.monotonic() + 30
    while not (compactions := [each async for each in client.compactions(ref)]) and time.monotonic() < deadline:
        await asyncio.sleep(0.05)
        await service.append_event(session, said("another question"))
    assert compactions
    stored = [each.id async for each in client.events(ref) if not each.synthetic]
    assert stored == [event.id for event in session.events]


async def test_state_that_another_program_changed_is_not_stale(
    service: Service, client: AsyncClient, app: str, session: Session
) -> None:
    await client.session(SessionRef(app=app, user_id=USER, session_id="s1")).state().patch({"k": 1, "other": 1})
    await client.user_state(USER, app=app).patch({"k": 2})
    await client.app_state(app).patch({"k": 3})
    await service.append_event(session, changed({"k": 0}))
    assert (await read(service, app, "s1")).state == {"k": 0, "other": 1, "user:k": 2, "app:k": 3}


async def test_writer_of_a_session_that_was_compacted_and_written_is_stale(
    service: Service, client: AsyncClient, app: str, session: Session
) -> None:
    ref = SessionRef(app=app, user_id=USER, session_id="s1")
    for n in range(4):
        await service.append_event(session, said(f"question {n}"))
    await client.append(ref, user("from another program"))
    await client.compact(ref, compaction.turn_window(2))
    with pytest.raises(StaleSessionError):
        await service.append_event(session, said("next"))


async def test_writer_of_a_session_that_was_popped_is_stale(
    service: Service, client: AsyncClient, app: str, session: Session
) -> None:
    ref = SessionRef(app=app, user_id=USER, session_id="s1")
    await service.append_event(session, said("one"))
    await client.pop(ref)
    with pytest.raises(StaleSessionError):
        await service.append_event(session, said("two"))
    assert (await read(service, app, "s1")).events == []


async def test_events_of_many_sessions_are_appended_at_once(service: Service, app: str) -> None:
    async def converse(session_id: str) -> Event:
        session = await service.create_session(app_name=app, user_id=USER, session_id=session_id)
        for n in range(5):
            last = await service.append_event(session, said(str(n)))
        return last

    await asyncio.gather(*(converse(f"s{n}") for n in range(20)))
    for n in range(20):
        assert texts(await read(service, app, f"s{n}")) == ["0", "1", "2", "3", "4"]
