"""Building a request: what each step adds, which setting overrides which, and errors with hints."""

from __future__ import annotations

from typing import Any

import pytest

from threadkeep import MemoryProvider
from threadkeep.chat import (
    ChatOptions,
    InvalidChain,
    InvalidTool,
    Media,
    MissingSession,
    Role,
    Text,
    Tool,
    ToolContext,
    ToolDefinition,
    ToolOptions,
    assistant,
    system,
    user,
)
from threadkeep.chat.context_keys import MEMORY, RESUME, RUN, SESSION, SESSION_MEMORY_ORDER, USER
from threadkeep.v1.context_pb2 import ContextSpec
from threadkeep.v1.session_pb2 import Session, SessionRef

from ..async_and_sync import Kit, Way
from ..recording_memory import memory_at

# These tests need no memory advisor.
pytestmark = pytest.mark.filterwarnings(r"ignore:\.session\(\.\.\.\) without a memory")


def weather(city: str) -> str:
    """Returns the weather."""
    return f"fine in {city}"


async def later(city: str) -> str:
    """Returns the weather, later."""
    return f"fine in {city}"


def named(name: str, run: Any = None) -> Tool:
    return Tool(ToolDefinition(name), run or (lambda arguments, context: name))


class RecordingClient:
    """A client with one scripted answer; records what reached its model and its chain."""

    def __init__(self, kit: Kit, way: Way, **settings: Any) -> None:
        self.way = way
        self.model = kit.ScriptedModel(["fine"])
        self.contexts: list[dict[str, Any]] = []
        seeing = kit.advisor(before=lambda request: self.contexts.append(dict(request.context)))
        self.client = kit.ChatClient(self.model, advisors=[seeing], **settings)

    async def messages(self, prompt: Any) -> list[tuple[Role, str]]:
        await self.way.ask(prompt)
        return [(message.role, message.text) for message in self.model.prompts[0].messages]

    async def options(self, prompt: Any) -> ToolOptions:
        await self.way.ask(prompt)
        options = self.model.prompts[0].options
        assert isinstance(options, ToolOptions)
        return options

    async def context(self, prompt: Any) -> dict[str, Any]:
        await self.way.ask(prompt)
        return self.contexts[0]


async def test_instructions_come_first_and_messages_in_the_given_order(kit: Kit, way: Way) -> None:
    recorded = RecordingClient(kit, way, system="Be kind.")
    prompt = recorded.client.prompt().messages(user("Hello"), assistant("Hi")).user(["Look", Media("image/png", data=b"1")])
    assert await recorded.messages(prompt) == [
        (Role.SYSTEM, "Be kind."),
        (Role.USER, "Hello"),
        (Role.ASSISTANT, "Hi"),
        (Role.USER, "Look"),
    ]
    assert len(recorded.model.prompts[0].messages[-1].media) == 1


@pytest.mark.parametrize("said", ["Hello", Text("Hello"), ["Hel", "lo"], user("Hello")])
async def test_prompt_accepts_text_parts_or_message(kit: Kit, way: Way, said: Any) -> None:
    recorded = RecordingClient(kit, way)
    assert await recorded.messages(recorded.client.prompt(said)) == [(Role.USER, "Hello")]


async def test_request_instructions_replace_those_of_the_client(kit: Kit, way: Way) -> None:
    recorded = RecordingClient(kit, way, system="Be kind.")
    assert await recorded.messages(recorded.client.prompt("Hello").system("Be brief.")) == [
        (Role.SYSTEM, "Be brief."),
        (Role.USER, "Hello"),
    ]


async def test_blank_instructions_add_no_message(kit: Kit, way: Way) -> None:
    recorded = RecordingClient(kit, way, system="Be kind.")
    assert await recorded.messages(recorded.client.prompt("Hello").system(" ")) == [(Role.USER, "Hello")]


@pytest.mark.parametrize(
    ("text", "values", "filled"),
    [
        ("Speak {language} to {name}.", {"language": "Norse", "name": "Ann"}, "Speak Norse to Ann."),
        ('Say {name} as {"a": {"b": 1}} or {}', {"name": "Ann"}, 'Say Ann as {"a": {"b": 1}} or {}'),
        ("{{name}} is {name}", {"name": "Ann"}, "{name} is Ann"),
        ("{name}", {"name": "{name}"}, "{name}"),
        ("{n} {n}", {"n": 3, "unused": 1}, "3 3"),
        ("Keep {this} and {{that}}", {}, "Keep {this} and {{that}}"),
    ],
)
async def test_placeholders_are_filled_only_when_values_are_given(
    kit: Kit, way: Way, text: str, values: dict[str, Any], filled: str
) -> None:
    recorded = RecordingClient(kit, way)
    [(_, first), _] = await recorded.messages(recorded.client.prompt("Hello").system(text, **values))
    assert first == filled


async def test_values_alone_fill_the_instructions_of_the_client(kit: Kit, way: Way) -> None:
    recorded = RecordingClient(kit, way, system="Speak {language}.")
    [(_, first), _] = await recorded.messages(recorded.client.prompt("Hello").system(language="Norse"))
    assert first == "Speak Norse."


def test_placeholder_without_value_is_named_in_the_error(kit: Kit) -> None:
    with pytest.raises(ValueError, match=r"placeholder \{name\}.*values are: language"):
        kit.ChatClient(kit.ScriptedModel()).prompt().system("{language} {name}", language="Norse")


async def test_request_options_override_client_and_model_options(kit: Kit, way: Way) -> None:
    recorded = RecordingClient(
        kit, way, options=ChatOptions(temperature=0.1, top_p=0.5, extra={"a": 1, "b": 1}), tools=[weather]
    )
    prompt = recorded.client.prompt("Hello").options(ChatOptions(temperature=0.9, seed=1, extra={"b": 2}), seed=2, stop=["x"])
    found = await recorded.options(prompt)
    assert (found.model, found.temperature, found.top_p, found.seed, found.stop) == ("scripted", 0.9, 0.5, 2, ("x",))
    assert dict(found.extra) == {"a": 1, "b": 2}
    assert [tool.name for tool in found.tools] == ["weather"]


async def test_options_are_merged_by_field_with_request_before_client_before_model(kit: Kit, way: Way) -> None:
    """One field is set by all three, one by client and model, and one only by the model."""

    class Configured(kit.ScriptedModel):  # type: ignore[name-defined]
        @property
        def default_options(self) -> ChatOptions:
            return ChatOptions(model="small", temperature=0.1, top_p=0.1, seed=1, extra={"a": 1, "b": 1})

    model = Configured(["fine"])
    client = kit.ChatClient(model, options=ChatOptions(temperature=0.2, top_p=0.2, extra={"b": 2}))
    await way.ask(client.prompt("Hello").options(temperature=0.3))
    found = model.prompts[0].options
    assert (found.model, found.temperature, found.top_p, found.seed) == ("small", 0.3, 0.2, 1)
    assert dict(found.extra) == {"a": 1, "b": 2}


async def test_request_without_tools_has_tool_options(kit: Kit, way: Way) -> None:
    recorded = RecordingClient(kit, way)
    assert (await recorded.options(recorded.client.prompt("Hello"))).tools == ()


async def test_tools_are_merged_and_request_tools_win_by_name(kit: Kit, way: Way) -> None:
    mine = named("weather")
    recorded = RecordingClient(kit, way, tools=[weather, named("time")], tool_context={"a": 1, "b": 1})
    prompt = recorded.client.prompt("Hello").tools(mine).options(tools=[named("map")]).tool_context(b=2)
    found = await recorded.options(prompt)
    assert [tool.name for tool in found.tools] == ["weather", "time", "map"]
    assert found.tools[0] is mine
    assert dict(found.tool_context) == {"a": 1, "b": 2}


async def test_functions_in_tool_options_become_tools(kit: Kit, way: Way) -> None:
    recorded = RecordingClient(kit, way)
    found = await recorded.options(recorded.client.prompt("Hello").options(ToolOptions(tools=(weather,))))  # type: ignore[arg-type]
    assert [tool.name for tool in found.tools] == ["weather"]


async def test_tools_keyword_extends_plain_options(kit: Kit, way: Way) -> None:
    recorded = RecordingClient(kit, way)
    found = await recorded.options(recorded.client.prompt("Hello").options(ChatOptions(seed=1), tools=[weather], stop="x"))
    assert (found.seed, found.stop, [tool.name for tool in found.tools]) == (1, ("x",), ["weather"])


async def test_params_reach_advisors_but_not_tools(kit: Kit, way: Way) -> None:
    recorded = RecordingClient(kit, way, params={"a": 1, "b": 1})
    prompt = recorded.client.prompt("Hello").params({"b": 2}, c=3).tool_context(d=4)
    assert await recorded.context(prompt) == {"a": 1, "b": 2, "c": 3}
    options = recorded.model.prompts[0].options
    assert isinstance(options, ToolOptions)
    assert dict(options.tool_context) == {"d": 4}


REF = SessionRef(app="shop", session_id="s1")


@pytest.mark.parametrize(("session", "expected"), [("s1", "s1"), (REF, REF), (Session(ref=REF), REF)])
async def test_session_reaches_advisors_and_tools(kit: Kit, way: Way, session: Any, expected: Any) -> None:
    recorded = RecordingClient(kit, way)
    context = await recorded.context(recorded.client.prompt("Hello").session(session, user_id="ann", run_id="r1"))
    assert context == {SESSION: expected, USER: "ann", RUN: "r1"}
    options = recorded.model.prompts[0].options
    assert isinstance(options, ToolOptions)
    assert dict(options.tool_context) == {"session": expected, "user_id": "ann"}


async def test_second_session_replaces_user_and_run_of_the_first(kit: Kit, way: Way) -> None:
    recorded = RecordingClient(kit, way, params={USER: "bob", "a": 1}, tool_context={"b": 2})
    first = recorded.client.prompt("Hello").session("s1", user_id="ann", run_id="r1")
    assert await recorded.context(first.session("s2")) == {SESSION: "s2", USER: "bob", "a": 1}
    options = recorded.model.prompts[-1].options
    assert isinstance(options, ToolOptions)
    assert dict(options.tool_context) == {"session": "s2", "b": 2}


async def test_session_sets_only_the_given_keys(kit: Kit, way: Way) -> None:
    recorded = RecordingClient(kit, way)
    assert await recorded.context(recorded.client.prompt("Hello").session("s1")) == {SESSION: "s1"}


@pytest.mark.parametrize("memory", [MemoryProvider.none(), ContextSpec(max_turns=3)])
async def test_memory_setting_of_request_is_in_the_context(kit: Kit, way: Way, memory: Any) -> None:
    recorded = RecordingClient(kit, way)
    assert await recorded.context(recorded.client.prompt("Hello").memory(memory)) == {MEMORY: memory}


async def test_partial_prompt_can_be_reused_for_many_requests(kit: Kit, way: Way) -> None:
    model = kit.ScriptedModel(["1", "2", "3"])
    begin = kit.ChatClient(model).prompt().system("Be kind.").tools(weather)
    for text in ("a", "b"):
        await way.ask(begin.user(text).options(seed=1).params(x=text))
    await way.ask(begin.user("c"))
    assert [[message.text for message in prompt.messages] for prompt in model.prompts] == [
        ["Be kind.", "a"],
        ["Be kind.", "b"],
        ["Be kind.", "c"],
    ]
    assert [prompt.options.seed for prompt in model.prompts] == [1, 1, None]


async def test_prompt_copies_mappings_and_is_immutable(kit: Kit, way: Way) -> None:
    recorded = RecordingClient(kit, way)
    values = {"a": 1}
    prompt = recorded.client.prompt("Hello").params(values).tool_context(**values)
    values["a"] = 2
    assert await recorded.context(prompt) == {"a": 1}
    with pytest.raises(AttributeError):
        prompt._builder = None


async def test_resume_sends_no_new_message(kit: Kit, way: Way) -> None:
    recorded = RecordingClient(kit, way, system="Be kind.")
    memory = memory_at(kit, SESSION_MEMORY_ORDER, [])
    prompt = recorded.client.prompt().session("s1").advisors(memory)
    if way.streams:
        answers = await kit.all(prompt.resume_stream())
    else:
        answers = [await kit.of(prompt.resume)]
    assert "".join(answer.text for answer in answers) == "fine"
    assert recorded.contexts == [{SESSION: "s1", RESUME: True}]
    assert [message.role for message in recorded.model.prompts[0].messages] == [Role.SYSTEM]


async def test_resume_without_session_or_with_new_message_is_rejected(kit: Kit) -> None:
    client = kit.ChatClient(kit.ScriptedModel(["never"]))
    with pytest.raises(MissingSession, match=r"\.session\("):
        await kit.of(client.prompt().resume)
    with pytest.raises(ValueError, match="takes no new message"):
        await kit.of(client.prompt("Hello").session("s1").resume)
    with pytest.raises(MissingSession):
        client.prompt().resume_stream()
    with pytest.raises(InvalidChain, match="add a SessionMemoryAdvisor"):
        await kit.of(client.prompt().session("s1").resume)


async def test_request_without_message_is_rejected_before_it_runs(kit: Kit, way: Way) -> None:
    client = kit.ChatClient(kit.ScriptedModel(["never"]), system="Be kind.")
    with pytest.raises(ValueError, match=r"the request has no message: use \.prompt"):
        await way.ask(client.prompt())
    if way.streams:  # raised by the call, not by the first chunk
        with pytest.raises(ValueError, match="the request has no message"):
            client.prompt().stream()


REFUSED = [
    (lambda p: p.tools(3), InvalidTool, "a tool is a Python function, or a Tool .*function_tool.*, not 3"),
    (lambda p: p.tools(dict), InvalidTool, "not <class 'dict'>"),
    (lambda p: p.tools("weather"), InvalidTool, "not 'weather'"),
    (lambda p: p.tools([weather]), InvalidTool, r"one by one: \.tools\(\*tools\)"),
    (lambda p: p.tools(weather, named("weather")), InvalidTool, "two tools have the name 'weather'.*renamed"),
    (lambda p: p.options(temprature=0.2), TypeError, "unknown option 'temprature'; did you mean 'temperature'.*extra="),
    (lambda p: p.options(zzz=0.2), TypeError, "unknown option 'zzz'; known: extra, max_tokens, model"),
    (lambda p: p.options({"temperature": 0.2}), TypeError, "options are ChatOptions.*not dict"),
    (lambda p: p.options(tools=3), InvalidTool, "tools are a sequence of functions and Tools, not int"),
    (lambda p: p.options(ToolOptions(tools=(3,))), InvalidTool, "not 3"),  # type: ignore[arg-type]
    (lambda p: p.user(""), ValueError, "the user's message is empty"),
    (lambda p: p.user([]), ValueError, "the user's message is empty"),
    (lambda p: p.user("half \ud83d"), ValueError, "a lone surrogate"),
    (lambda p: p.user(3), TypeError, "texts and parts, not int"),
    (lambda p: p.user(user("Hello")), TypeError, r"pass a message to \.messages"),
    (lambda p: p.messages("Hello"), TypeError, r"has a role: pass chat\.user\('Hello'\)"),
    (lambda p: p.messages([user("Hello")]), TypeError, r"one by one: \.messages\(\*history\)"),
    (lambda p: p.messages({"role": "user"}), TypeError, "made by chat.user"),
    (lambda p: p.messages(3), TypeError, "not int"),
    (lambda p: p.system(3), TypeError, "instructions are text, not int"),
    (lambda p: p.system(system("Be kind.")), TypeError, "instructions are text, not Message"),
    (lambda p: p.session(3), TypeError, "a session is its id, a SessionRef or a Session, not int"),
    (lambda p: p.session(""), ValueError, "id is empty"),
    (lambda p: p.session(SessionRef()), ValueError, "id is empty"),
    (lambda p: p.session("s", user_id=3), TypeError, "user_id is a text, not int"),
    (lambda p: p.session("s", user_id=""), ValueError, "user_id is empty"),
    (lambda p: p.session("s", run_id=3), TypeError, "run_id is a text, not int"),
    (lambda p: p.params([1]), TypeError, "params maps names to values; it is no list"),
    (lambda p: p.memory("all"), TypeError, "a MemoryProvider or a ContextSpec, not str"),
    (lambda p: p.advisors(3), TypeError, "needs an? (Async)?Advisor .*, not int"),
    (lambda p: p.advisors([]), TypeError, r"one by one: \.advisors\(\*advisors\)"),
]


@pytest.mark.parametrize(("step", "error", "message"), REFUSED)
def test_invalid_prompt_step_is_rejected_with_hint(kit: Kit, step: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        step(kit.ChatClient(kit.ScriptedModel()).prompt())


def test_coroutine_tool_is_rejected_by_the_blocking_client(kit: Kit) -> None:
    async def run(arguments: str, context: ToolContext) -> str:
        return "fine"

    prompt = kit.ChatClient(kit.ScriptedModel()).prompt()
    for tool in (later, named("later", run)):
        if kit.is_async:
            assert prompt.tools(tool) is not prompt
        else:
            with pytest.raises(InvalidTool, match=r"'later' is a coroutine function.*use AsyncChatClient, or"):
                prompt.tools(tool)
            with pytest.raises(InvalidTool, match="use AsyncChatClient"):
                prompt.options(tools=[tool])
            with pytest.raises(InvalidTool, match="use AsyncChatClient"):
                prompt.options(ToolOptions(tools=(tool,)))  # type: ignore[arg-type]
            with pytest.raises(InvalidTool, match="use AsyncChatClient"):
                kit.ChatClient(kit.ScriptedModel(), tools=[tool])
