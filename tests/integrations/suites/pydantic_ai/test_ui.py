"""A UI adapter of pydantic-ai that keeps its conversations in the store."""

from __future__ import annotations

import inspect

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from pydantic_ai.ui.vercel_ai import VercelAIAdapter
from pydantic_ai.ui.vercel_ai.request_types import RegenerateMessage, SubmitMessage, TextUIPart, UIMessage

from threadkeep import AsyncClient
from threadkeep.integrations.pydantic_ai import ThreadkeepConversationStore

from .talk import texts

Store = ThreadkeepConversationStore
pytestmark = pytest.mark.skipif(
    "conversation_store" not in inspect.signature(VercelAIAdapter).parameters,
    reason="pydantic-ai 2.66: no stores in UI adapters",
)


async def answered(store: Store, request: SubmitMessage | RegenerateMessage, text: str, scope: str = "ada") -> str:
    """What the adapter streams to the browser for a request that the model answers with a text."""
    agent = Agent(TestModel(custom_output_text=text))
    adapter = VercelAIAdapter(agent=agent, run_input=request, conversation_store=store, conversation_scope=scope)
    return "".join([each async for each in adapter.encode_stream(adapter.run_stream(conversation_id="c"))])


def submitted(text: str, message_id: str) -> SubmitMessage:
    message = UIMessage(id=message_id, role="user", parts=[TextUIPart(text=text)])
    return SubmitMessage(id="c", messages=[message])


async def stored(store: Store) -> list[str]:
    loaded = await store.load("c", scope="ada")
    assert loaded is not None
    return texts(loaded.messages)


async def test_turns_of_a_ui_are_stored_once(client: AsyncClient) -> None:
    assert "a1" in await answered(Store(client), submitted("u1", "m1"), "a1")
    await answered(Store(client), submitted("u2", "m2"), "a2")
    assert await stored(Store(client)) == ["u1", "a1", "u2", "a2"]
    assert [event.text async for event in client.events("c")] == ["u1", "a1", "u2", "a2"]


async def test_conversation_of_another_scope_is_not_found(client: AsyncClient) -> None:
    await answered(Store(client), submitted("u1", "m1"), "a1")
    refused = await answered(Store(client), submitted("u2", "m2"), "a2", scope="bob")
    assert "was not found" in refused
    assert await stored(Store(client)) == ["u1", "a1"]


@pytest.mark.parametrize("turns", [1, 2])
async def test_regenerated_answer_takes_the_place_of_the_first_which_stays_a_branch(client: AsyncClient, turns: int) -> None:
    for number in range(1, turns + 1):
        await answered(Store(client), submitted(f"u{number}", f"m{number}"), f"a{number}")
    kept = await stored(Store(client))
    again = submitted(f"u{turns}", f"m{turns}")
    request = RegenerateMessage(trigger="regenerate-message", id="c", messages=again.messages)
    await answered(Store(client), request, "a again")
    assert await stored(Store(client)) == [*kept[:-1], "a again"]
    record = await Store(client).read_record("c")
    assert record is not None
    (left,) = record.branches
    assert texts([entry.message for entry in await Store(client).read_history(left)]) == kept
    assert [event.text async for event in client.events("c") if not event.archived] == [*kept[:-1], "a again"]
