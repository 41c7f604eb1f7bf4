"""A chat client with session memory, tools and recall tools, as a program uses it with `.session`."""

from __future__ import annotations

from typing import Any

import pytest

import threadkeep
from threadkeep import MemoryProvider
from threadkeep.chat import Message, MissingSession, ModelFailed, Prompt, ToolCall, WrongUser, assistant, function_tool
from threadkeep.chat.memory.events import to_event

from ..async_and_sync import text_of
from ..conversations import Talk, prompt_of

CALL = assistant(tool_calls=[ToolCall("c1", "weather", '{"city": "Oslo"}')])


class Weather:
    """A tool and the number of its runs."""

    def __init__(self) -> None:
        self.runs = 0

        def weather(city: str) -> str:
            """Returns the weather."""
            self.runs += 1
            return f"4 degrees in {city}"

        self.tool = function_tool(weather)


def client(talk: Talk, model: Any, weather: Weather, **settings: Any) -> Any:
    return talk.kit.ChatClient(model, advisors=[talk.memory()], tools=[weather.tool], **settings)


async def test_readme_example_stores_and_resends_both_turns(talk: Talk) -> None:
    weather = Weather()
    model = talk.kit.ScriptedModel([CALL, "It is 4 degrees.", "Take a coat."])
    chat = client(talk, model, weather, system="Be brief.")
    assert text_of(await talk.way.ask(chat.prompt("What is the weather in Oslo?").session(talk.session))) == "It is 4 degrees."
    assert text_of(await talk.way.ask(chat.prompt("And what do I wear?").session(talk.session))) == "Take a coat."
    turn = ["user: What is the weather in Oslo?", "assistant: [weather c1]", "tool: c1=4 degrees in Oslo"]
    assert prompt_of(model, 1) == ["system: Be brief.", *turn]
    assert prompt_of(model, 2) == ["system: Be brief.", *turn, "assistant: It is 4 degrees.", "user: And what do I wear?"]
    assert await talk.log() == [*turn, "assistant: It is 4 degrees.", "user: And what do I wear?", "assistant: Take a coat."]


async def test_client_memory_without_session_raises_missing_session(talk: Talk) -> None:
    with pytest.raises(MissingSession, match="session"):
        await talk.way.ask(client(talk, talk.kit.ScriptedModel(["never"]), Weather()).prompt("Hello"))


@pytest.mark.parametrize("memory", [MemoryProvider.none(), MemoryProvider.limited_window().write_only()])
async def test_turn_sees_its_own_rounds_without_session_history(talk: Talk, memory: MemoryProvider) -> None:
    """The loop leaves the history to the memory, which provides none here."""
    await talk.append(threadkeep.user("said before"))
    model = talk.kit.ScriptedModel([CALL, "4 degrees."])
    chat = client(talk, model, Weather(), system="Be brief.")
    assert text_of(await talk.way.ask(chat.prompt("In Oslo?").session(talk.session).memory(memory))) == "4 degrees."
    assert prompt_of(model, 1) == [
        "system: Be brief.",
        "user: In Oslo?",
        "assistant: [weather c1]",
        "tool: c1=4 degrees in Oslo",
    ]
    assert len(await talk.log()) == (5 if memory.writes else 1)


async def test_turn_with_model_failure_between_rounds_is_resumed(talk: Talk) -> None:
    weather = Weather()
    model = talk.kit.ScriptedModel([CALL, ModelFailed("no answer", status=503)])
    with pytest.raises(ModelFailed):
        await talk.way.ask(client(talk, model, weather).prompt("In Oslo?").session(talk.session))
    again = talk.kit.ScriptedModel(["4 degrees."])
    assert await resumed(talk, client(talk, again, weather)) == "4 degrees."
    turn = ["user: In Oslo?", "assistant: [weather c1]", "tool: c1=4 degrees in Oslo"]
    assert (prompt_of(again), weather.runs) == (turn, 1)
    assert await talk.log() == [*turn, "assistant: 4 degrees."]


async def test_turn_interrupted_before_its_tools_resumes_by_running_them(talk: Talk) -> None:
    await talk.append(threadkeep.user("In Oslo?"), to_event(CALL))
    weather = Weather()
    assert await resumed(talk, client(talk, talk.kit.ScriptedModel(["4 degrees."]), weather)) == "4 degrees."
    assert weather.runs == 1
    assert (await talk.log())[1:] == ["assistant: [weather c1]", "tool: c1=4 degrees in Oslo", "assistant: 4 degrees."]
    assert await resumed(talk, client(talk, talk.kit.ScriptedModel(), weather)) == "4 degrees."
    assert (weather.runs, len(await talk.log())) == (1, 4)


async def resumed(talk: Talk, chat: Any) -> str:
    prompt = chat.prompt().session(talk.session)
    return text_of(
        await talk.kit.all(prompt.resume_stream()) if talk.way.streams else [await talk.kit.of(prompt.resume)],
    )


async def test_request_for_another_user_raises_wrong_user(talk: Talk) -> None:
    await talk.append(threadkeep.user("mine"))
    chat = client(talk, talk.kit.ScriptedModel(["never"]), Weather())
    with pytest.raises(WrongUser):
        await talk.way.ask(chat.prompt("Hello").session(talk.session, user_id="bob"))


async def test_recall_tools_search_the_session_of_the_request(talk: Talk) -> None:
    await talk.append(threadkeep.user("The code of the door is 4711."))
    call = assistant(tool_calls=[ToolCall("c1", "conversation_search", '{"query": "4711"}')])
    found: list[str] = []

    def read(prompt: Prompt) -> str:
        found.append(prompt.messages[-1].tool_results[0].text)
        return "4711"

    tools = await talk.kit.of(talk.kit.RecallTools(talk.sdk).all)
    chat = talk.kit.ChatClient(talk.kit.ScriptedModel([call, read]), advisors=[talk.memory()])
    assert text_of(await talk.way.ask(chat.prompt("The code?").session(talk.session).tools(*tools))) == "4711"
    assert "The code of the door is 4711." in found[0]


async def test_outer_advisor_sees_each_round_and_the_session(talk: Talk) -> None:
    seen: list[tuple[str, list[Message]]] = []
    auditing = talk.kit.advisor(
        before=lambda request: seen.append((request.context["threadkeep.session"], [*request.messages]))
    )
    chat = client(talk, talk.kit.ScriptedModel([CALL, "4 degrees."]), Weather())
    await talk.way.ask(chat.prompt("In Oslo?").session(talk.session).advisors(auditing))
    assert [(session, [message.role.value for message in messages]) for session, messages in seen] == [
        (talk.session, ["user"]),
        (talk.session, ["user", "assistant", "tool"]),
    ]
