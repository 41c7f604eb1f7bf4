"""Parameters of a Python function as a pydantic model."""

from __future__ import annotations

import functools
import inspect
import json
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

from ..errors import InvalidTool
from .schemas import without_nulls
from .tool import ToolContext


@dataclass(frozen=True, slots=True)
class Arguments:
    """The parameters of one function. `names`: the parameter of each field of `model`; `always`: fields that are passed even
    if the model omitted them; `contexts`: the parameters of type ToolContext."""

    tool: str
    model: type[BaseModel]
    schema: dict[str, Any]
    names: Mapping[str, str]
    always: frozenset[str]
    contexts: tuple[str, ...]

    @classmethod
    def of(cls, tool: str, fn: Callable[..., Any], descriptions: Mapping[str, str]) -> Arguments:
        fields: dict[str, Any] = {}
        names: dict[str, str] = {}
        always: set[str] = set()
        contexts: list[str] = []
        for parameter, hint in _parameters(tool, fn):
            if _is_context(hint):
                contexts.append(parameter.name)
                continue
            place = f"p{len(fields)}"  # a field of a model cannot have every name
            names[place] = parameter.name
            fields[place] = _field(parameter, hint, descriptions.get(parameter.name))
            if parameter.default is parameter.empty or isinstance(parameter.default, FieldInfo):
                always.add(place)
        model = _model(tool, fields, names)
        schema = model.model_json_schema(schema_generator=_Schema)
        return cls(tool, model, _without_titles(schema), names, frozenset(always), tuple(contexts))

    def read(self, arguments: str, *, strict: bool) -> dict[str, Any]:
        """Returns the function's arguments. Raises ValidationError."""
        if strict:
            arguments = self._without_nulls(arguments)
        read = self.model.model_validate_json(arguments)
        given = read.model_fields_set | self.always
        return {name: getattr(read, place) for place, name in self.names.items() if place in given}

    def _without_nulls(self, arguments: str) -> str:
        """Removes nulls: in strict mode the model writes null for a parameter that it omits."""
        try:
            given = json.loads(arguments)
        except ValueError:
            return arguments
        return json.dumps(without_nulls(given, self.schema)) if isinstance(given, dict) else arguments


class _Schema(GenerateJsonSchema):
    """Omits titles that repeat names. Defaults that JSON cannot represent are ignored."""

    ignored_warning_kinds: set[JsonSchemaWarningKind] = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _parameters(tool: str, fn: Callable[..., Any]) -> list[tuple[inspect.Parameter, Any]]:
    """Returns the unbound parameters with their annotations."""
    try:
        hints = typing.get_type_hints(underneath(fn), include_extras=True)
    except (NameError, TypeError) as error:
        raise InvalidTool(f"the tool {tool!r}: an annotation cannot be resolved ({error}); its type must be global") from error
    bound = fn.keywords if isinstance(fn, functools.partial) else {}
    found = []
    for parameter in inspect.signature(fn).parameters.values():
        if parameter.name in bound:
            continue
        if why := _refused_kinds.get(parameter.kind):
            raise InvalidTool(f"the tool {tool!r}: the parameter {str(parameter).split(':')[0]!r} {why}")
        if parameter.name not in hints:
            raise InvalidTool(f"the tool {tool!r}: the parameter {parameter.name!r} has no annotation")
        found.append((parameter, hints[parameter.name]))
    return found


_refused_kinds: Mapping[Any, str] = {
    inspect.Parameter.POSITIONAL_ONLY: "is positional-only, but a model names its arguments; take the / away",
    inspect.Parameter.VAR_POSITIONAL: "takes any number of values; use one parameter that is a list",
    inspect.Parameter.VAR_KEYWORD: "takes any names; name each parameter, or use one that is a dict",
}


def _is_context(hint: Any) -> bool:
    if typing.get_origin(hint) is Annotated:
        hint = typing.get_args(hint)[0]
    return hint is ToolContext or (ToolContext in typing.get_args(hint) and typing.get_origin(hint) in {Union, UnionType})


def _field(parameter: inspect.Parameter, hint: Any, described: str | None) -> tuple[Any, Any]:
    """Returns the field of a parameter for `create_model`. A plain string in Annotated is its description."""
    about = FieldInfo.from_annotation(hint)
    default = parameter.default
    if isinstance(default, FieldInfo):
        about = FieldInfo.from_annotated_attribute(hint, default)
        default = about.default if about.default_factory is None else parameter.empty
    texts = (each for each in typing.get_args(hint)[1:] if isinstance(each, str)) if hasattr(hint, "__metadata__") else ()
    said = about.description or next(iter(texts), None) or described
    settings: dict[str, Any] = {"alias": about.alias or parameter.name, "description": said}
    if isinstance(parameter.default, FieldInfo):
        hint = Annotated[hint, parameter.default]
    if default is not parameter.empty:
        settings["default"] = default
    return hint, Field(**settings)


def _model(tool: str, fields: dict[str, Any], names: Mapping[str, str]) -> type[BaseModel]:
    try:
        model: type[BaseModel] = create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)
        model.model_json_schema(schema_generator=_Schema)
    except (PydanticUserError, TypeError, ValueError) as error:
        failures = ((names[place], said) for place in fields if (said := _cannot_say(fields[place][0])))
        name, why = next(failures, ("", str(error)))
        of = f"the parameter {name!r}" if name else "its parameters"
        raise InvalidTool(f"the tool {tool!r}: {of} cannot be described to a model: {why.splitlines()[0]}") from error
    return model


def _cannot_say(hint: Any) -> str:
    """Returns why pydantic has no schema for a type; empty if it has one."""
    try:
        TypeAdapter(hint).json_schema(schema_generator=_Schema)
    except (PydanticUserError, TypeError, ValueError) as error:
        return str(error)
    return ""


def _without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    schema.pop("title", None)
    for name, each in schema.get("$defs", {}).items():
        if each.get("title") == name:
            del each["title"]
    return schema if "properties" in schema else schema | {"properties": {}}


def underneath(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function that has the annotations."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    if inspect.isroutine(fn):
        return fn
    return type(fn).__call__
