"""Strict schemas: the JSON schema that providers with strict mode accept, and how a model omits a parameter."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from threadkeep.chat import InvalidTool, function_tool

from ..tools.test_function_tools import Node, Place, ran, refused


def strictly(schema: Any) -> None:
    """Asserts the requirements of OpenAI's strict mode for a schema and all schemas in it."""
    if isinstance(schema, dict):
        assert not schema.keys() & {"default", "oneOf", "allOf", "title", "minLength", "discriminator", "uniqueItems"}, schema
        assert "$ref" not in schema or schema.keys() == {"$ref"}
        if schema.get("type") == "object":
            assert schema["additionalProperties"] is False
            assert schema["required"] == list(schema["properties"])
        for key, each in schema.items():
            for inner in each.values() if key in {"properties", "$defs"} else [each]:
                strictly(inner)
    elif isinstance(schema, list):
        for each in schema:
            strictly(each)


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: Annotated[int, Field(le=9)] = 9


class Dog(BaseModel):
    kind: Literal["dog"]


def test_strict_schema_requires_every_field_and_no_other() -> None:
    @function_tool(strict=True)
    def adopt(
        name: Annotated[str, Field(min_length=1)],
        pet: Annotated[Cat | Dog, Field(discriminator="kind", description="Which.")],
        place: Annotated[Place, Field(description="Where.")],
        tree: Node | None = None,
        mixed: Literal["a", 1] = 1,
        tags: set[str] | None = None,
        limit: int = 5,
    ) -> str:
        return f"{name} {type(pet).__name__} {tree} {mixed} {tags} {limit}"

    schema = adopt.definition.input_schema
    assert adopt.definition.strict
    strictly(schema)
    assert schema["required"] == ["name", "pet", "place", "tree", "mixed", "tags", "limit"]
    assert schema["properties"]["limit"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert schema["properties"]["place"] == {"anyOf": [{"$ref": "#/$defs/Place"}], "description": "Where."}
    assert schema["properties"]["pet"]["description"] == "Which."
    assert schema["$defs"]["Cat"]["required"] == ["kind", "lives"]
    given = {"name": "Tom", "pet": {"kind": "cat", "lives": 9}, "place": {"city": "Rome", "zip": None}}
    nulls = dict.fromkeys(["tree", "mixed", "tags", "limit"])
    assert ran(adopt, {**given, **nulls}) == "Tom Cat None 1 None 5", "null omits a parameter"
    assert "name" in refused(adopt, {**given, **nulls, "name": None}), "a required parameter may not be null"
    assert "Invalid JSON" in refused(adopt, "{")
    assert "object" in refused(adopt, "[]")


def bad_strict_table(a: dict[str, int]) -> None: ...
def bad_strict_any(a: Any) -> None: ...
def bad_strict_pair(a: list[tuple[int, str]]) -> None: ...
def bad_strict_dict(a: dict) -> None: ...  # type: ignore[type-arg]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (bad_strict_table, "a is a mapping with free keys"),
        (bad_strict_any, "a is any value"),
        (bad_strict_pair, r"a\[\] is a tuple"),
        (bad_strict_dict, "a is a mapping with free keys"),
    ],
)
def test_strict_tool_with_unsupported_type_is_rejected(function: Any, said: str) -> None:
    function_tool(function)
    with pytest.raises(InvalidTool, match=f"cannot be strict: {said}"):
        function_tool(function, strict=True)
