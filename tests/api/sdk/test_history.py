"""Reads as of a moment with a real server; each test with one of both clients, in the long form with both."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

import threadkeep
from tests.unit.sdk.flavors import FLAVORS, make
from threadkeep import compaction, errors, event_filter


@pytest.fixture(params=FLAVORS)
async def client(request: pytest.FixtureRequest, address: str) -> AsyncIterator[Any]:
    async with make(str(request.param), address, app="shop", user_id="alice") as client:
        yield client


async def _each(events: Any) -> list[str]:
    if hasattr(events, "__aiter__"):
        return [threadkeep.text_of(event.pb) async for event in events]
    return [threadkeep.text_of(event.pb) for event in events]


async def test_a_context_and_the_events_are_those_of_then(client: Any) -> None:
    for number in range(1, 7):
        await client.append("s", threadkeep.user(f"q{number}"), create_if_missing=True)
    then = await client.get_context("s", last_n=4)
    await client.compact("s", compaction.turn_window(2))
    await client.append("s", threadkeep.user("q7"))
    again = await client.get_context("s", as_of_log_version=then.log_version, max_bytes=then.max_bytes, last_n=4)
    assert again.pb == then.pb
    assert (await client.get_context("s", as_of_seq=6, last_n=4)).pb == then.pb
    active = event_filter(view="active")
    assert await _each(client.events("s", active, as_of_seq=3, page_size=2)) == ["q1", "q2", "q3"]
    assert await _each(client.events("s", active, as_of_log_version=7)) == ["q5", "q6"]
    page = await client.events_page("s", as_of_log_version=2)
    assert (page.log_version, page.last_seq, [event.archived for event in page.events]) == (2, 2, [False, False])


async def test_a_bad_moment_is_refused(client: Any) -> None:
    await client.append("s", threadkeep.user("q1"), create_if_missing=True)
    for moment in ({"as_of_seq": 2}, {"as_of_seq": 0}, {"as_of_log_version": 2}, {"as_of_log_version": -1}):
        for read in (client.get_context, client.events_page):
            with pytest.raises(errors.InvalidField) as caught:
                await read("s", **moment)
            assert caught.value.field == next(iter(moment))
    with pytest.raises(ValueError, match="at most one"):
        await client.get_context("s", as_of_seq=1, as_of_log_version=1)
    page = await client.events_page("s", as_of_seq=1, page_size=1)
    assert page.next_page_token == ""


async def test_a_page_token_belongs_to_its_moment(client: Any) -> None:
    await client.append("s", threadkeep.user("q1"), threadkeep.user("q2"), create_if_missing=True)
    page = await client.events_page("s", as_of_seq=1, page_size=1)
    rest = await client.events_page("s", as_of_seq=1, page_size=1, page_token=page.next_page_token)
    assert [event.seq for event in rest.events] == [2]
    with pytest.raises(errors.InvalidPageToken):
        await client.events_page("s", page_size=1, page_token=page.next_page_token)
