"""Tools from Python functions: the schema for the model, the arguments of the function, and the result."""

from __future__ import annotations

import asyncio
import enum
import functools
import inspect
import json
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from threadkeep.chat import InvalidTool, Media, Text, Tool, ToolContext, ToolOutput, function_tool

from ..async_and_sync import Kit


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Place(BaseModel):
    """Somewhere."""

    city: str = Field(description="Its name.")
    zip: int | None = None


@dataclass
class Span:
    start: date
    end: date


class Node(BaseModel):
    value: int
    children: list[Node] = []


def properties(tool: Tool) -> dict[str, Any]:
    return tool.definition.input_schema["properties"]


def ran(tool: Tool, arguments: dict[str, Any] | str = "{}", context: ToolContext | None = None) -> Any:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    result = tool.run(text, context or ToolContext())
    return asyncio.run(result) if asyncio.iscoroutine(result) else result


def refused(tool: Tool, arguments: dict[str, Any] | str) -> str:
    result = ran(tool, arguments)
    assert isinstance(result, ToolOutput)
    assert result.is_error
    [part] = result.parts
    assert isinstance(part, Text)
    return part.text


def test_tool_takes_name_description_and_settings_from_function_or_arguments() -> None:
    def add(a: int, b: int = 2) -> int:
        """Adds.

        Args:
            a: The first.
        """
        return a + b

    tool = function_tool(add)
    assert (tool.name, tool.definition.description, tool.definition.strict) == ("add", "Adds.", False)
    assert tool.definition.input_schema == {
        "type": "object",
        "properties": {"a": {"description": "The first.", "type": "integer"}, "b": {"default": 2, "type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert ran(tool, {"a": 1}) == "3"
    other = function_tool(add, name="plus", description="Sums.", return_direct=True, timeout=2.5)
    assert (other.name, other.definition.description, other.return_direct, other.timeout) == ("plus", "Sums.", True, 2.5)


def test_function_tool_is_a_decorator_with_and_without_arguments() -> None:
    @function_tool
    def one() -> str:
        return "1"

    @function_tool(name="deux")
    def two() -> str:
        return "2"

    assert (one.name, ran(one), two.name, ran(two)) == ("one", "1", "deux", "2")
    assert one.definition.input_schema == {"type": "object", "properties": {}, "additionalProperties": False}


def everything(
    text: str,
    optional: str | None,
    either: int | str,
    literal: Literal["a", "b"],
    color: Color,
    place: Place,
    span: Span,
    tree: Node,
    many: list[Place],
    table: dict[str, int],
    at: datetime,
    described: Annotated[int, Field(description="How many.", ge=1)],
    purpose: Annotated[str, "What for."],
    limit: int = 10,
) -> dict[str, Any]:
    return locals()


def test_every_parameter_type_has_its_schema() -> None:
    schema = function_tool(everything).definition.input_schema
    found = schema["properties"]
    assert found["optional"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert found["either"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert found["literal"] == {"enum": ["a", "b"], "type": "string"}
    assert found["table"] == {"additionalProperties": {"type": "integer"}, "type": "object"}
    assert found["at"] == {"format": "date-time", "type": "string"}
    assert found["described"] == {"description": "How many.", "minimum": 1, "type": "integer"}
    assert found["purpose"] == {"description": "What for.", "type": "string"}
    assert found["many"] == {"items": {"$ref": "#/$defs/Place"}, "type": "array"}
    assert schema["$defs"]["Color"] == {"enum": ["red", "blue"], "type": "string"}
    assert schema["$defs"]["Place"]["properties"]["city"] == {"description": "Its name.", "type": "string"}
    assert schema["$defs"]["Span"]["required"] == ["start", "end"]
    assert schema["$defs"]["Node"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert schema["required"] == [name for name in found if name != "limit"]
    assert "title" not in json.dumps(schema)


GIVEN: dict[str, Any] = {
    "text": "t",
    "optional": None,
    "either": "x",
    "literal": "a",
    "color": "blue",
    "place": {"city": "Rome"},
    "span": {"start": "2026-01-01", "end": "2026-01-02"},
    "tree": {"value": 1, "children": [{"value": 2}]},
    "many": [{"city": "Oslo", "zip": 1}],
    "table": {"a": 1},
    "at": "2026-01-02T03:04:05Z",
    "described": 1,
    "purpose": "x",
}


def test_function_receives_values_of_its_types() -> None:
    got: dict[str, Any] = {}

    @functools.wraps(everything)
    def keeping(**arguments: Any) -> None:
        got.update(arguments)

    assert ran(function_tool(keeping), GIVEN) == ""
    assert got["color"] is Color.BLUE
    assert got["place"] == Place(city="Rome")
    assert got["span"] == Span(date(2026, 1, 1), date(2026, 1, 2))
    assert got["tree"].children[0].value == 2
    assert got["at"] == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert "limit" not in got, "the function uses its own default"


def test_invalid_arguments_are_reported_by_field_without_running() -> None:
    calls = []

    @function_tool
    def book(place: Place, nights: int, color: Color = Color.RED) -> None:
        calls.append(place)

    text = refused(book, {"place": {"city": 3}, "nights": "many", "color": "green", "extra": 1})
    lines = dict(line.removeprefix("- ").split(": ", 1) for line in text.splitlines()[1:])
    assert lines.keys() == {"place.city", "nights", "color", "extra"}
    assert '(given: "many")' in lines["nights"]
    assert "'red' or 'blue'" in lines["color"]
    assert "nights: Field required" in refused(book, {"place": {"city": "Rome"}})
    assert "Invalid JSON" in refused(book, '{"place": ')
    assert "object" in refused(book, "[1]")
    assert "object" in refused(book, "null")
    assert len(refused(book, {"place": "x" * 5000, "nights": 1})) < 400
    assert not calls


def test_context_parameter_is_passed_and_hidden_from_the_model() -> None:
    @function_tool
    def who(context: ToolContext, greeting: str = "hi", other: ToolContext | None = None) -> str:
        assert other is context
        return f"{greeting} {context.values['user_id']}"

    assert properties(who).keys() == {"greeting"}
    assert ran(who, "{}", ToolContext({"user_id": "alice"})) == "hi alice"
    assert "context" in refused(who, {"context": {"values": {"user_id": "bob"}}}), "the model cannot write it"


class Shop:
    def __init__(self) -> None:
        self.prices = {"tea": 3}

    def price(self, item: str) -> int:
        """Returns the price."""
        return self.prices[item]

    def __call__(self, item: str) -> str:
        """Buys it."""
        return f"bought {item}"


def test_methods_partials_and_callable_objects_become_tools() -> None:
    assert ran(function_tool(Shop().price), {"item": "tea"}) == "3"

    def greet(greeting: str, name: str) -> str:
        """Greets."""
        return f"{greeting} {name}"

    for bound in (functools.partial(greet, "hello"), functools.partial(greet, greeting="hello")):
        tool = function_tool(bound)
        assert (tool.name, tool.definition.description, [*properties(tool)]) == ("greet", "Greets.", ["name"])
        assert ran(tool, {"name": "you"}) == "hello you"
    tool = function_tool(Shop(), name="buy")
    assert (tool.definition.description, ran(tool, {"item": "tea"})) == ("Buys it.", "bought tea")


def test_parameters_may_have_any_name() -> None:
    @function_tool
    def odd(schema: int, model_config: int, json: int, _hidden: int, copy: int = 0) -> int:
        return schema + model_config + json + _hidden + copy

    given = {"schema": 1, "model_config": 2, "json": 3, "_hidden": 4}
    assert [*properties(odd)] == [*given, "copy"]
    assert ran(odd, given) == "10"


def test_fields_may_define_defaults_and_aliases() -> None:
    @function_tool
    def fly(
        origin: Annotated[str, Field(alias="from")],
        day: int = Field(default=3, description="Of the month."),
        names: list[str] = Field([]),  # noqa: B008
    ) -> str:
        return f"{origin} {day} {names}"

    assert [*properties(fly)] == ["from", "day", "names"]
    assert properties(fly)["day"] == {"default": 3, "description": "Of the month.", "type": "integer"}
    assert fly.definition.input_schema["required"] == ["from"]
    assert ran(fly, {"from": "Rome"}) == "Rome 3 []"


def test_default_that_json_cannot_represent_is_left_out_of_the_schema() -> None:
    unset: Any = object()

    @function_tool
    def go(to: str = unset) -> str:
        return str(to is unset)

    assert properties(go) == {"to": {"type": "string"}}
    assert (ran(go), ran(go, {"to": "x"})) == ("true".title(), "False")


async def test_coroutine_functions_are_awaited() -> None:
    @function_tool
    async def later(text: str) -> str:
        await asyncio.sleep(0)
        return text.upper()

    assert inspect.iscoroutinefunction(later.run)
    result: Any = later.run('{"text": "x"}', ToolContext())
    assert await result == "X"
    wrong: Any = later.run("{}", ToolContext())
    assert (await wrong).is_error
    forwarded: Any = function_tool(lambda: asyncio.sleep(0, {"a": 1}), name="forwarded").run("{}", ToolContext())
    assert await forwarded == '{"a":1}'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        ("caf\udce9.txt, \U0001f600", "caf\ufffd.txt, \U0001f600"),
        (["caf\udce9.txt", 1], '["caf\ufffd.txt",1]'),
        (None, ""),
        (Place(city="Rome"), '{"city":"Rome","zip":null}'),
        (Span(date(2026, 1, 1), date(2026, 1, 2)), '{"start":"2026-01-01","end":"2026-01-02"}'),
        ([1, 2.5, True], "[1,2.5,true]"),
        ({"é": Color.RED}, '{"é":"red"}'),
        (b"\xff\x00", '"_wA="'),
        (float("nan"), '"NaN"'),
        ([], "[]"),
    ],
)
def test_results_become_text_or_json(value: Any, text: str) -> None:
    assert ran(function_tool(lambda: value, name="it")) == text


def test_results_may_be_parts() -> None:
    image = Media("image/png", data=b"1")
    output = ToolOutput((Text("no"),), is_error=True)
    assert ran(function_tool(lambda: image, name="it")) == ToolOutput((image,))
    assert ran(function_tool(lambda: [Text("a"), image], name="it")) == ToolOutput((Text("a"), image))
    assert ran(function_tool(lambda: output, name="it")) is output
    with pytest.raises(TypeError, match="returned a object, which cannot be written as JSON"):
        ran(function_tool(lambda: object(), name="it"))


def bad_positional(a: int, /, b: int) -> None: ...
def bad_many(*a: int) -> None: ...
def bad_names(**a: int) -> None: ...
def bad_untyped(a) -> None: ...
def bad_type(a: int, b: threading.Lock) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def bad_class(a: int, b: Shop) -> None: ...
def bad_generator(a: int) -> Any:
    yield a


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (bad_positional, "'a' is positional-only, but a model names its arguments; take the / away"),
        (bad_many, "'\\*a' takes any number of values; use one parameter that is a list"),
        (bad_names, "'\\*\\*a' takes any names; name each parameter, or use one that is a dict"),
        (bad_untyped, "'a' has no annotation"),
        (bad_type, "an annotation cannot be resolved .*'threading'"),
        (bad_class, "the parameter 'b' cannot be described to a model: .*Shop"),
        (bad_generator, "is a generator; a tool returns its result at once"),
        (Shop, "made of a function, not of"),
        ("text", "made of a function, not of 'text'"),
    ],
)
def test_unsupported_function_is_rejected_with_hint(function: Any, said: str) -> None:
    with pytest.raises(InvalidTool, match=said):
        function_tool(function)


@pytest.mark.parametrize("name", ["", "a b", "é", "a.b", "x" * 65, "a\n"])
def test_invalid_tool_name_is_rejected(name: str) -> None:
    with pytest.raises(InvalidTool, match="1 to 64 of the characters"):
        function_tool(lambda: "", name=name)
    assert function_tool(lambda: "", name="x-Y_" + "z" * 60).name.startswith("x-Y_")


def test_lambda_without_name_is_rejected() -> None:
    with pytest.raises(InvalidTool, match="<lambda>"):
        function_tool(lambda: "")


def test_blocking_client_rejects_coroutine_functions(kit: Kit) -> None:
    async def later(text: str) -> str:
        return text

    class Later:
        async def __call__(self, text: str) -> str:
            return text

    model = kit.ScriptedModel()
    for each in (later, function_tool(later), functools.partial(later, text="x"), function_tool(Later(), name="later")):
        if kit.is_async:
            kit.ChatClient(model, tools=[each])
        else:
            with pytest.raises(InvalidTool, match=r"'later' is a coroutine function.*use AsyncChatClient"):
                kit.ChatClient(model, tools=[each])
