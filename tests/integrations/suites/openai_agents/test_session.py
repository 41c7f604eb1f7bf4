"""What the SDK expects of a session, rule by rule."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from agents import SessionSettings, TResponseInputItem
from agents.memory import Session

from threadkeep import (
    AsyncClient,
    AsyncSessionHandle,
    SessionEvent,
    assistant,
    event,
    text,
    tool_call,
    tool_result_part,
    user,
)
from threadkeep.errors import SessionNotFound, Unavailable
from threadkeep.formats import responses
from threadkeep.integrations.openai_agents import ThreadkeepSession
from threadkeep.v1.event_pb2 import NativeContent


def said(*texts: str) -> list[TResponseInputItem]:
    return [{"role": "user", "content": each} for each in texts]


def contents(items: list[TResponseInputItem]) -> list[Any]:
    return [cast("dict[str, Any]", item).get("content") for item in items]


def damaged() -> SessionEvent:
    """An event whose native content is cut off, as a writer with a fault leaves it."""
    return assistant(native=NativeContent(format=responses.NATIVE, content=b'{"role": "us'))


@pytest.fixture
def session(client: AsyncClient) -> ThreadkeepSession:
    return ThreadkeepSession(client, "s1")


async def test_session_satisfies_the_protocol(session: ThreadkeepSession) -> None:
    assert isinstance(session, Session)
    assert (session.session_id, session.session_settings) == ("s1", SessionSettings(limit=None))


async def test_items_come_back_equal_and_in_order(session: ThreadkeepSession) -> None:
    items: list[Any] = [
        {"role": "user", "content": "a \u0000 and \ud800 of JSON"},
        {
            "type": "function_call",
            "call_id": "c1",
            "name": "f",
            "arguments": '{"n": 9007199254740993}',
            "provider_data": {"x": None},
        },
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "ok"}]},
        {"type": "of_next_year", "big": 2**80, "nested": [[], {}, None, 1.5e-300]},
    ]
    await session.add_items(items)
    assert await session.get_items() == items


async def test_get_items_of_unknown_session_is_empty(session: ThreadkeepSession) -> None:
    assert await session.get_items() == []


async def test_limit_selects_latest_items_in_chronological_order(session: ThreadkeepSession) -> None:
    await session.add_items(said("1", "2", "3"))
    await session.add_items(said("4"))
    assert contents(await session.get_items(2)) == ["3", "4"]
    assert contents(await session.get_items(limit=9)) == ["1", "2", "3", "4"]
    assert contents(await session.get_items(2_147_483_647)) == ["1", "2", "3", "4"]


async def test_limit_none_falls_back_to_session_settings(client: AsyncClient) -> None:
    session = ThreadkeepSession(client, "s1", session_settings=SessionSettings(limit=1))
    await session.add_items(said("1", "2", "3"))
    assert contents(await session.get_items()) == ["3"]
    assert contents(await session.get_items(2)) == ["2", "3"]


@pytest.mark.parametrize("limit", [0, -1])
async def test_limit_below_one_selects_nothing(session: ThreadkeepSession, limit: int) -> None:
    await session.add_items(said("1"))
    assert await session.get_items(limit) == []


async def test_add_items_without_items_does_nothing(session: ThreadkeepSession, client: AsyncClient) -> None:
    await session.add_items([])
    with pytest.raises(SessionNotFound):
        await client.get_session("s1")


async def test_add_items_without_items_of_closed_client_raises(address: str) -> None:
    client = AsyncClient(address, app="a", user_id="u")
    await client.close()
    with pytest.raises(RuntimeError, match="closed"):
        await ThreadkeepSession(client, "s1").add_items([])


async def test_damaged_items_are_skipped_and_do_not_count_towards_limit(
    session: ThreadkeepSession, client: AsyncClient
) -> None:
    await session.add_items(said("1", "2"))
    await client.append("s1", damaged(), damaged())
    await session.add_items(said("3"))
    await client.append("s1", damaged())
    assert contents(await session.get_items()) == ["1", "2", "3"]
    assert contents(await session.get_items(2)) == ["2", "3"]


async def test_pop_skips_and_removes_damaged_items(session: ThreadkeepSession, client: AsyncClient) -> None:
    await session.add_items(said("1"))
    await client.append("s1", damaged(), damaged())
    assert await session.pop_item() == said("1")[0]
    assert (await client.get_session("s1")).window.events == 0
    await client.append("s1", damaged())
    assert await session.pop_item() is None
    assert (await client.get_session("s1")).window.events == 0


async def test_pop_is_last_in_first_out_until_nothing_is_left(session: ThreadkeepSession) -> None:
    await session.add_items(said("1", "2"))
    assert [await session.pop_item() for _ in range(3)] == [said("2")[0], said("1")[0], None]
    await session.add_items(said("2"))
    assert contents(await session.get_items()) == ["2"]


async def test_concurrent_pops_return_each_item_once(session: ThreadkeepSession, client: AsyncClient) -> None:
    await session.add_items(said(*map(str, range(12))))
    poppers = [ThreadkeepSession(client, "s1") for _ in range(4)]
    popped = await asyncio.gather(*(popper.pop_item() for popper in poppers for _ in range(4)))
    found = contents([item for item in popped if item is not None])
    assert sorted(found, key=int) == [str(n) for n in range(12)]


async def test_clear_empties_session_which_stays_usable(session: ThreadkeepSession, client: AsyncClient) -> None:
    await session.clear_session()  # of an unknown session: nothing
    await session.add_items(said("1"))
    await session.clear_session()
    assert await session.get_items() == []
    await session.add_items(said("2"))
    assert contents(await session.get_items()) == ["2"]
    assert [each.text async for each in client.events("s1")] == ["1", "2"], "what was cleared is archived"


async def test_erase_leaves_no_content_of_what_was_popped_or_cleared(client: AsyncClient) -> None:
    session = ThreadkeepSession(client, "s1", erase=True)
    await session.add_items(said("1", "2"))
    assert await session.pop_item() == said("2")[0]
    await session.clear_session()
    assert [each.text async for each in client.events("s1")] == ["", ""]


async def test_concurrent_first_appends_are_all_stored(client: AsyncClient) -> None:
    sessions = [ThreadkeepSession(client, "s1", create={"labels": {"team": "blue"}}) for _ in range(16)]
    await asyncio.gather(*(session.add_items(said(str(n), f"{n}b")) for n, session in enumerate(sessions)))
    found = contents(await sessions[0].get_items())
    assert sorted(found) == sorted([each for n in range(16) for each in (str(n), f"{n}b")])
    assert all(found[found.index(str(n)) + 1] == f"{n}b" for n in range(16)), "an append is parted"
    assert (await client.get_session("s1")).labels == {"team": "blue"}


async def test_repeated_append_after_lost_answer_stores_nothing_twice(
    session: ThreadkeepSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = AsyncSessionHandle.append

    async def lost(handle: AsyncSessionHandle, *events: Any, **options: Any) -> None:
        await append(handle, *events, **options)
        raise Unavailable("the connection broke")

    with monkeypatch.context() as patch:
        patch.setattr(AsyncSessionHandle, "append", lost)
        with pytest.raises(Unavailable):
            await session.add_items(said("1", "2"))
    await session.add_items(said("1", "2"))
    assert contents(await session.get_items()) == ["1", "2"]
    await session.add_items(said("1", "2"))  # said again, not sent again
    assert contents(await session.get_items()) == ["1", "2", "1", "2"]


async def test_cancellation_is_raised_once_the_append_is_settled(session: ThreadkeepSession) -> None:
    task = asyncio.create_task(session.add_items(said("1")))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert contents(await session.get_items()) == ["1"]


async def test_large_append_is_stored_whole(session: ThreadkeepSession) -> None:
    texts = [str(n) for n in range(2_345)]
    await session.add_items(said(*texts))
    assert contents(await session.get_items()) == texts
    assert contents(await session.get_items(1_500)) == texts[-1_500:]


async def test_messages_of_another_framework_are_read_part_by_part(session: ThreadkeepSession, client: AsyncClient) -> None:
    calls = [tool_call("c1", "f", {"x": 1}), tool_call("c2", "g", "{}")]
    results = [tool_result_part("c1", {"y": 2}), tool_result_part("c2", "broken", is_error=True)]
    answer = assistant(["Look.", *calls], author="planner")
    await client.append("s1", user("Hi"), answer, event("tool", results), event("assistant"), create_if_missing=True)
    assert await session.get_items() == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Look."},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"x":1}'},
        {"type": "function_call", "call_id": "c2", "name": "g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": '{"y":2}'},
        {"type": "function_call_output", "call_id": "c2", "output": "broken"},
    ]
    assert len(await session.get_items(3)) == 3


async def test_pop_takes_one_item_of_a_message_of_another_framework(session: ThreadkeepSession, client: AsyncClient) -> None:
    stateful = event("assistant", native=NativeContent(format="other.event/1", content=b"state"), event_id="empty")
    answer = assistant([text("Look."), tool_call("c1", "f", {})], event_id="said")
    await client.append("s1", answer, stateful, create_if_missing=True)
    popped = await session.pop_item()
    assert popped == {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    assert await session.get_items() == [{"role": "assistant", "content": "Look."}]
    window = [each.id async for each in client.events("s1") if not each.archived]
    assert window[-1] == "empty", "an event without an item is not this framework's to remove"
