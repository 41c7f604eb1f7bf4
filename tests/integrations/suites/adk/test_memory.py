"""Long-term memory: ingestion, search and deletion."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.events import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools.load_memory_tool import load_memory_tool
from google.genai import types

from tests.integrations.suites.adk.support import USER, agent, call, content, read, run, said, scripted
from threadkeep import AsyncClient
from threadkeep.errors import InvalidField
from threadkeep.integrations.adk import ThreadkeepMemoryService, ThreadkeepSessionService

Service = ThreadkeepSessionService
Memory = ThreadkeepMemoryService


async def found(memory: Memory, app: str, query: str, *, user: str = USER) -> list[str]:
    """The texts that a search finds, in order."""
    response = await memory.search_memory(app_name=app, user_id=user, query=query)
    return [part.text or "" for each in response.memories for part in each.content.parts or ()]


async def talked(service: Service, app: str, *words: str, session_id: str = "s1", user: str = USER) -> Session:
    """A session with these texts of the user."""
    session = await service.create_session(app_name=app, user_id=user, session_id=session_id)
    for text in words:
        await service.append_event(session, said(text))
    return session


async def entries(client: AsyncClient, app: str) -> list[str]:
    """The texts of all entries of the user, sorted."""
    return sorted([each.content.parts[0].text async for each in client.memory(app=app, user_id=USER).list()])


async def test_session_is_found_by_its_words(service: Service, memory: Memory, app: str) -> None:
    session = await talked(service, app, "I prefer a window seat.", "My dog is called Rex.")
    await memory.add_session_to_memory(session)
    hits = await found(memory, app, "which seat does the user prefer?")
    assert hits[0] == "I prefer a window seat."  # what the user said next may follow


async def test_session_added_again_adds_what_is_new(service: Service, memory: Memory, client: AsyncClient, app: str) -> None:
    session = await talked(service, app, "one apple")
    await memory.add_session_to_memory(session)
    await service.append_event(session, said("two pears"))
    for _ in range(2):
        await memory.add_session_to_memory(session)
    assert await entries(client, app) == ["one apple", "two pears"]


async def test_events_are_added_to_what_is_there(service: Service, memory: Memory, client: AsyncClient, app: str) -> None:
    session = await talked(service, app, "one apple", "two pears", "three plums")
    for some in (session.events[:1], session.events[:2]):
        await memory.add_events_to_memory(app_name=app, user_id=USER, events=some, session_id="s1")
    assert await entries(client, app) == ["one apple", "two pears"]


async def test_whole_session_after_some_of_its_events_loses_and_doubles_nothing(
    service: Service, memory: Memory, client: AsyncClient, app: str
) -> None:
    session = await talked(service, app, "one apple", "two pears")
    extra = said("a remark that is in no session")
    await memory.add_events_to_memory(app_name=app, user_id=USER, events=[session.events[1], extra], session_id="s1")
    short = await read(service, app, "s1", num_recent_events=1)
    await memory.add_session_to_memory(short)
    await memory.add_session_to_memory(session)
    assert await entries(client, app) == ["a remark that is in no session", "one apple", "two pears"]


async def test_deleted_memory_stays_deleted_when_its_session_is_added_again(
    service: Service, memory: Memory, client: AsyncClient, app: str
) -> None:
    session = await talked(service, app, "one apple", "two pears")
    await memory.add_session_to_memory(session)
    (entry,) = (await memory.search_memory(app_name=app, user_id=USER, query="apple")).memories
    await memory.delete_memory(app_name=app, user_id=USER, memory_id=entry.id)
    await memory.add_session_to_memory(session)
    await memory.add_events_to_memory(app_name=app, user_id=USER, events=session.events, session_id="s1")
    assert await entries(client, app) == ["two pears"]


@pytest.mark.parametrize("memory_id", [None, "", "missing"])
async def test_deletion_without_a_memory_does_nothing(memory: Memory, app: str, memory_id: str | None) -> None:
    await memory.delete_memory(app_name=app, user_id=USER, memory_id=memory_id)


async def test_memories_are_those_of_the_user_in_the_app(service: Service, memory: Memory, app: str) -> None:
    await memory.add_session_to_memory(await talked(service, app, "I like jazz."))
    assert await found(memory, app, "jazz") == ["I like jazz."]
    assert await found(memory, app, "jazz", user="u2") == []
    assert await found(memory, f"{app}_other", "jazz") == []


@pytest.mark.parametrize("query", ["", "   ", "zebra"])
async def test_query_without_a_match_finds_nothing(service: Service, memory: Memory, app: str, query: str) -> None:
    await memory.add_session_to_memory(await talked(service, app, "I like jazz."))
    assert await found(memory, app, query) == []


async def test_query_longer_than_the_server_reads_is_cut(service: Service, memory: Memory, app: str) -> None:
    await memory.add_session_to_memory(await talked(service, app, "I like jazz."))
    assert await found(memory, app, "jazz " + "and " * 2_000) == ["I like jazz."]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("私はPythonを使う", "Python"),
        ("東京に住んでいます", "東京"),
        ("Meet me at the cafe\u0301", "caf\u00e9"),
        ("Ich wohne in MÜNCHEN.", "münchen"),
        ("Two flights were booked", "flights"),
    ],
)
async def test_words_of_every_script_are_found(service: Service, memory: Memory, app: str, text: str, query: str) -> None:
    await memory.add_session_to_memory(await talked(service, app, text, "Something else"))
    assert await found(memory, app, query) == [text]


async def test_long_text_is_found_by_its_first_and_last_words(service: Service, memory: Memory, app: str) -> None:
    text = "beginning " + "filler words " * 25_000 + "ending"  # 325 kB
    await memory.add_session_to_memory(await talked(service, app, text))
    assert await found(memory, app, "beginning") == await found(memory, app, "ending") == [text]


async def test_most_matching_memory_is_first_and_there_are_at_most_top_k(
    service: Service, memory: Memory, client: AsyncClient, app: str
) -> None:
    words = [f"red house number {n}" for n in range(15)]
    await memory.add_session_to_memory(await talked(service, app, *words, "red house with a blue door"))
    hits = await found(memory, app, "red house blue door")
    assert hits[0] == "red house with a blue door"
    assert len(hits) == 10
    limited = ThreadkeepMemoryService(client, top_k=3)
    assert len(await found(limited, app, "red house")) == 3


async def test_events_without_text_and_thoughts_are_not_remembered(
    service: Service, memory: Memory, client: AsyncClient, app: str
) -> None:
    session = await service.create_session(app_name=app, user_id=USER, session_id="s1")
    thought = types.Part(text="a secret thought", thought=True)
    await service.append_event(session, Event(author="helper", content=content(thought, types.Part(text="said aloud"))))
    await service.append_event(session, Event(author="helper", content=content(call("f", "c1"))))
    await service.append_event(session, Event(author="user"))
    await memory.add_session_to_memory(session)
    await memory.add_events_to_memory(app_name=app, user_id=USER, events=session.events)
    assert await entries(client, app) == ["said aloud", "said aloud"]  # the second time as events of no session
    assert await found(memory, app, "secret thought") == []


async def test_session_of_another_service_is_added_once(memory: Memory, client: AsyncClient, app: str) -> None:
    elsewhere = InMemorySessionService()
    session = await elsewhere.create_session(app_name=app, user_id=USER, session_id="s9")
    for text in ("one apple", "two pears"):
        await elsewhere.append_event(session, said(text))
    for _ in range(2):
        await memory.add_session_to_memory(session)
        await memory.add_events_to_memory(app_name=app, user_id=USER, events=session.events, session_id="s9")
    assert await entries(client, app) == ["one apple", "two pears"]


async def test_event_without_an_id_is_added_once(memory: Memory, client: AsyncClient, app: str) -> None:
    event = said("one apple", timestamp=1.5)
    event.id = ""
    for _ in range(2):
        await memory.add_events_to_memory(app_name=app, user_id=USER, events=[event])
    assert await entries(client, app) == ["one apple"]


async def test_memory_has_content_author_time_and_metadata(service: Service, memory: Memory, app: str) -> None:
    session = await talked(service, app)
    event = said("I like jazz.", author="helper", timestamp=1700000000.5)
    await service.append_event(session, event)
    await memory.add_events_to_memory(
        app_name=app, user_id=USER, events=[event], session_id="s1", custom_metadata={"topic": "music", "n": 1}
    )
    (entry,) = (await memory.search_memory(app_name=app, user_id=USER, query="jazz")).memories
    assert entry.content == event.content
    assert (entry.author, entry.timestamp) == ("helper", "2023-11-14T22:13:20.500000+00:00")
    assert entry.custom_metadata == {"topic": "music", "n": 1}


def fact(text: str, **fields: Any) -> MemoryEntry:
    """A memory that an agent writes."""
    return MemoryEntry(content=types.Content(role="user", parts=[types.Part(text=text)]), **fields)


async def test_explicit_memories_are_found_as_they_were_given(memory: Memory, app: str) -> None:
    time = "2026-03-01T12:00:00+00:00"
    given = fact("The user likes tea.", id="m1", author="helper", timestamp=time, custom_metadata={"a": 1})
    await memory.add_memory(app_name=app, user_id=USER, memories=[given], custom_metadata={"a": 2, "b": 3})
    (entry,) = (await memory.search_memory(app_name=app, user_id=USER, query="tea")).memories
    assert entry == given.model_copy(update={"custom_metadata": {"a": 1, "b": 3}})


async def test_timestamp_that_is_no_time_comes_back(memory: Memory, app: str) -> None:
    await memory.add_memory(app_name=app, user_id=USER, memories=[fact("Tea is hot.", timestamp="last spring")])
    (entry,) = (await memory.search_memory(app_name=app, user_id=USER, query="tea")).memories
    assert (entry.timestamp, entry.custom_metadata) == ("last spring", {})


async def test_memory_with_the_id_of_another_replaces_it(memory: Memory, client: AsyncClient, app: str) -> None:
    for text in ("The user likes tea.", "The user likes coffee."):
        await memory.add_memory(app_name=app, user_id=USER, memories=[fact(text, id="m1")])
    assert await entries(client, app) == ["The user likes coffee."]


async def test_many_memories_are_added(memory: Memory, client: AsyncClient, app: str) -> None:
    await memory.add_memory(app_name=app, user_id=USER, memories=[fact(f"fact {n:03}") for n in range(250)])
    assert await entries(client, app) == [f"fact {n:03}" for n in range(250)]


async def test_memory_without_text_is_refused(memory: Memory, app: str) -> None:
    with pytest.raises(InvalidField):
        await memory.add_memory(app_name=app, user_id=USER, memories=[fact(" ")])


async def test_agent_remembers_an_earlier_session(service: Service, memory: Memory, app: str) -> None:
    await memory.add_session_to_memory(await talked(service, app, "My seat is 12A."))
    model = scripted(content(call("load_memory", "c1", query="seat")), "Your seat is 12A.")
    asking = agent(model)
    asking.tools = [load_memory_tool]
    runner = Runner(agent=asking, app_name=app, session_service=service, memory_service=memory, auto_create_session=True)
    events = await run(runner, "s2", "Which seat do I have?")
    (response,) = [each for event in events for each in event.get_function_responses()]
    assert "My seat is 12A." in str(response.response)
