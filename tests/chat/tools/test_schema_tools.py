"""Tools made of a JSON schema: what is checked, what runs, what comes back."""

from __future__ import annotations

import inspect
import json
import socket
from typing import Any

import pytest

from threadkeep.chat import InvalidTool, Text, ToolContext, ToolOutput, schema_tool

from .test_function_tools import ran, refused

FLIGHT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "from": {"type": "string", "minLength": 3},
        "seats": {"type": "array", "items": {"$ref": "#/$defs/seat"}, "maxItems": 2},
        "class": {"enum": ["economy", "business"]},
    },
    "required": ["from"],
    "additionalProperties": False,
    "$defs": {"seat": {"type": "object", "properties": {"row": {"type": "integer"}}, "required": ["row"]}},
}


def test_the_function_gets_the_arguments_as_a_dict_and_the_context_if_it_takes_one() -> None:
    plain = schema_tool("book", FLIGHT, lambda arguments: arguments, description="Books.")
    assert (plain.name, plain.definition.description, plain.definition.input_schema) == ("book", "Books.", FLIGHT)
    assert json.loads(ran(plain, {"from": "Rome", "seats": [{"row": 1}]})) == {"from": "Rome", "seats": [{"row": 1}]}
    told = schema_tool("who", {}, lambda arguments, context: context.values["user_id"], return_direct=True, timeout=2)
    assert (told.return_direct, told.timeout) == (True, 2)
    assert told.definition.input_schema == {"type": "object", "properties": {}}
    assert ran(told, "{}", ToolContext({"user_id": "alice"})) == "alice"


def test_what_does_not_fit_is_told_field_by_field_and_nothing_runs() -> None:
    calls: list[Any] = []
    tool = schema_tool("book", FLIGHT, calls.append)
    text = refused(tool, {"from": "R", "seats": [{"row": 1}, {"row": "x"}], "class": "first", "to": "x"})
    lines = [line.removeprefix("- ") for line in text.splitlines()[1:]]
    assert len(lines) == 4
    for expected in ("from: 'R' is too short", "seats.1.row: 'x' is not of type 'integer'", "class: 'first' is not one of"):
        assert any(line.startswith(expected) for line in lines), expected
    assert any("'to' was unexpected" in line for line in lines)
    assert "'from' is a required property" in refused(tool, "{}")
    assert "Invalid JSON" in refused(tool, '{"from"')
    assert "must be an object, not [1]" in refused(tool, "[1]")
    assert not calls


async def test_coroutine_functions_are_awaited() -> None:
    async def book(arguments: dict[str, Any]) -> dict[str, Any]:
        return arguments

    tool = schema_tool("book", FLIGHT, book)
    assert inspect.iscoroutinefunction(tool.run)
    result: Any = tool.run('{"from": "Rome"}', ToolContext())
    assert await result == '{"from":"Rome"}'
    wrong: Any = tool.run("{}", ToolContext())
    assert (await wrong).is_error
    later: Any = schema_tool("book", FLIGHT, lambda arguments: book(arguments)).run('{"from": "Rome"}', ToolContext())
    assert await later == '{"from":"Rome"}'


def test_parts_pass_through() -> None:
    output = ToolOutput((Text("a"),), is_error=True)
    assert ran(schema_tool("it", {}, lambda arguments: output)) is output


def test_a_strict_schema_requires_every_field_and_null_leaves_one_out() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": ["integer", "null"]}},
        "required": ["a"],
    }
    tool = schema_tool("it", schema, lambda arguments: arguments, strict=True)
    told = tool.definition.input_schema
    assert (told["required"], told["additionalProperties"]) == (["a", "b", "c"], False)
    assert told["properties"]["b"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert told["properties"]["c"] == {"type": ["integer", "null"]}
    assert ran(tool, {"a": "x", "b": None, "c": None}) == '{"a":"x","c":null}'
    assert "a: None is not of type 'string'" in refused(tool, {"a": None, "b": 1, "c": 1})
    with pytest.raises(InvalidTool, match="free keys"):
        schema_tool("it", {"properties": {"a": {"type": "object", "additionalProperties": True}}}, dict, strict=True)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "array"}, "must be a JSON schema of type object"),
        ("object", "must be a JSON schema of type object"),
        ({"properties": {"a": {"type": "text"}}}, r"wrong at \$\.properties\.a\.type: 'text'"),
        ({"required": "a"}, r"wrong at \$\.required"),
    ],
)
def test_a_schema_that_is_none_is_refused_when_the_tool_is_made(schema: Any, said: str) -> None:
    with pytest.raises(InvalidTool, match=said):
        schema_tool("it", schema, lambda arguments: "")


def test_references_reach_no_further_than_the_schema() -> None:
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        url = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/schema.json"
        tool = schema_tool("it", {"properties": {"a": {"$ref": url}}}, lambda arguments: "")
        with pytest.raises(InvalidTool, match=f"refers to '{url}', which it does not contain"):
            ran(tool, {"a": 1})
        elsewhere.settimeout(0.2)
        with pytest.raises(TimeoutError):
            elsewhere.accept()


def test_names_and_functions_are_checked() -> None:
    with pytest.raises(InvalidTool, match="1 to 64"):
        schema_tool("a b", {}, lambda arguments: "")
    with pytest.raises(InvalidTool, match="must take the arguments as one dict"):
        schema_tool("it", {}, lambda: "")


def test_the_schema_given_is_not_the_one_kept() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    tool = schema_tool("it", schema, lambda arguments: "")
    schema["properties"]["a"]["type"] = "integer"  # type: ignore[index]
    assert tool.definition.input_schema["properties"] == {"a": {"type": "string"}}


@pytest.mark.parametrize("arguments", ["[" * 100_000, '{"inner":' * 600 + "{}" + "}" * 600])
def test_arguments_of_any_depth_are_told_as_wrong(arguments: str) -> None:
    nested = schema_tool("nest", {"type": "object", "properties": {"inner": {"$ref": "#"}}}, lambda given: "ran")
    assert "Correct them" in refused(nested, arguments)
