"""Import of a file into a server with scripted responses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import grpc
import pytest

import threadkeep
from tests.unit.sdk.fake import Fail, FakeServer
from threadkeep import AsyncClient, Session, SessionRef
from threadkeep.cli.formats import EventItem, Item, Malformed, Origin, SessionStart
from threadkeep.cli.importer import Importer
from threadkeep.cli.session_writer import Tally
from threadkeep.v1.event_service_pb2 import AppendedEvent, AppendEventsResponse, IfExists

BEGAN_NS = 1_600_000_000_123_456_789


@pytest.fixture
def fake() -> Iterator[FakeServer]:
    server = FakeServer()
    yield server
    server.stop()


async def imported(fake: FakeServer, *items: Item) -> Tally:
    async with AsyncClient(fake.address) as client:
        return await Importer(client).run([items])


def start() -> SessionStart:
    session = Session(ref=SessionRef(app="shop", user_id="alice", session_id="s"))
    session.create_time.FromNanoseconds(BEGAN_NS)
    return SessionStart(Origin("f", 1), session, never_expires=True, restore=True)


async def test_a_session_that_is_restored_gets_its_create_time(fake: FakeServer) -> None:
    fake.answers["GetSession"] = [Fail(grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND", session_id="s")]
    fake.answers["AppendEvents"] = [AppendEventsResponse(events=[AppendedEvent(event_id="e1", seq=1)])]
    tally = await imported(fake, start(), EventItem(Origin("f", 2), threadkeep.user("hi", event_id="e1"), 1))
    assert tally.problems == []
    [created] = fake.requests("CreateSession")
    assert (created.session, created.create_time.ToNanoseconds()) == (start().session.ref, BEGAN_NS)
    assert created.expiry.never_expires
    [appended] = fake.requests("AppendEvents")
    assert not appended.HasField("create_if_missing"), "it would make the session with another create_time"
    assert (tally.sessions_created, tally.sessions_found, tally.events_added) == (1, 0, 1)


async def test_a_session_without_events_gets_its_create_time(fake: FakeServer) -> None:
    tally = await imported(fake, start())
    assert [each.create_time.ToNanoseconds() for each in fake.requests("CreateSession")] == [BEGAN_NS]
    assert tally.sessions_created == 1


async def test_a_session_of_a_database_gets_its_create_time_before_its_events(fake: FakeServer) -> None:
    fake.answers["AppendEvents"] = [AppendEventsResponse(events=[AppendedEvent(event_id="e1", seq=1)])]
    begun = replace(start(), restore=False)
    tally = await imported(fake, begun, EventItem(Origin("f", 2), threadkeep.user("hi", event_id="e1")))
    assert [each.create_time.ToNanoseconds() for each in fake.requests("CreateSession")] == [BEGAN_NS]
    [appended] = fake.requests("AppendEvents")
    assert not appended.HasField("create_if_missing")
    assert (tally.sessions_created, tally.sessions_found, tally.events_added) == (1, 0, 1)


async def test_events_that_may_exist_are_appended_separately_and_each_id_once_in_an_append(fake: FakeServer) -> None:
    answer = [AppendedEvent(event_id="e", seq=1)]
    fake.answers["AppendEvents"] = [AppendEventsResponse(events=answer)] * 4
    given = (("a", "ignore"), ("b", "ignore"), ("c", "replace"), ("c", "replace"), ("a", "ignore"))
    events = [EventItem(Origin("f", 2), threadkeep.user("hi", event_id=name), if_exists=how) for name, how in given]
    await imported(fake, replace(start(), restore=False), *events)
    sent = [
        (IfExists.Name(each.if_exists), [event.event_id for event in each.events]) for each in fake.requests("AppendEvents")
    ]
    assert sent == [
        ("IF_EXISTS_IGNORE", ["a", "b"]),
        ("IF_EXISTS_REPLACE", ["c"]),
        ("IF_EXISTS_REPLACE", ["c"]),
        ("IF_EXISTS_IGNORE", ["a"]),
    ]


@pytest.mark.parametrize(("unrelated", "created"), [(True, 1), (False, 0)])
async def test_an_unreadable_row_elsewhere_leaves_an_empty_session(fake: FakeServer, unrelated: bool, created: int) -> None:
    problem = Malformed(Origin("f", 1, table="user_states", row="u"), "state", "not valid JSON", unrelated=unrelated)
    tally = await imported(fake, start(), problem)
    assert (tally.sessions_created, [str(each.origin) for each in tally.problems]) == (
        created,
        ["f: table user_states, row u"],
    )
