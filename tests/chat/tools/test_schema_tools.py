"""Tools from a JSON schema: validation, execution and results."""

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


def test_function_receives_arguments_as_dict_and_optional_context() -> None:
    plain = schema_tool("book", FLIGHT, lambda arguments: arguments, description="Books.")
    assert (plain.name, plain.definition.description, plain.definition.input_schema) == ("book", "Books.", FLIGHT)
    assert json.loads(ran(plain, {"from": "Rome", "seats": [{"row": 1}]})) == {"from": "Rome", "seats": [{"row": 1}]}
    direct = schema_tool("who", {}, lambda arguments, context: context.values["user_id"], return_direct=True, timeout=2)
    assert (direct.return_direct, direct.timeout) == (True, 2)
    assert direct.definition.input_schema == {"type": "object", "properties": {}}
    assert ran(direct, "{}", ToolContext({"user_id": "alice"})) == "alice"


def test_invalid_arguments_are_reported_by_field_without_running() -> None:
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


def test_tool_output_is_returned_unchanged() -> None:
    output = ToolOutput((Text("a"),), is_error=True)
    assert ran(schema_tool("it", {}, lambda arguments: output)) is output


def test_strict_schema_requires_every_field_and_null_omits_one() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": ["integer", "null"]}},
        "required": ["a"],
    }
    tool = schema_tool("it", schema, lambda arguments: arguments, strict=True)
    strict = tool.definition.input_schema
    assert (strict["required"], strict["additionalProperties"]) == (["a", "b", "c"], False)
    assert strict["properties"]["b"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert strict["properties"]["c"] == {"type": ["integer", "null"]}
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
def test_invalid_schema_is_rejected_at_construction(schema: Any, said: str) -> None:
    with pytest.raises(InvalidTool, match=said):
        schema_tool("it", schema, lambda arguments: "")


def test_external_schema_reference_is_rejected_without_network_access() -> None:
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        url = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/schema.json"
        tool = schema_tool("it", {"properties": {"a": {"$ref": url}}}, lambda arguments: "")
        with pytest.raises(InvalidTool, match=f"refers to '{url}', which it does not contain"):
            ran(tool, {"a": 1})
        elsewhere.settimeout(0.2)
        with pytest.raises(TimeoutError):
            elsewhere.accept()


def test_invalid_name_or_signature_is_rejected() -> None:
    with pytest.raises(InvalidTool, match="1 to 64"):
        schema_tool("a b", {}, lambda arguments: "")
    with pytest.raises(InvalidTool, match="must take the arguments as one dict"):
        schema_tool("it", {}, lambda: "")


def test_tool_copies_its_schema() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    tool = schema_tool("it", schema, lambda arguments: "")
    schema["properties"]["a"]["type"] = "integer"  # type: ignore[index]
    assert tool.definition.input_schema["properties"] == {"a": {"type": "string"}}


@pytest.mark.parametrize("arguments", ["[" * 100_000, '{"inner":' * 600 + "{}" + "}" * 600])
def test_deeply_nested_arguments_return_an_error(arguments: str) -> None:
    nested = schema_tool("nest", {"type": "object", "properties": {"inner": {"$ref": "#"}}}, lambda given: "ran")
    assert "Correct them" in refused(nested, arguments)
