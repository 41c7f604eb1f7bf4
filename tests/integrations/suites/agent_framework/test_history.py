"""The rules of `HistoryProvider`, and what the server adds."""

from __future__ import annotations

import asyncio
import inspect
from datetime import timedelta

from agent_framework import Content, HistoryProvider, InMemoryHistoryProvider, Message

from threadkeep import AsyncClient, assistant, tool_call, tool_result, user
from threadkeep.formats.agent_framework import event_of
from threadkeep.integrations.agent_framework import ThreadkeepHistoryProvider

from .scripted import said


def test_arguments_are_those_of_the_base_class() -> None:
    base = set(inspect.signature(HistoryProvider.__init__).parameters)
    ours = set(inspect.signature(ThreadkeepHistoryProvider.__init__).parameters)
    assert base <= ours
    assert ours - base == {"client", "create"}


async def test_get_messages_of_unknown_session_is_empty(client: AsyncClient) -> None:
    assert await ThreadkeepHistoryProvider(client).get_messages("never") == []


async def test_save_and_get_without_session_id_store_nothing(client: AsyncClient) -> None:
    history = ThreadkeepHistoryProvider(client)
    await history.save_messages(None, [Message("user", ["hello"])])
    assert await history.get_messages(None) == []
    assert [each async for each in client.sessions()] == []


async def test_save_of_no_messages_creates_no_session(client: AsyncClient) -> None:
    await ThreadkeepHistoryProvider(client).save_messages("s", [])
    assert [each async for each in client.sessions()] == []


async def test_messages_come_back_equal_and_in_order(client: AsyncClient) -> None:
    history = ThreadkeepHistoryProvider(client)
    written = [
        Message("system", ["Be brief."]),
        Message(
            "user", ["Hi \x00 🌞", Content.from_uri("https://example.com/a.png", media_type="image/png")], author_name="ada"
        ),
        Message(
            "assistant",
            [
                Content.from_text_reasoning(text="Think.", protected_data="opaque=="),
                Content.from_function_call("c1", "weather", arguments='{"city":  "Oslo"}'),
                Content.from_usage({"input_token_count": 7, "output_token_count": 5, "total_token_count": 12}),
            ],
            message_id="m1",
            additional_properties={"trace": {"n": 2**63}},
        ),
        Message("tool", [Content.from_function_result("c1", result={"celsius": 3})]),
        Message("assistant", [Content.from_error(message="overloaded", error_code="529")]),
    ]
    await history.save_messages("s", written[:2])
    await history.save_messages("s", written[2:])
    read = await history.get_messages("s")
    assert [each.to_dict() for each in read] == [each.to_dict() for each in written]
    assert (await client.get_session("s")).usage.total_tokens == 12


async def test_save_appends_only_what_follows_a_transcript_with_ids(client: AsyncClient) -> None:
    history = ThreadkeepHistoryProvider(client)
    first = [Message("user", ["hi"], message_id="u1"), Message("assistant", ["hello"], message_id="a1")]
    await history.save_messages("s", first)
    await history.save_messages("s", [*first, Message("user", ["and?"], message_id="u2")])
    assert said(await history.get_messages("s")) == [("user", "hi"), ("assistant", "hello"), ("user", "and?")]


async def test_save_of_equal_turns_without_ids_keeps_both(client: AsyncClient) -> None:
    history = ThreadkeepHistoryProvider(client)
    turn = [Message("user", ["yes"]), Message("assistant", ["ok"])]
    await history.save_messages("s", turn)
    await history.save_messages("s", [Message("user", ["yes"]), Message("assistant", ["ok"])])
    assert len(await history.get_messages("s")) == 4


async def test_concurrent_first_saves_of_a_session_are_all_stored(client: AsyncClient) -> None:
    history = ThreadkeepHistoryProvider(client)
    turns = [[Message("user", [f"q{n}"]), Message("assistant", [f"a{n}"], message_id=f"m{n}")] for n in range(20)]
    await asyncio.gather(*(history.save_messages("s", turn) for turn in turns))
    read = said(await history.get_messages("s"))
    assert len(read) == 40
    assert all(read[n + 1][1] == f"a{read[n][1][1:]}" for n in range(0, 40, 2)), "a run is one append"


async def test_tenants_of_one_server_share_no_history(client: AsyncClient, address: str) -> None:
    await ThreadkeepHistoryProvider(client).save_messages("s", [Message("user", ["secret"])])
    async with AsyncClient(address, app=client.app, user_id="bob") as other:
        assert await ThreadkeepHistoryProvider(other).get_messages("s") == []


async def test_create_sets_the_expiry_of_a_session(client: AsyncClient) -> None:
    history = ThreadkeepHistoryProvider(client, create={"ttl": timedelta(hours=1)})
    await history.save_messages("s", [Message("user", ["hi"])])
    session = await client.get_session("s")
    assert session.expire_time.seconds - session.create_time.seconds == 3600


async def test_compacted_messages_are_not_returned(client: AsyncClient) -> None:
    history = ThreadkeepHistoryProvider(client)
    await history.save_messages("s", [Message("user", [f"q{n}"]) for n in range(3)])
    session = await client.get_session("s")
    await client.apply_compaction("s", through_seq=2, expected_window_version=session.window_version)
    assert said(await history.get_messages("s")) == [("user", "q2")]


async def test_history_of_more_than_a_page_is_complete(client: AsyncClient) -> None:
    await client.append("s", [user(f"q{n}") for n in range(1_000)], create_if_missing=True)
    await client.append("s", user("last"))
    read = await ThreadkeepHistoryProvider(client).get_messages("s")
    assert len(read) == 1_001
    assert read[-1].text == "last"


async def test_events_of_others_are_messages(client: AsyncClient) -> None:
    await client.append(
        "s",
        user("Weather?", author="ada"),
        assistant("Let me look.", tool_calls=[tool_call("c1", "weather", {"city": "Oslo"})], author="planner"),
        tool_result("c1", {"celsius": 3}),
        create_if_missing=True,
    )
    question, answered, result = await ThreadkeepHistoryProvider(client).get_messages("s")
    assert (question.role, question.text, question.author_name) == ("user", "Weather?", "ada")
    assert [each.type for each in answered.contents] == ["text", "function_call"]
    assert answered.contents[1].parse_arguments() == {"city": "Oslo"}
    assert (result.role, result.contents[0].call_id, result.contents[0].result) == ("tool", "c1", '{"celsius":3}')


async def test_others_read_what_the_framework_wrote(client: AsyncClient) -> None:
    failed = Content.from_function_result("c1", result="offline", exception="TimeoutError: secret host name")
    await ThreadkeepHistoryProvider(client).save_messages("s", [Message("tool", [failed])])
    (event,) = [each async for each in client.events("s")]
    (result,) = event.tool_results
    assert (result.call_id, result.text, result.is_error) == ("c1", "offline", True)
    assert b"secret host name" not in event.pb.SerializeToString()


async def test_save_and_get_take_the_arguments_that_the_framework_passes(client: AsyncClient) -> None:
    for history in (InMemoryHistoryProvider(), ThreadkeepHistoryProvider(client)):
        state: dict[str, object] = {}
        await history.save_messages("s", [Message("user", ["hi"])], state=state, extra=1)
        assert said(await history.get_messages("s", state=state, extra=1)) == [("user", "hi")]


async def test_message_with_a_field_of_a_newer_version_is_read_from_its_parts(client: AsyncClient) -> None:
    content = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}", "of_a_newer_version": True}
    item = {"type": "message", "role": "assistant", "contents": [{"type": "text", "text": "Let me look."}, content]}
    await client.append("s", event_of(item), create_if_missing=True)
    [message] = await ThreadkeepHistoryProvider(client).get_messages("s")
    assert (message.role, message.text) == ("assistant", "Let me look.")
    assert [(each.call_id, each.name) for each in message.contents if each.type == "function_call"] == [("c1", "weather")]
