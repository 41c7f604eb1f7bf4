"""The server's recall tools as tools of the kit."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest

import threadkeep
from threadkeep.chat import Tool, ToolCall, ToolContext, ToolOptions, ToolOutput, assistant
from threadkeep.chat.types.messages import Text
from threadkeep.v1.tool_service_pb2 import ToolDefinition as OfServer

from ..async_and_sync import Kit, Way, text_of
from ..conversations import Talk, prompt_of

HERE = "conversation_search"
EVERYWHERE = "cross_session_search"
NOTHING_HERE = {"results": [], "page": 0, "has_more": False, "message": "No results found."}


@pytest.fixture
def way(request: pytest.FixtureRequest, kit: Kit) -> Way:
    """Tools run the same way for call and stream, so most tests use only call."""
    return Way(kit, streams=getattr(request, "param", "call") == "stream")


async def run(talk: Talk, name: str, arguments: Any, **values: Any) -> ToolOutput:
    """Runs a tool in the session of `talk`, unless `values` override it."""
    [tool] = await talk.kit.of(talk.kit.RecallTools(talk.sdk).named, name)
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    context = ToolContext({"session": talk.session} | values)
    output = await talk.kit.of(tool.run, text, context)
    assert isinstance(output, ToolOutput)
    return output


def said(output: ToolOutput) -> str:
    part = output.parts[0]
    assert isinstance(part, Text)
    return part.text


async def found(talk: Talk, name: str, arguments: Any, **values: Any) -> dict[str, Any]:
    output = await run(talk, name, arguments, **values)
    assert not output.is_error, output
    return dict(json.loads(said(output)))


async def refused(talk: Talk, name: str, arguments: Any, **values: Any) -> str:
    output = await run(talk, name, arguments, **values)
    assert output.is_error, output
    return str(json.loads(said(output))["error"])


@pytest.fixture
async def filled(talk: Talk) -> Talk:
    """Appends fifteen events with a word unique to the test, and three others, one of them a summary."""
    word = word_of(talk)
    events = [threadkeep.user(f"{word} number {number}") for number in range(15)]
    others = [
        threadkeep.user("tea"),
        threadkeep.assistant(f"a summary of {word}", synthetic=True),
        threadkeep.assistant("Coffee?"),
    ]
    await talk.append(*others, *events)
    return talk


def word_of(talk: Talk) -> str:
    """Returns a word without digits, because tests search for numbers."""
    return "word" + talk.session.removeprefix("s-").translate(str.maketrans("0123456789", "ghijklmnop"))


def texts(result: dict[str, Any]) -> list[str]:
    return [each["text"] for each in result["results"]]


async def test_recall_tools_have_the_declarations_of_the_server(talk: Talk) -> None:
    tools = {tool.name: tool for tool in await talk.kit.of(talk.kit.RecallTools(talk.sdk).all)}
    declared = {each.name: each for each in await talk.kit.of(talk.sdk.tools) if each.declared}
    assert list(tools) == list(declared) == ["load_memory", HERE, EVERYWHERE]
    for name, tool in tools.items():
        assert tool.definition.description == declared[name].description
        assert tool.definition.input_schema == json.loads(declared[name].parameters_json_schema)
    for name in ("drop_tables", "preload_memory"):
        with pytest.raises(ValueError, match=f"no tool '{name}' for a model; it has load_memory"):
            await talk.kit.of(talk.kit.RecallTools(talk.sdk).named, name)


class Offering:
    """A fake SDK client whose server offers these tools to models, and preload_memory only to code."""

    def __init__(self, is_async: bool, *names: str) -> None:
        listed = ["preload_memory", *names]
        self._tools = [OfServer(name=name, parameters_json_schema="{}", declared=name in names) for name in listed]
        self.tools = self._listed if is_async else lambda: self._tools

    async def _listed(self) -> list[OfServer]:
        return self._tools


async def test_recall_tools_all_returns_only_tools_offered_to_models(kit: Kit) -> None:
    offering = Offering(kit.is_async, EVERYWHERE)
    assert [tool.name for tool in await kit.of(kit.RecallTools(offering).all)] == [EVERYWHERE]
    with pytest.raises(ValueError, match="no tool 'load_memory' for a model; it has cross_session_search"):
        await kit.of(kit.RecallTools(offering).named, "load_memory")


async def test_conversation_search_without_match_is_empty(talk: Talk) -> None:
    await talk.append(threadkeep.user("tea"))
    assert await found(talk, HERE, {"query": "zebras"}) == NOTHING_HERE


async def test_conversation_search_returns_hits_with_neighbors(talk: Talk) -> None:
    await talk.append(threadkeep.user("Is flight BA117 on time?"), threadkeep.assistant("Yes."), threadkeep.user("Thanks."))
    for query in ("ba117", "FLIGHT"):
        [hit] = (await found(talk, HERE, {"query": query, "mode": "substring"}))["results"]
        assert (hit["role"], hit["text"], hit["seq"]) == ("user", "Is flight BA117 on time?", 1)
        assert hit["time"].endswith("Z")
        assert [each["text"] for each in hit["after"]] == ["Yes."]


async def test_conversation_search_returns_pages_of_ten(filled: Talk) -> None:
    wanted = {"query": f"{word_of(filled)} number", "mode": "substring"}
    pages = [await found(filled, HERE, wanted | {"page": page}) for page in (0, 1, 2)]
    assert [len(page["results"]) for page in pages] == [10, 5, 0]
    assert [page["has_more"] for page in pages] == [True, False, False]
    for page in (None, -1):
        assert texts(await found(filled, HERE, wanted | {"page": page})) == texts(pages[0])


async def test_conversation_search_finds_summaries(filled: Talk) -> None:
    for mode in ("substring", "ranked"):
        result = await found(filled, HERE, {"query": "a summary of", "mode": mode, "innerThought": "it was summarized"})
        assert texts(result)[0] == f"a summary of {word_of(filled)}"


async def test_search_tools_without_session_return_an_error(talk: Talk) -> None:
    for name in (HERE, EVERYWHERE):
        for missing in (None, ""):
            assert "names no session" in await refused(talk, name, {"query": "tea"}, session=missing)


async def test_load_memory_without_session_searches_memories_of_the_user(talk: Talk) -> None:
    await talk.kit.of(talk.sdk.memory().add, f"likes {word_of(talk)}")
    for missing in (None, ""):
        result = await found(talk, "load_memory", {"query": word_of(talk)}, session=missing)
        assert [each["text"] for each in result["memories"]] == [f"likes {word_of(talk)}"]


async def test_cross_session_search_covers_all_sessions_of_one_user(filled: Talk) -> None:
    word = word_of(filled)
    assert await found(filled, EVERYWHERE, {"query": f"{word}none"}) == {"results": [], "has_more": False}
    second, bobs = f"{filled.session}-2", threadkeep.SessionRef(app="shop", user_id="bob", session_id=f"{filled.session}-bob")
    await filled.kit.of(filled.sdk.append, second, threadkeep.user(f"{word} elsewhere"), create_if_missing=True)
    await filled.kit.of(filled.sdk.append, bobs, threadkeep.user(f"{word} of bob"), create_if_missing=True)
    result = await found(filled, EVERYWHERE, {"query": word, "limit": 20})
    assert {each["session_id"] for each in result["results"]} == {filled.session, second}
    assert not [text for text in texts(result) if "of bob" in text]
    of_bob = await found(filled, EVERYWHERE, {"query": word}, session=f"{filled.session}-bob", user_id="bob")
    assert texts(of_bob) == [f"{word} of bob"]


async def test_cross_session_search_matches_any_or_all_words(filled: Talk) -> None:
    word = word_of(filled)
    both = {"query": f"{word}, 7", "all": True}
    assert texts(await found(filled, EVERYWHERE, both)) == [f"{word} number 7"]
    assert len(texts(await found(filled, EVERYWHERE, {"query": f"{word} 7", "limit": 20}))) > 1
    assert "words or phrases" in await refused(filled, EVERYWHERE, {"query": ",", "all": True})
    twenty = ", ".join(f"t{n}" for n in range(20))
    await found(filled, EVERYWHERE, {"query": twenty, "all": True})
    assert "at most 20" in await refused(filled, EVERYWHERE, {"query": f"{twenty}, t20", "all": True})


async def test_conversation_search_page_beyond_the_end_is_empty(filled: Talk) -> None:
    result = await found(filled, HERE, {"query": word_of(filled), "mode": "substring", "page": 2**31 - 1})
    assert result["results"] == []


async def test_invalid_search_arguments_return_an_error_result(talk: Talk) -> None:
    await talk.append(threadkeep.user("tea"))
    assert "query must not be blank" in await refused(talk, HERE, {"query": "  "})
    assert "query must not be blank" in await refused(talk, EVERYWHERE, {"query": ""})
    assert "mode must be one of" in await refused(talk, HERE, {"query": "tea", "mode": "telepathy"})
    assert "JSON" in await refused(talk, HERE, "not JSON")


async def test_missing_session_on_the_server_is_raised(talk: Talk) -> None:
    with pytest.raises(threadkeep.errors.SessionNotFound):
        await run(talk, HERE, {"query": "x"}, session="nowhere")


async def test_memories_are_preloaded_and_loaded_by_tool(talk: Talk, server: Any) -> None:
    user = f"u-{uuid4().hex[:8]}"
    client = talk.kit.Client(f"127.0.0.1:{server.grpc_port}", app="shop", user_id=user)
    await talk.kit.of(client.memory().add, "Zoë is allergic to peanuts")
    tools = talk.kit.RecallTools(client)
    context = "Relevant prior context:\n- Zoë is allergic to peanuts"
    assert await talk.kit.of(tools.preload, talk.session, "May I serve peanuts?") == context
    assert await talk.kit.of(tools.preload, talk.session, "") == ""
    await talk.kit.of(client.append, talk.session, threadkeep.user("Who is allergic?"), create_if_missing=True)
    assert await talk.kit.of(tools.preload, talk.session, max_entries=1) == context, "the last user message is the query"
    with pytest.raises(ValueError, match="max_entries"):
        await talk.kit.of(tools.preload, talk.session, max_entries=0)
    [memory] = (await found(talk, "load_memory", {"query": "allergic"}, user_id=user))["memories"]
    assert memory["text"] == "Zoë is allergic to peanuts"
    await talk.kit.of(client.close)


@pytest.mark.parametrize("way", ["call", "stream"], indirect=True)
async def test_model_recalls_message_outside_its_context(talk: Talk) -> None:
    """The question is stored before the search, so it may be found as well."""
    await talk.append(threadkeep.user("The code is 4711."), threadkeep.assistant("Noted."))
    tools: list[Tool] = list(await talk.kit.of(talk.kit.RecallTools(talk.sdk).all))
    call = ToolCall("c1", HERE, '{"query": "code is", "mode": "substring"}')
    model = talk.kit.ScriptedModel([assistant(tool_calls=[call]), lambda prompt: prompt.messages[-1].tool_results[0].text])
    memory = talk.memory(memory=threadkeep.MemoryProvider.limited_window().write_only())
    options = ToolOptions(tools=tuple(tools), tool_context={"session": talk.session})
    loop = talk.kit.ToolCallingAdvisor(internal_history=False)
    answers = await talk.ask(model, memory, "What code is it?", advisors=[loop], options=options)
    assert prompt_of(model, 0) == ["user: What code is it?"]
    results = json.loads(text_of(answers))["results"]
    assert [each["text"] for each in results] == ["The code is 4711.", "What code is it?"]
