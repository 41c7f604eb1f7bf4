"""`Memory` and agents of the framework on our store and blocks, and servers that are killed meanwhile."""

from __future__ import annotations

import asyncio

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus

from tests.integrations.suites.conftest import Server
from threadkeep import AsyncClient
from threadkeep.errors import Unavailable
from threadkeep.integrations.llama_index import ThreadkeepChatStore, ThreadkeepMemoryBlock, ThreadkeepRecallBlock

from .scripted import call, said, scripted

TURN = [("user", "Weather in Oslo?"), ("assistant", "weather"), ("tool", "3 °C"), ("assistant", "It has 3 °C.")]


def words(text: str) -> list[str]:
    """A tokenizer that needs no download."""
    return text.split()


def memory_of(client: AsyncClient, *blocks: ThreadkeepRecallBlock | ThreadkeepMemoryBlock, session: str = "s") -> Memory:
    return Memory.from_defaults(
        session_id=session,
        chat_store=ThreadkeepChatStore(client),
        memory_blocks=list(blocks),
        token_limit=60,
        token_flush_size=10,
        chat_history_token_ratio=0.5,
        tokenizer_fn=words,
    )


def weather(city: str) -> str:
    """The weather of a city."""
    return "3 °C" if city == "Oslo" else "unknown"


async def test_agent_stores_the_turn_and_another_process_reads_it(client: AsyncClient) -> None:
    model, requests = scripted(call("weather", city="Oslo"), "It has 3 °C.", "It was Oslo.")
    agent = FunctionAgent(tools=[weather], llm=model, streaming=False)
    await agent.run("Weather in Oslo?", memory=memory_of(client))
    await agent.run("Which city was it?", memory=memory_of(client))
    assert said(await ThreadkeepChatStore(client).get_messages("s"))[:4] == TURN
    assert said(requests[-1]) == [*TURN, ("user", "Which city was it?")]


async def test_full_memory_archives_whole_turns_and_loses_none(client: AsyncClient) -> None:
    memory = memory_of(client)
    for n in range(10):
        await memory.aput(ChatMessage(role="user", content=f"question {n} " + "word " * 4))
        await memory.aput(ChatMessage(role="assistant", content=f"answer {n} " + "word " * 4))
    active, archived = await memory.aget_all(MessageStatus.ACTIVE), await memory.aget_all(MessageStatus.ARCHIVED)
    assert archived
    assert active[0].role.value == "user"
    assert len(active) + len(archived) == 20
    assert [message.content for message in [*archived, *active]] == [message.content for message in await memory.aget_all()]
    assert await memory.aget() == active


async def test_set_and_reset_replace_and_empty_the_history(client: AsyncClient) -> None:
    memory = memory_of(client)
    await memory.aput(ChatMessage(role="user", content="a"))
    await memory.aset([ChatMessage(role="user", content="b")])
    assert said(await memory.aget_all()) == [("user", "b")]
    await memory.areset()
    assert await memory.aget_all() == []


def test_blocking_methods_of_memory_work_without_a_loop(address: str) -> None:
    client = AsyncClient(address, app="blocking", user_id="ada")
    memory = memory_of(client)
    memory.reset()
    memory.put(ChatMessage(role="user", content="a"))
    memory.put_messages([ChatMessage(role="assistant", content="b")])
    assert said(memory.get()) == [("user", "a"), ("assistant", "b")]


async def fill(memory: Memory, *texts: str) -> None:
    """Puts turns that push the first ones out of the short-term memory."""
    for text in [*texts, *(f"filler {n} " + "word " * 15 for n in range(3))]:
        await memory.aput(ChatMessage(role="user", content=text))
        await memory.aput(ChatMessage(role="assistant", content="noted"))


async def test_recall_block_finds_archived_messages_and_repeats_none_of_the_history(client: AsyncClient) -> None:
    memory = memory_of(client, ThreadkeepRecallBlock(client))
    await fill(memory, "My passport number is K1234567.")
    question = ChatMessage(role="user", content="What is my passport number?")
    await memory.aput(question)
    system, *history = await memory.aget()
    assert system.role.value == "system"
    assert "user: My passport number is K1234567." in str(system.content)
    assert "What is my passport number?" not in str(system.content)
    assert history[-1].content == question.content


async def test_recall_block_searches_other_sessions_unless_told_otherwise(client: AsyncClient) -> None:
    await memory_of(client, session="other").aput(ChatMessage(role="user", content="My passport is K1234567."))
    query = [ChatMessage(role="user", content="passport")]
    everywhere, here = ThreadkeepRecallBlock(client), ThreadkeepRecallBlock(client, all_sessions=False)
    await memory_of(client).aput(ChatMessage(role="user", content="Hello."))
    assert await everywhere.aget(query, session_id="s") == "user: My passport is K1234567."
    assert await here.aget(query, session_id="s") == ""
    assert await everywhere.aget([], session_id="s") == ""
    assert await everywhere.aget(query, session_id="other") == "", "the history has it"


async def test_recall_block_sees_nothing_of_another_user(client: AsyncClient, address: str) -> None:
    async with AsyncClient(address, app=client.app, user_id="bob") as other:
        await memory_of(other).aput(ChatMessage(role="user", content="My passport is K1234567."))
    found = await ThreadkeepRecallBlock(client).aget([ChatMessage(role="user", content="passport")], session_id="s")
    assert found == ""


async def test_memory_block_keeps_what_leaves_the_short_term_memory_once(client: AsyncClient) -> None:
    block = ThreadkeepMemoryBlock(client, namespace=("facts",), top_k=1)
    memory = memory_of(client, block)
    await fill(memory, "My passport number is K1234567.")
    archived = await memory.aget_all(MessageStatus.ARCHIVED)
    before = [entry async for entry in client.memories.list(namespace_prefix=("facts",))]
    await block.aput(archived, from_short_term_memory=True, session_id="s")
    after = [entry async for entry in client.memories.list(namespace_prefix=("facts",))]
    assert before == after
    assert after
    found = await block.aget([ChatMessage(role="user", content="passport number")], session_id="another")
    assert found == "user: My passport number is K1234567."


@pytest.mark.parametrize("kind", [ThreadkeepRecallBlock, ThreadkeepMemoryBlock])
async def test_block_truncates_from_its_last_hit(
    client: AsyncClient, kind: type[ThreadkeepRecallBlock | ThreadkeepMemoryBlock]
) -> None:
    block = kind(client)
    content = "user: first hit\nuser: second hit\nuser: third hit"
    assert await block.atruncate(content, 1) == "user: first hit\nuser: second hit"
    assert await block.atruncate(content, 1_000) is None


async def test_block_that_accepts_no_short_term_memory_stores_nothing(client: AsyncClient) -> None:
    block = ThreadkeepMemoryBlock(client, accept_short_term_memory=False)
    await block.aput([ChatMessage(role="user", content="secret")], from_short_term_memory=True, session_id="s")
    assert [entry async for entry in client.memories.list()] == []


async def test_server_killed_and_restarted_in_a_run_loses_and_repeats_nothing(killable: Server) -> None:
    def weather(city: str) -> str:
        """The weather of a city, while the server dies."""
        killable.kill()
        killable.start()
        return "3 °C"

    async with AsyncClient(killable.address, app="kill", user_id="ada") as client:
        model, _ = scripted(call("weather", city="Oslo"), "It has 3 °C.")
        agent = FunctionAgent(tools=[weather], llm=model, streaming=False)
        await agent.run("Weather in Oslo?", memory=memory_of(client))
        assert said(await ThreadkeepChatStore(client).get_messages("s")) == TURN


async def test_run_that_lost_the_server_is_resumed_from_the_stored_question(killable: Server) -> None:
    async with AsyncClient(killable.address, app="kill", user_id="ada", timeout=10) as client:

        def dying() -> str:
            killable.kill()
            return "never stored"

        model, requests = scripted(dying, "It has 3 °C.")
        agent = FunctionAgent(tools=[weather], llm=model, streaming=False)
        with pytest.raises(Unavailable):
            await agent.run("Weather in Oslo?", memory=memory_of(client))
        killable.start()
        memory = memory_of(client)
        history = await memory.aget_all()
        assert said(history) == [("user", "Weather in Oslo?")]
        await agent.run(chat_history=history, memory=memory)
        assert said(requests[-1]) == [("user", "Weather in Oslo?")]
        assert said(await memory.aget_all()) == [("user", "Weather in Oslo?"), ("assistant", "It has 3 °C.")]


async def test_memories_of_one_session_in_two_processes_lose_nothing(client: AsyncClient) -> None:
    memories = [memory_of(client) for _ in range(4)]
    puts = [memory.aput(ChatMessage(role="user", content=f"{n} " + "word " * 9)) for n, memory in enumerate(memories * 3)]
    await asyncio.gather(*puts)
    assert len(await memories[0].aget_all()) == 12
