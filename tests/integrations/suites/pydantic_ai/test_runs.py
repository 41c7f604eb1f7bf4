"""Runs of agents with a scripted model, also while the server is killed."""

from __future__ import annotations

import asyncio
import threading

import pytest
from pydantic_ai import Agent, AgentRunResult, Conversation
from pydantic_ai.conversation_store import ConversationConflict
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import DeferredToolRequests

from threadkeep import AsyncClient, errors
from threadkeep.integrations.pydantic_ai import ThreadkeepConversationStore

from ..conftest import Server
from .talk import texts

Store = ThreadkeepConversationStore


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Calls the tool `book` once for each prompt, then answers with what it returned."""
    answers = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
    if answers:
        return ModelResponse(parts=[TextPart(f"done: {answers[-1].content}")])
    return ModelResponse(parts=[ToolCallPart("book", {"nights": len(messages)}, f"call_{len(messages)}")])


def booking(*effects: object) -> Agent[None, str]:
    """An agent whose tool runs what it is given, then counts the nights."""
    agent = Agent(FunctionModel(scripted))

    @agent.tool_plain
    def book(nights: int) -> str:
        for effect in effects:
            assert callable(effect)
            effect()
        return f"{nights} nights"

    return agent


async def persisted(store: Store, result: AgentRunResult[str]) -> Conversation:
    """Saves a result as a program does that outlives its server: until it is stored, which a conflict may mean."""
    while True:
        try:
            await store.save(result)
        except errors.Unavailable:
            await asyncio.sleep(0.1)
        except ConversationConflict:  # an attempt was stored, and its answer lost
            loaded = await store.load(result.conversation.conversation_id)
            assert loaded is not None
            return loaded
        else:
            return result.conversation


async def turn(agent: Agent[None, str], store: Store, prompt: str) -> Conversation:
    """One turn as pydantic-ai documents it: load, run, save."""
    conversation = await store.load("trip") or Conversation(conversation_id="trip")
    return await persisted(store, await agent.run(prompt, conversation=conversation))


async def test_turns_of_an_agent_are_stored_once(client: AsyncClient) -> None:
    store = Store(client)
    await turn(booking(), store, "u1")
    last = await turn(booking(), Store(client), "u2")
    loaded = await store.load("trip")
    assert loaded == last
    assert texts(last.messages) == ["u1", "done: 1 nights", "u2", "done: 5 nights"]
    events = [event async for event in client.events("trip")]
    assert len(events) == len(last.messages) == 8
    assert {event.invocation_id for event in events[:4]} != {event.invocation_id for event in events[4:]}


async def test_server_killed_in_a_run_and_started_again_loses_nothing_and_stores_nothing_twice(killable: Server) -> None:
    async with AsyncClient(killable.address, app="trips", user_id="ada") as client:
        store = Store(client)
        await turn(booking(), store, "u1")
        restart = threading.Timer(1.0, killable.start)
        await turn(booking(killable.kill, restart.start), store, "u2")  # the save waits until the server is back
        restart.join()
        loaded = await Store(client).load("trip")
        assert loaded is not None
        assert texts(loaded.messages) == ["u1", "done: 1 nights", "u2", "done: 5 nights"]
        assert len([event async for event in client.events("trip")]) == 8


async def test_saves_cut_off_by_kills_are_stored_once(killable: Server) -> None:
    async with AsyncClient(killable.address, app="trips", user_id="ada") as client:
        store = Store(client)
        saved = await turn(booking(), store, "u0")
        for number in range(1, 4):
            conversation = await store.load("trip")
            assert conversation is not None
            result = await booking().run(f"u{number}", conversation=conversation)
            saving = asyncio.create_task(persisted(store, result))
            await asyncio.sleep(0.002 * number)
            killable.kill()
            await asyncio.to_thread(killable.start)
            saved = await saving
        loaded = await Store(client).load("trip")
        assert loaded is not None
        assert loaded.messages == saved.messages
        assert [text for text in texts(saved.messages) if text[0] == "u"] == [f"u{number}" for number in range(4)]
        events = [event async for event in client.events("trip")]
        assert len(events) == len(saved.messages) == 16


async def test_save_repeated_after_its_answer_was_lost_conflicts_and_stores_nothing_twice(client: AsyncClient) -> None:
    store = Store(client)
    result = await booking().run("u1", conversation=Conversation(conversation_id="trip"))
    unsaved = result.conversation
    await store.save(Conversation(messages=unsaved.messages, conversation_id="trip"))
    with pytest.raises(ConversationConflict):
        await store.save(result)
    loaded = await store.load("trip")
    assert loaded is not None
    assert loaded.messages == unsaved.messages


async def test_run_paused_for_approval_resumes_after_a_kill(killable: Server) -> None:
    agent = Agent(FunctionModel(scripted), output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def book(nights: int) -> str:
        return f"{nights} nights"

    async with AsyncClient(killable.address, app="trips", user_id="ada") as client:
        paused = await agent.run("u1", conversation=Conversation(conversation_id="trip"))
        await Store(client).save(paused)
        killable.kill()
        killable.start()
        store = Store(client)
        conversation = await store.load("trip")
        assert conversation is not None
        requests = conversation.deferred_tool_requests
        assert requests is not None
        assert [call.tool_call_id for call in requests.approvals] == ["call_1"]
        results = requests.build_results(approve_all=True)
        result = await agent.run(conversation=conversation, deferred_tool_results=results)
        await store.save(result)
        loaded = await Store(client).load("trip")
        assert loaded == result.conversation
        assert loaded.deferred_tool_requests is None
        assert texts(loaded.messages) == ["u1", "done: 1 nights"]
        calls = [event.tool_calls async for event in client.events("trip") if event.tool_calls]
        assert len(calls) == 1
