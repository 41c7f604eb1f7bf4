"""The chat client: typical use, its settings, and changed copies."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from threadkeep import chat
from threadkeep.chat import ChatOptions, ChatResponse, InvalidChain, InvalidTool, Prompt, ToolCall, assistant

from ..async_and_sync import Kit, Way, text_of

# These tests need no memory advisor.
pytestmark = pytest.mark.filterwarnings(r"ignore:\.session\(\.\.\.\) without a memory")

CALL = assistant(tool_calls=[ToolCall("c1", "weather", '{"city": "Oslo"}')])


def weather(city: str) -> str:
    """Returns the weather of a city."""
    return f"4 degrees in {city}"


async def test_question_is_answered_with_a_function_tool(kit: Kit, way: Way) -> None:
    model = kit.ScriptedModel([CALL, lambda prompt: f"It is {prompt.messages[-1].tool_results[0].text}."])
    client = kit.ChatClient(model, system="You know the weather.", tools=[weather])
    prompt = client.prompt("What is the weather in Oslo?").session("s1").options(temperature=0)
    assert text_of(await way.ask(prompt)) == "It is 4 degrees in Oslo."
    assert [message.role.value for message in model.prompts[-1].messages] == ["system", "user", "assistant", "tool"]


def test_blocking_client_calls_and_streams_without_event_loop() -> None:
    model = chat.ScriptedModel([CALL, "4 degrees.", "Bring a coat."])
    client = chat.ChatClient(model, tools=[weather])
    assert client.prompt("What is the weather in Oslo?").call().text == "4 degrees."
    assert "".join(chunk.text for chunk in client.prompt("And what should I wear?").stream()) == "Bring a coat."


async def test_answer_has_usage_context_and_response_metadata(kit: Kit) -> None:
    spoken = chat.Generation(assistant("Hi"), "stop")
    client = kit.ChatClient(kit.ScriptedModel([ChatResponse((spoken,), chat.Usage(3, 1, 4), "r1", "m1")]), params={"a": 1})
    answer = await kit.of(client.prompt("Hello").call)
    assert (answer.text, answer.usage.total_tokens, answer.context["a"]) == ("Hi", 4, 1)
    assert (answer.response.finish_reason, answer.response.model) == ("stop", "m1")


async def test_client_serves_concurrent_prompts(kit: Kit, way: Way) -> None:
    client = kit.ChatClient(kit.ScriptedModel([lambda prompt: f"to {prompt.messages[-1].text}"] * 30))
    answers = await asyncio.gather(*(way.ask(client.prompt(str(n)).session(f"s{n}")) for n in range(30)))
    assert [text_of(answer) for answer in answers] == [f"to {n}" for n in range(30)]


async def test_mutate_returns_new_client_and_keeps_the_original(kit: Kit, way: Way) -> None:
    model, other = kit.ScriptedModel(["1", "3"]), kit.ScriptedModel(["2"])
    tools = (tool for tool in [weather])
    first = kit.ChatClient(model, system="Be kind.", tools=tools, options=ChatOptions(seed=1), params={"a": 1})
    second = first.mutate(model=other, system="Be brief.")
    for client, text in ((first, "1"), (second, "2"), (first, "3")):
        answers = await way.ask(client.prompt("Hello"))
        assert (text_of(answers), answers[-1].context["a"]) == (text, 1)
    assert (first.model, second.model) == (model, other)
    assert [prompt.messages[0].text for prompt in (*model.prompts, *other.prompts)] == ["Be kind.", "Be kind.", "Be brief."]
    assert [tool.name for tool in other.prompts[0].options.tools] == ["weather"]
    assert other.prompts[0].options.seed == 1


async def test_client_copies_the_settings_it_is_given(kit: Kit, way: Way) -> None:
    params, context, tools = {"a": 1}, {"b": 1}, [weather]
    model = kit.ScriptedModel(["fine", "fine"])
    client = kit.ChatClient(model, params=params, tool_context=context, tools=tools)
    params["a"] = context["b"] = 2
    tools.clear()
    for each in (client, client.mutate(system="Be kind.")):
        answers = await way.ask(each.prompt("Hello"))
        assert dict(answers[-1].context) == {"a": 1}
        options = model.prompts[-1].options
        assert (dict(options.tool_context), [tool.name for tool in options.tools]) == ({"b": 1}, ["weather"])


async def test_request_advisors_are_added_to_those_of_the_client(kit: Kit, way: Way) -> None:
    seen: list[str] = []

    def recording(name: str, order: int) -> Any:
        return kit.advisor(name=name, order=order, before=lambda _: seen.append(name))

    first, second = recording("a", 0), recording("b", 1)
    client = kit.ChatClient(kit.ScriptedModel(["1", "2"]), advisors=[second])
    await way.ask(client.prompt("Hello").advisors(first))
    await way.ask(client.prompt("Hello"))
    assert seen == ["a", "b", "b"]
    with pytest.raises(InvalidChain, match="twice"):
        await way.ask(client.prompt("Hello").advisors(second))


async def test_closed_stream_closes_the_stream_of_the_model(kit: Kit) -> None:
    ended: list[bool] = []

    if kit.is_async:

        class Endless(kit.ScriptedModel):  # type: ignore[name-defined]
            async def stream(self, prompt: Prompt) -> Any:
                try:
                    while True:
                        yield ChatResponse((chat.Generation(assistant("on ")),))
                finally:
                    ended.append(True)

        stream = kit.ChatClient(Endless()).prompt("Hello").stream()
        assert (await anext(stream)).text == "on "
        await stream.aclose()
    else:

        class EndlessToo(kit.ScriptedModel):  # type: ignore[name-defined]
            def stream(self, prompt: Prompt) -> Any:
                try:
                    while True:
                        yield ChatResponse((chat.Generation(assistant("on ")),))
                finally:
                    ended.append(True)

        stream = kit.ChatClient(EndlessToo()).prompt("Hello").stream()
        assert next(stream).text == "on "
        stream.close()
    assert ended == [True]


async def test_error_of_model_is_raised_unchanged(kit: Kit, way: Way) -> None:
    error = chat.ModelTimeout("no answer in 60 s", retry=True)
    with pytest.raises(chat.ModelTimeout) as raised:
        await way.ask(kit.ChatClient(kit.ScriptedModel([error])).prompt("Hello"))
    assert raised.value is error


def test_model_of_the_other_form_is_rejected_with_hint() -> None:
    with pytest.raises(
        TypeError, match="ChatClient cannot await AsyncScriptedModel: pass it to AsyncChatClient, or pass a ChatModel"
    ):
        chat.ChatClient(chat.AsyncScriptedModel())  # type: ignore[arg-type]
    with pytest.raises(
        TypeError, match="AsyncChatClient would be blocked by ScriptedModel: pass it to ChatClient, or pass an Async"
    ):
        chat.AsyncChatClient(chat.ScriptedModel())  # type: ignore[arg-type]


def test_advisor_of_the_other_form_is_rejected_with_hint() -> None:
    there, here = Kit(is_async=True), Kit(is_async=False)
    with pytest.raises(TypeError, match="ChatClient cannot await Async: pass it to AsyncChatClient"):
        chat.ChatClient(chat.ScriptedModel(), advisors=[there.advisor()])
    with pytest.raises(TypeError, match="AsyncChatClient would be blocked by Sync: pass it to ChatClient"):
        chat.AsyncChatClient(chat.AsyncScriptedModel()).prompt().advisors(here.advisor())


WRONG = [
    (lambda kit, model: kit.ChatClient("gpt-5"), TypeError, r"needs an? (Async)?ChatModel \(see chat\.\w+ for.*not str"),
    (lambda kit, model: kit.ChatClient(type(model)), TypeError, r"not the class (Async)?ScriptedModel: \w+\(\.\.\.\)"),
    (lambda kit, model: kit.ChatClient(model, tools=weather), InvalidTool, "tools are a sequence of functions and Tools"),
    (lambda kit, model: kit.ChatClient(model, tools=[3]), InvalidTool, "not 3"),
    (lambda kit, model: kit.ChatClient(model, tools=[weather, weather]), InvalidTool, "two tools have the name 'weather'"),
    (lambda kit, model: kit.ChatClient(model, advisors=kit.advisor()), TypeError, "advisors are a sequence"),
    (lambda kit, model: kit.ChatClient(model, advisors=[3]), TypeError, r"needs an (Async)?Advisor .*not int"),
    (lambda kit, model: kit.ChatClient(model, options={"seed": 1}), TypeError, "options are ChatOptions.*not dict"),
    (lambda kit, model: kit.ChatClient(model, system=3), TypeError, "instructions are text, not int"),
    (lambda kit, model: kit.ChatClient(model, tool_manager=3), TypeError, "tool_manager: definitions and execute.*not 3"),
    (
        lambda kit, model: kit.ChatClient(model).mutate(sytem="x"),
        TypeError,
        "unknown setting of a client 'sytem'; did you mean 'system'",
    ),
]


@pytest.mark.parametrize(("make", "error", "message"), WRONG)
def test_invalid_client_settings_are_rejected_at_construction(
    kit: Kit, make: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make(kit, kit.ScriptedModel())


def test_model_wrapper_with_plain_functions_is_accepted() -> None:
    """A wrapper needs no coroutine functions: only models that certainly have the other form are rejected."""

    class Handing:
        def __init__(self, model: Any) -> None:
            self.provider, self.default_options = model.provider, model.default_options
            self.call, self.stream = (lambda prompt: model.call(prompt)), (lambda prompt: model.stream(prompt))

    async def ask() -> str:
        return (await chat.AsyncChatClient(Handing(chat.AsyncScriptedModel(["fine"]))).prompt("Hello").call()).text

    assert asyncio.run(ask()) == "fine"
    assert chat.ChatClient(Handing(chat.ScriptedModel(["fine"]))).prompt("Hello").call().text == "fine"


@pytest.mark.parametrize(
    ("program", "absent"),
    [
        ("import threadkeep", ["threadkeep.chat", "pydantic", "opentelemetry"]),
        ("import threadkeep.chat", ["openai", "anthropic", "google.genai", "httpx2", "mcp", "opentelemetry.sdk"]),
    ],
)
def test_import_loads_only_needed_libraries(program: str, absent: list[str]) -> None:
    check = f"{program}, sys; print([name for name in {absent!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout == "[]\n"


async def test_model_may_stream_with_any_iterator(kit: Kit) -> None:
    """The protocol requires an iterator, and not every iterator can be closed."""
    said = [ChatResponse((chat.Generation(assistant(text)),)) for text in ("Good ", "evening")]

    class Plain:
        provider, default_options = "own", ChatOptions(model="plain")

        async def call(self, prompt: Any) -> ChatResponse:
            return said[0]

        def stream(self, prompt: Any) -> Any:
            return Steps(said) if kit.is_async else iter(said)

    class Steps:
        def __init__(self, left: list[ChatResponse]) -> None:
            self._left = iter(left)

        def __aiter__(self) -> Any:
            return self

        async def __anext__(self) -> ChatResponse:
            found = next(self._left, None)
            if found is None:
                raise StopAsyncIteration
            return found

    if not kit.is_async:
        Plain.call = lambda self, prompt: said[0]  # type: ignore[assignment, method-assign, return-value]
    answers = await kit.all(kit.ChatClient(Plain()).prompt("Hello").stream())
    assert [each.text for each in answers] == ["Good ", "evening"]
    chain = kit.AdvisorChain((), Plain())
    assert len(await kit.all(chain.next_stream(chat.ChatClientRequest((chat.user("Hello"),))))) == 2
