"""JSON schemas of tools: names that providers accept, and the schemas of strict mode."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import InvalidTool

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MAPS = ("properties", "$defs", "definitions")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_ONES = ("items", "additionalProperties")

# From OpenAI's documentation of structured outputs: keywords of strict mode. The kit itself checks other limits.
_STRICT = {"type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const", "description", "$ref"}
_STRICT |= {"$defs", "definitions", "pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum"}
_STRICT |= {"exclusiveMaximum", "minItems", "maxItems"}
_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
_REFUSED = {
    "allOf": "allOf",
    "dependentRequired": "fields that depend on others",
    "dependentSchemas": "fields that depend on others",
    "if": "conditions",
    "not": "not",
    "patternProperties": "keys by a pattern",
    "prefixItems": "a tuple of fixed places",
}
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def checked_name(name: str) -> str:
    """Returns the name. Raises InvalidTool unless it is 1 to 64 of a-z, A-Z, 0-9, _ and -, which every provider accepts."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidTool(f"{name!r} cannot be a tool's name: it must be 1 to 64 of the characters a-z, A-Z, 0-9, _ and -")
    return name


def checked_object(tool: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a copy of a tool's schema. Raises InvalidTool if it does not describe an object."""
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        raise InvalidTool(f"the tool {tool!r}: its schema must be a JSON schema of type object")
    copied: dict[str, Any] = _copied(schema)
    return {"type": "object", "properties": {}} | copied


def strict_schema(tool: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the schema for OpenAI's strict mode: every field is required, and no other fields are permitted.

    An optional parameter may be null instead; a field of a nested object that has a default is required. Unsupported keywords
    that only narrow values (lengths, other formats) are removed. Raises InvalidTool for anything that strict mode cannot
    express: a mapping with free keys, any value, a tuple.
    """
    checked = checked_object(tool, schema)
    optional = checked["properties"].keys() - set(checked.get("required", ()))
    strict = _strict(tool, "", checked)
    for name in optional & strict["properties"].keys():
        strict["properties"][name] = _nullable(strict["properties"][name], strict)
    return strict


def without_nulls(checked: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments without the nulls of strict mode, for parameters that `schema`, the original, neither requires nor
    permits as null."""
    optional = schema["properties"].keys() - set(schema.get("required", ()))
    return {
        name: value
        for name, value in checked.items()
        if value is not None or name not in optional or accepts_null(schema["properties"][name], schema)
    }


def accepts_null(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> bool:
    """Returns whether the schema accepts null."""
    schema = resolved(schema, whole)
    kinds = schema.get("type", [])
    if "null" in ([kinds] if isinstance(kinds, str) else kinds) or None in schema.get("enum", ()):
        return True
    if "const" in schema:
        return schema["const"] is None
    branches = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return any(accepts_null(each, whole) for each in branches) or not (kinds or branches or "enum" in schema)


def resolved(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """Resolves references within the schema and merges the keywords next to them. Raises InvalidTool for other references."""
    for _ in range(32):
        if "$ref" not in schema:
            return schema
        schema = {**_target(schema["$ref"], whole), **{key: value for key, value in schema.items() if key != "$ref"}}
    raise InvalidTool("a schema's references never end")


def _target(reference: str, whole: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Any = whole
    for step in reference.removeprefix("#").strip("/").split("/") if reference != "#" else ():
        key = step.replace("~1", "/").replace("~0", "~")
        if not reference.startswith("#/") or not isinstance(found, Mapping) or key not in found:
            raise InvalidTool(f"a schema refers to {reference!r}, which it does not contain")
        found = found[key]
    return found  # type: ignore[no-any-return]


def subschemas(schema: Mapping[str, Any]) -> Iterator[tuple[str, str | int, Mapping[str, Any]]]:
    """Yields the direct subschemas: the keyword, the key or index in it, and the schema."""
    for keyword in _MAPS:
        for key, each in schema.get(keyword, {}).items():
            yield keyword, key, each
    for keyword in _LISTS:
        for place, each in enumerate(schema.get(keyword, ())):
            yield keyword, place, each
    for keyword in _ONES:
        if isinstance(schema.get(keyword), Mapping):
            yield keyword, "", schema[keyword]


def _strict(tool: str, path: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in schema and len(schema) > 1:  # a reference has no other keywords
        about = {key: value for key, value in schema.items() if key in {"description", "$defs", "definitions"}}
        schema = {"anyOf": [{"$ref": schema["$ref"]}], **about}
    schema = _known(tool, path, schema)
    result = {key: value for key, value in schema.items() if key in _STRICT}
    for keyword, key, each in subschemas(result):
        inner = _strict(tool, _path(path, keyword, key), each)
        if keyword in _ONES:
            result[keyword] = inner
        else:
            result[keyword] = result[keyword].copy()
            result[keyword][key] = inner
    if result.get("type") == "object":
        result["properties"] = result.get("properties", {})
        result["required"] = list(result["properties"])
        result["additionalProperties"] = False
    return result


def _known(tool: str, path: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the schema with the keywords of strict mode. Raises InvalidTool for anything that it cannot express."""
    known = dict(schema)
    if "oneOf" in known:  # a tagged union: the tag distinguishes its branches
        known["anyOf"] = known.pop("oneOf")
    why = next((said for keyword, said in _REFUSED.items() if keyword in known), "")
    if known.get("additionalProperties", False) is not False:
        why = "a mapping with free keys"
    elif known.get("type") == "object" and "properties" not in known and path:
        why = "an object without named fields"
    if "enum" in known and "type" not in known:
        known["type"] = sorted({_TYPES[type(value)] for value in known["enum"] if type(value) in _TYPES})
    if not known.keys() & {"type", "anyOf", "$ref", "const"}:
        why = why or "any value"
    if why:
        raise InvalidTool(
            f"the tool {tool!r} cannot be strict: {path or 'its schema'} is {why}, which strict mode cannot express"
        )
    if known.get("format") not in _FORMATS:
        known.pop("format", None)
    if "(?" in known.get("pattern", ""):
        del known["pattern"]
    return known


def _nullable(schema: dict[str, Any], whole: Mapping[str, Any]) -> dict[str, Any]:
    if accepts_null(schema, whole):
        return schema
    about = {"description": schema.pop("description")} if "description" in schema else {}
    branches = schema["anyOf"] if schema.keys() == {"anyOf"} else [schema]
    return {"anyOf": [*branches, {"type": "null"}], **about}


def _path(path: str, keyword: str, key: str | int) -> str:
    if keyword == "properties":
        return f"{path}.{key}" if path else str(key)
    if keyword in {"$defs", "definitions"}:
        return str(key)
    return f"{path}[]" if keyword == "items" else path


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(each) for key, each in value.items()}
    return [_copied(each) for each in value] if isinstance(value, list | tuple) else value
