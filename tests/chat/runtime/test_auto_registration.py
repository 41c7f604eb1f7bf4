"""When a client adds the tool loop by itself, and how it sets the history of the loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from threadkeep.chat import (
    ChatClientRequest,
    ChatOptions,
    InvalidChain,
    Prompt,
    ToolCall,
    ToolOptions,
    assistant,
    function_tool,
)
from threadkeep.chat.context_keys import AUTO_TOOLS, CHAT_MEMORY_ORDER, SESSION_MEMORY_ORDER, TOOL_CALLING_ORDER

from ..async_and_sync import Kit, Way, response_of, text_of
from ..recording_memory import memory_at

CALL = assistant(tool_calls=[ToolCall("c1", "weather", '{"city": "Oslo"}')])


class Weather:
    """A tool, and the cities of its calls."""

    def __init__(self) -> None:
        self.cities: list[str] = []

        def weather(city: str) -> str:
            """Returns the weather."""
            self.cities.append(city)
            return "4 degrees"

        self.tool = function_tool(weather)


@pytest.fixture
def weather() -> Weather:
    return Weather()


def model_with(kit: Kit, replies: Sequence[Any], options: ChatOptions) -> Any:
    """Returns a scripted model with these default options."""

    class Configured(kit.ScriptedModel):  # type: ignore[name-defined]
        @property
        def default_options(self) -> ChatOptions:
            return options

    return Configured(replies)


def passing_tool_advisor(kit: Kit, runs_tools: bool = True) -> Any:
    """Returns an advisor that claims to run tools but runs none."""

    class Passing(kit.BaseAdvisor):  # type: ignore[name-defined]
        pass

    Passing.runs_tools = runs_tools
    return Passing(name="own loop", order=7)


@pytest.mark.parametrize("where", ["client", "model options", "client options", "request options", "request"])
async def test_loop_is_added_for_tools_from_any_source(kit: Kit, way: Way, weather: Weather, where: str) -> None:
    options = ToolOptions(model="scripted", tools=(weather.tool,))
    defaults = options if where == "model options" else ChatOptions(model="scripted")
    client = kit.ChatClient(
        model_with(kit, [CALL, "4 degrees."], defaults),
        tools=[weather.tool] if where == "client" else (),
        options=options if where == "client options" else None,
    )
    prompt = client.prompt("And in Oslo?")
    if where == "request options":
        prompt = prompt.options(tools=[weather.tool])
    if where == "request":
        prompt = prompt.tools(weather.tool)
    assert text_of(await way.ask(prompt)) == "4 degrees."
    assert weather.cities == ["Oslo"]


async def test_loop_is_added_for_tools_added_by_an_advisor(kit: Kit, way: Way, weather: Weather) -> None:
    def bring(request: ChatClientRequest) -> ChatClientRequest:
        assert isinstance(request.options, ToolOptions)
        return request.with_options(request.options.changed(tools=(weather.tool,)))

    client = kit.ChatClient(kit.ScriptedModel([CALL, "4 degrees."]), advisors=[kit.advisor(order=-(2**31), before=bring)])
    assert text_of(await way.ask(client.prompt("And in Oslo?"))) == "4 degrees."
    assert weather.cities == ["Oslo"]


@pytest.mark.parametrize("how", ["client", "client params", "request params"])
async def test_loop_is_not_added_when_disabled(kit: Kit, way: Way, weather: Weather, how: str) -> None:
    client = kit.ChatClient(
        kit.ScriptedModel([CALL]),
        tools=[weather.tool],
        auto_tool_calling=how != "client",
        params={AUTO_TOOLS: False} if how == "client params" else None,
    )
    prompt = client.prompt("And in Oslo?")
    answers = await way.ask(prompt.params({AUTO_TOOLS: False}) if how == "request params" else prompt)
    assert [call.name for answer in answers for call in answer.tool_calls] == ["weather"]
    assert weather.cities == []


@pytest.mark.parametrize("wanted", [True, None])
async def test_request_param_enables_loop_disabled_by_client_params(
    kit: Kit, way: Way, weather: Weather, wanted: bool | None
) -> None:
    client = kit.ChatClient(kit.ScriptedModel([CALL, "4"]), tools=[weather.tool], params={AUTO_TOOLS: False})
    assert text_of(await way.ask(client.prompt("And in Oslo?").params({AUTO_TOOLS: wanted}))) == "4"


async def test_advisor_with_runs_tools_false_does_not_replace_the_loop(kit: Kit, way: Way, weather: Weather) -> None:
    idle = passing_tool_advisor(kit, runs_tools=False)
    client = kit.ChatClient(kit.ScriptedModel([CALL, "4"]), tools=[weather.tool], advisors=[idle])
    assert text_of(await way.ask(client.prompt("And in Oslo?"))) == "4"


@pytest.mark.parametrize("by", ["client", "request"])
async def test_loop_is_not_added_next_to_another_tool_advisor(kit: Kit, way: Way, weather: Weather, by: str) -> None:
    own = passing_tool_advisor(kit)
    client = kit.ChatClient(kit.ScriptedModel([CALL]), tools=[weather.tool], advisors=[own] if by == "client" else [])
    prompt = client.prompt("And in Oslo?")
    answers = await way.ask(prompt if by == "client" else prompt.advisors(own))
    assert [call.name for answer in answers for call in answer.tool_calls] == ["weather"]
    assert weather.cities == []


async def test_given_loop_replaces_the_default_loop(kit: Kit, way: Way, weather: Weather) -> None:
    loop = kit.ToolCallingAdvisor(max_iterations=1)
    client = kit.ChatClient(kit.ScriptedModel([CALL]), tools=[weather.tool], advisors=[loop])
    answers = await way.ask(client.prompt("And in Oslo?"))
    assert response_of(answers).finish_reason == "toolIterationsExceeded"
    assert weather.cities == []


async def test_request_without_tools_calls_the_model_once(kit: Kit, way: Way) -> None:
    model = kit.ScriptedModel(["Good evening"])
    assert text_of(await way.ask(kit.ChatClient(model).prompt("Hello"))) == "Good evening"
    assert len(model.prompts) == 1


async def test_request_with_tools_calls_the_model_until_it_makes_no_call(kit: Kit, way: Way, weather: Weather) -> None:
    model = kit.ScriptedModel([CALL, CALL, "4 degrees."])
    client = kit.ChatClient(model, tools=[weather.tool])
    assert text_of(await way.ask(client.prompt("And in Oslo?"))) == "4 degrees."
    assert (len(model.prompts), weather.cities) == (3, ["Oslo", "Oslo"])


async def test_added_loop_uses_the_tool_manager_of_the_client(kit: Kit, way: Way, weather: Weather) -> None:
    manager = kit.ToolCallingManager(resolver={"weather": weather.tool}.get)
    client = kit.ChatClient(kit.ScriptedModel([CALL, "4 degrees."]), tool_manager=manager)
    assert text_of(await way.ask(client.prompt("And in Oslo?"))) == "4 degrees."
    assert weather.cities == ["Oslo"]


async def test_two_loops_are_rejected_by_name(kit: Kit, way: Way) -> None:
    loop, own = kit.ToolCallingAdvisor(name="first loop"), passing_tool_advisor(kit)
    answer_saying = "one loop of tools, not 2: leave out one of 'first loop' and 'own loop'"
    with pytest.raises(InvalidChain, match=answer_saying):
        kit.ChatClient(kit.ScriptedModel(), advisors=[loop, own])
    with pytest.raises(InvalidChain, match=answer_saying):
        await way.ask(kit.ChatClient(kit.ScriptedModel(), advisors=[loop]).prompt("Hello").advisors(own))


@pytest.mark.parametrize("given", [False, True], ids=["added", "given"])
@pytest.mark.parametrize(
    ("order", "second"),
    [
        (SESSION_MEMORY_ORDER, ["system", "tool"]),
        (TOOL_CALLING_ORDER + 1, ["system", "tool"]),
        (CHAT_MEMORY_ORDER, None),
    ],
)
async def test_only_memory_inside_the_loop_provides_the_history(
    kit: Kit, way: Way, weather: Weather, order: int, second: list[str] | None, given: bool
) -> None:
    rounds: list[list[str]] = []
    model = kit.ScriptedModel([CALL, "4 degrees."])
    loop = kit.ToolCallingAdvisor()
    advisors = [memory_at(kit, order, rounds), *([loop] if given else [])]
    client = kit.ChatClient(model, system="Be kind.", tools=[weather.tool], advisors=advisors)
    await way.ask(client.prompt("And in Oslo?"))
    whole = ["system", "user", "assistant", "tool"]
    roles = [message.role.value for message in model.prompts[-1].messages]
    assert (rounds, roles) == ([["system", "user"], *([second] if second else [])], second or whole)
    assert loop.internal_history


async def test_memory_with_order_of_the_loop_is_inside_if_given_after_it(kit: Kit, weather: Weather) -> None:
    for after in (True, False):
        rounds: list[list[str]] = []
        pair = [kit.ToolCallingAdvisor(), memory_at(kit, TOOL_CALLING_ORDER, rounds)]
        client = kit.ChatClient(kit.ScriptedModel([CALL, "4"]), tools=[weather.tool], advisors=pair if after else pair[::-1])
        await kit.of(client.prompt("And in Oslo?").call)
        assert rounds == ([["user"], ["tool"]] if after else [["user"]])


async def test_custom_loop_next_to_memory_is_left_unchanged(kit: Kit, way: Way) -> None:
    rounds: list[list[str]] = []
    advisors = [passing_tool_advisor(kit), memory_at(kit, 8, rounds)]
    client = kit.ChatClient(kit.ScriptedModel(["fine"]), advisors=advisors)
    assert text_of(await way.ask(client.prompt("Hello"))) == "fine"
    assert rounds == [["user"]]


async def test_subclass_of_loop_keeps_its_type_next_to_memory(kit: Kit, way: Way, weather: Weather) -> None:
    kept: list[str] = []

    class Named(kit.ToolCallingAdvisor):  # type: ignore[name-defined]
        def check(self) -> None:
            super().check()
            self.cache = getattr(self, "cache", kept)
            self.cache.append(type(self).__name__)

    client = kit.ChatClient(
        kit.ScriptedModel([CALL, "4"]), tools=[weather.tool], advisors=[Named(), memory_at(kit, SESSION_MEMORY_ORDER, [])]
    )
    assert text_of(await way.ask(client.prompt("And in Oslo?"))) == "4"
    assert kept == ["Named", "Named"]


async def test_tool_choice_of_request_overrides_the_client(kit: Kit, way: Way, weather: Weather) -> None:
    seen: list[Any] = []

    def see(prompt: Prompt) -> str:
        assert isinstance(prompt.options, ToolOptions)
        seen.append((prompt.options.tool_choice, prompt.options.parallel_tool_calls))
        return "fine"

    client = kit.ChatClient(kit.ScriptedModel([see, see]), options=ToolOptions(tool_choice="auto"), tools=[weather.tool])
    await way.ask(client.prompt("Hello").options(tool_choice="none", parallel_tool_calls=False))
    await way.ask(client.prompt("Hello"))
    assert seen == [("none", False), ("auto", None)]
