"""The tool search loop: what is indexed, what the model sees and what it finds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

import threadkeep
from threadkeep.chat import (
    AlwaysEvict,
    ChatClientRequest,
    ChatOptions,
    EvictLeastRecentlyUsed,
    InvalidTool,
    MissingSession,
    Role,
    Tool,
    ToolCall,
    ToolDefinition,
    assistant,
    context_keys,
    system,
    tool,
    user,
)
from threadkeep.chat.tool_search.tool_search_results import GUIDANCE, search_output, session_key
from threadkeep.chat.tools.executions import result_of

from ..async_and_sync import Kit, Way, text_of
from ..conversations import Talk
from ..tool_loop import RecordingTools, answer_calling, memory
from ..tool_search_loop import NAMES, SEARCH, SearchLoop, request, searches, shown, tools


async def test_tools_are_indexed_once_per_session(kit: Kit, way: Way) -> None:
    loop = SearchLoop(kit, way, searches("weather"), answer_calling("weather"), "done", "again", "other")
    await loop.ask(request())
    await loop.ask(request(given=reversed(tools())))
    assert loop.noted("put") == [("put", tuple(NAMES))], "once, for any order of the tools and any number of rounds"
    await loop.ask(request(session="s2"))
    assert len(loop.noted("put")) == 2
    assert len(loop.advisor.sessions) == 2


async def test_changed_tools_are_indexed_again(kit: Kit, way: Way) -> None:
    loop = SearchLoop(kit, way, "a", "b", "c", searches("boats"), answer_calling("boats"), "d")
    await loop.ask(request())
    await loop.ask(request(given=tools("weather", "boats")))
    described = (Tool(ToolDefinition("weather", "Said otherwise."), lambda arguments, context: ""), *tools("boats"))
    await loop.ask(request(given=described))
    assert [names for _, names in loop.noted("put")] == [tuple(NAMES), ("weather", "boats"), ("weather", "boats")]
    assert await loop.ask(request(given=described)) == "d"
    assert loop.shown[-1] == [SEARCH, "boats"]


async def test_tool_sets_of_one_session_are_shared_and_bounded(kit: Kit, way: Way) -> None:
    loop = SearchLoop(kit, way, *["ok"] * 30)
    for _ in range(3):
        await loop.ask(request())
        await loop.ask(request(given=tools("boats")))
    assert len(loop.noted("put")) == 2
    for at in range(6):
        await loop.ask(request(given=tools(f"tool{at}")))
    assert len(loop.noted("put")) - len(loop.noted("drop")) == 4, "the number of sets per session is bounded"
    assert len(loop.advisor.sessions) == 1


async def test_least_recently_used_session_is_evicted_from_the_index(kit: Kit, way: Way) -> None:
    loop = SearchLoop(kit, way, *["ok"] * 5, eviction=EvictLeastRecentlyUsed(2))
    for session in ("s1", "s2", "s1", "s3"):
        await loop.ask(request(session=session))
    assert (len(loop.noted("put")), len(loop.noted("drop"))) == (3, 1)
    await loop.ask(request(session="s2"))
    assert len(loop.noted("put")) == 4, "s2 was evicted"


async def test_evict_drops_the_given_session(kit: Kit, way: Way) -> None:
    loop = SearchLoop(kit, way, "a", "b", "c", "d")
    await loop.ask(request())
    await kit.of(loop.advisor.evict, "unknown")
    assert len(loop.advisor.sessions) == 1
    await kit.of(loop.advisor.evict, "s1")
    assert (loop.advisor.sessions, len(loop.noted("drop"))) == ((), 1)
    await loop.ask(request())
    assert len(loop.noted("put")) == 2
    ref = threadkeep.SessionRef(app="shop", user_id="alice", session_id="s9")
    await loop.ask(request(session=ref))
    await loop.ask(request(session="s9").with_context({context_keys.USER: "bob"}))
    await kit.of(loop.advisor.evict, threadkeep.Session(ref=ref))
    await kit.of(loop.advisor.evict, "s9", "bob")
    assert len(loop.advisor.sessions) == 1


async def test_always_evict_drops_at_end_of_turn_and_reindexes_next_turn(kit: Kit, way: Way) -> None:
    loop = SearchLoop(kit, way, searches("weather"), "a", RuntimeError("no answer"), "b", eviction=AlwaysEvict())
    await loop.ask(request())
    assert loop.advisor.sessions == ()
    with pytest.raises(RuntimeError):
        await loop.ask(request())
    assert loop.advisor.sessions == (), "also when the turn fails"
    await loop.ask(request())
    assert len(loop.noted("put")) == 3


async def test_tools_used_again_during_eviction_stay_indexed(kit: Kit, way: Way) -> None:
    """Another turn of the session may begin while the previous one is being evicted."""
    loop = SearchLoop(kit, way, "a", searches("weather"), "b")
    await loop.ask(request())
    definitions = [each.definition for each in tools()]
    again = [lambda: loop.advisor._catalog.hold(session_key("s1"), definitions)]

    loop.index.before_drop = lambda: again.pop()() if again else None
    await kit.of(loop.advisor.evict, "s1")
    assert not again
    await loop.ask(request())
    assert loop.shown[-1] == [SEARCH, "weather"]
    assert len(loop.noted("put")) == 2


async def test_concurrent_requests_share_one_tool_set(kit: Kit, way: Way) -> None:
    loop = SearchLoop(kit, way, *["ok"] * 20)
    await asyncio.gather(*(loop.ask(request(session=f"s{at % 2}")) for at in range(20)))
    assert len(loop.noted("put")) - len(loop.noted("drop")) == 2
    assert len(loop.advisor.sessions) == 2


async def test_system_message_has_the_search_guidance_once(kit: Kit, way: Way) -> None:
    loop = SearchLoop(kit, way, searches("weather"), answer_calling("weather"), "done", "alone")
    await loop.ask(request(system("Be brief."), user("hi")))
    guidance = GUIDANCE.replace("{name}", SEARCH)
    for prompt in loop.model.prompts:
        assert [each.text for each in prompt.messages if each.role is Role.SYSTEM] == [f"Be brief.\n\n{guidance}"]
    await loop.ask(request())
    assert [each.text for each in loop.model.prompts[-1].messages] == [guidance, "hi"]
    own = SearchLoop(kit, way, "ok", guidance="Use {name}.", search_tool_name="find")
    await own.ask(request())
    assert own.model.prompts[0].messages[0].text == "Use find."
    assert own.shown == [["find"]]


async def test_model_sees_search_tool_and_then_the_found_tools(kit: Kit, way: Way) -> None:
    runs = RecordingTools()
    loop = SearchLoop(kit, way, searches("weather"), answer_calling("weather"), "sunny")
    assert await loop.ask(request(given=tools(runs=runs))) == "sunny"
    assert loop.shown == [[SEARCH], [SEARCH, "weather"], [SEARCH, "weather"]]
    assert runs.made == ["weather"]
    [_, definition] = [each.definition for each in loop.model.prompts[1].options.tools]
    assert definition.name == "weather"
    search = loop.model.prompts[0].options.tools[0].definition
    assert search.input_schema["required"] == ["query"]
    [said] = loop.model.prompts[1].messages[-1].tool_results
    assert json.loads(said.text) == {"tools": [{"name": "weather", "description": "The weather."}]}


async def test_tools_found_in_earlier_turns_are_read_from_the_history(kit: Kit, way: Way) -> None:
    found = tool(result_of(ToolCall("s0", SEARCH), search_output([ToolDefinition("flights"), ToolDefinition("gone")])))
    spoof = tool(result_of(ToolCall("x0", "flights"), search_output([ToolDefinition("hotels")])))
    broken = tool(
        result_of(ToolCall("s1", SEARCH), "no JSON"), result_of(ToolCall("s2", SEARCH), '{"tools": [3, {"name": 4}]}')
    )
    loop = SearchLoop(kit, way, "ok")
    await loop.ask(request(user("a"), searches("x"), found, spoof, broken, assistant("b"), user("c")))
    assert loop.shown == [[SEARCH, "flights"]], "only existing tools from results of the search tool"


async def test_tool_search_without_session_raises_missing_session(kit: Kit, way: Way) -> None:
    loop = SearchLoop(kit, way, "ok")
    with pytest.raises(MissingSession, match="needs a session"):
        await loop.ask(request(session=None))
    assert loop.model.prompts == []


async def test_tools_of_the_current_request_are_run(kit: Kit, way: Way) -> None:
    """The index keeps names only; functions are those of the current request."""
    first, second = RecordingTools(), RecordingTools()
    loop = SearchLoop(kit, way, "ok", searches("weather"), answer_calling("weather"), "done")
    await loop.ask(request(given=tools(runs=first)))
    await loop.ask(request(given=tools(runs=second)))
    assert (first.made, second.made, len(loop.noted("put"))) == ([], ["weather"], 1)


async def test_found_tools_accumulate_by_default(kit: Kit, way: Way) -> None:
    loop = SearchLoop(kit, way, searches("weather"), searches("currency"), answer_calling("weather"), "done")
    await loop.ask(request())
    assert loop.shown[2:] == [[SEARCH, "weather", "currency"]] * 2


async def test_only_last_search_counts_without_accumulation(kit: Kit, way: Way) -> None:
    loop = SearchLoop(kit, way, searches("weather"), searches("currency"), answer_calling("currency"), "done", accumulate=False)
    await loop.ask(request())
    assert loop.shown == [[SEARCH], [SEARCH, "weather"], [SEARCH, "currency"], [SEARCH, "currency"]]


@pytest.mark.parametrize(("accumulate", "names"), [(True, ["flights", "trains"]), (False, ["trains"])])
async def test_searches_in_history_follow_the_accumulate_setting(
    kit: Kit, way: Way, accumulate: bool, names: list[str]
) -> None:
    said = [tool(result_of(ToolCall("s0", SEARCH), search_output([ToolDefinition(name)]))) for name in ("flights", "trains")]
    other = tool(result_of(ToolCall("x0", "trains"), "late"))
    loop = SearchLoop(kit, way, "ok", accumulate=accumulate)
    [call] = (each.message for each in answer_calling("trains").generations)
    await loop.ask(request(user("a"), searches("x"), said[0], searches("y"), said[1], call, other, user("c")))
    assert loop.shown == [[SEARCH, *names]]


@pytest.mark.parametrize("accumulate", [True, False])
async def test_parallel_searches_of_one_round_all_count(kit: Kit, way: Way, accumulate: bool) -> None:
    loop = SearchLoop(kit, way, searches("weather", "currency", "trains"), "done", accumulate=accumulate)
    await loop.ask(request())
    assert loop.shown[1] == [SEARCH, "weather", "currency", "trains"]


async def test_index_is_kept_at_the_end_of_a_turn_by_default(kit: Kit, way: Way) -> None:
    loop = SearchLoop(kit, way, "a", "b")
    await loop.ask(request())
    assert len(loop.advisor.sessions) == 1
    assert loop.noted("drop") == []


async def test_max_results_of_the_model_overrides_the_default_up_to_the_limit(kit: Kit, way: Way) -> None:
    many = [f"mail_{at}" for at in range(60)]
    loop = SearchLoop(kit, way, searches("mail", most=3), searches("mail"), searches("mail", most=1000), "ok", max_results=2)
    await loop.ask(request(given=tools(*many)))
    assert [limit for _, _, limit in loop.noted("find")] == [3, 2, 50]
    assert [len(names) for names in loop.shown] == [1, 4, 4, 51]


async def test_empty_search_returns_hint_and_invalid_search_returns_error(kit: Kit, way: Way) -> None:
    wrong = assistant(tool_calls=[ToolCall("s1", SEARCH, '{"query": "", "max_results": 0}')])
    loop = SearchLoop(kit, way, searches("zebra"), wrong, "ok")
    await loop.ask(request())
    [nothing] = loop.model.prompts[1].messages[-1].tool_results
    assert json.loads(nothing.text)["tools"] == []
    assert "other words" in nothing.text
    [refused] = loop.model.prompts[2].messages[-1].tool_results
    assert refused.is_error
    assert {"query", "max_results"} <= {line.split(":")[0].removeprefix("- ") for line in refused.text.splitlines()}
    assert loop.shown == [[SEARCH]] * 3


async def test_shown_tools_and_required_tool_are_always_visible(kit: Kit, way: Way) -> None:
    loop = SearchLoop(kit, way, searches("weather"), "ok", shown=["trains", "unknown"])
    await loop.ask(request(tool_choice="hotels"))
    assert loop.shown == [[SEARCH, "hotels", "trains"], [SEARCH, "hotels", "trains", "weather"]]


async def test_call_of_hidden_tool_is_run(kit: Kit, way: Way) -> None:
    runs = RecordingTools()
    loop = SearchLoop(kit, way, answer_calling("weather"), "ok")
    assert await loop.ask(request(given=tools(runs=runs))) == "ok"
    assert runs.made == ["weather"], "the model may know it from earlier context"


async def test_request_without_tools_is_not_searched(kit: Kit, way: Way) -> None:
    loop = SearchLoop(kit, way, "a", "b")
    await loop.ask(request(given=(), session=None))
    await loop.ask(ChatClientRequest((user("hi"),), ChatOptions()))
    assert loop.index.noted == []
    assert [[each.text for each in prompt.messages] for prompt in loop.model.prompts] == [["hi"], ["hi"]]


async def test_tool_search_follows_return_direct_and_iteration_limit(kit: Kit, way: Way) -> None:
    runs = RecordingTools()
    held = (runs.tool("weather", return_direct=True), *tools("currency"))
    loop = SearchLoop(kit, way, searches("weather"), answer_calling("weather"))
    assert await loop.ask(request(given=held)) == "weather says so"
    capped = SearchLoop(kit, way, searches("weather"), searches("weather"), max_iterations=2)
    assert "after 2 answers" in await capped.ask(request())


async def test_found_tools_survive_nested_memory_without_internal_history(kit: Kit, way: Way) -> None:
    """A round gets only the first system message and the last message, without earlier searches."""
    loop = SearchLoop(
        kit,
        way,
        searches("weather"),
        answer_calling("weather"),
        answer_calling("weather"),
        "ok",
        inner=[memory(kit)],
        internal_history=False,
    )
    assert await loop.ask(request()) == "ok"
    assert [each.role for each in loop.model.prompts[3].messages] == [Role.SYSTEM, Role.TOOL]
    assert loop.shown[1:] == [[SEARCH, "weather"]] * 3


async def test_session_memory_restores_tools_found_in_earlier_turns(talk: Talk) -> None:
    """The client disables the loop's own history because the inner memory provides it."""
    runs = RecordingTools()
    model = talk.kit.ScriptedModel(
        [searches("weather"), answer_calling("weather"), "sunny", answer_calling("weather"), "still sunny"]
    )

    async def ask(text: str) -> str:
        """Uses a new client, as another process would."""
        advisors = [talk.memory(), talk.kit.ToolSearchAdvisor()]
        chat = talk.kit.ChatClient(model, system="Be brief.", advisors=advisors, tools=tools(runs=runs))
        return text_of(await talk.way.ask(chat.prompt(text).session(talk.session)))

    assert await ask("The weather?") == "sunny"
    assert await ask("And now?") == "still sunny"
    assert [shown(prompt) for prompt in model.prompts] == [[SEARCH], *[[SEARCH, "weather"]] * 4]
    assert runs.made == ["weather", "weather"]
    assert sum(GUIDANCE[:20] in event for event in await talk.log()) == 0, "guidance is not stored"


async def test_copy_shares_the_index_unless_it_is_replaced(kit: Kit, way: Way) -> None:
    loop = SearchLoop(kit, way, "a", "b")
    await loop.ask(request())
    copied = loop.advisor.changed(internal_history=False, max_results=1)
    assert type(copied) is type(loop.advisor)
    assert copied.sessions == loop.advisor.sessions
    await way.ask(kit.AdvisorChain([copied], loop.model), request())
    assert len(loop.noted("put")) == 1
    assert loop.advisor.changed(index=kit.KeywordToolIndex()).sessions == ()
    assert loop.advisor.changed(eviction=AlwaysEvict()).sessions == ()


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"max_results": 0}, ValueError, "max_results: 1 to 50, not 0"),
        ({"max_results": 51}, ValueError, "max_results: 1 to 50, not 51"),
        ({"index": "words"}, TypeError, "index: put, find and drop"),
        ({"eviction": 1000}, TypeError, "eviction: used, finished and dropped"),
        ({"shown": "weather"}, TypeError, "shown: a collection of names"),
        ({"search_tool_name": "a b"}, InvalidTool, "cannot be a tool's name"),
        ({"max_iterations": 0}, ValueError, "max_iterations"),
    ],
)
def test_invalid_tool_search_settings_are_rejected_by_name(kit: Kit, settings: Any, error: type[Exception], said: str) -> None:
    made: Callable[..., Any] = kit.ToolSearchAdvisor
    with pytest.raises(error, match=said):
        made(**settings)
    with pytest.raises(error, match=said):
        made().changed(**settings)


async def test_tool_with_name_of_the_search_tool_is_rejected(kit: Kit, way: Way) -> None:
    loop = SearchLoop(kit, way, "never")
    with pytest.raises(InvalidTool, match="two tools have the name 'search_tools'; give another search_tool_name"):
        await loop.ask(request(given=tools(SEARCH)))
