"""Tools made of typed Python functions: annotations and docstring become the schema, pydantic checks what the model writes."""

from __future__ import annotations

import functools
import inspect
import json
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, overload

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

from .docstrings import read_docstring
from .errors import InvalidTool
from .tool_outputs import output_later, output_of, refusal
from .tool_schemas import accepts_null, checked_name, strict_schema
from .tools import Run, Tool, ToolContext, ToolDefinition, ToolOutput

_MOST_ERRORS = 20
_INPUT_CHARACTERS = 100


@overload
def function_tool(
    fn: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    return_direct: bool = False,
    timeout: float | None = None,
    strict: bool = False,
) -> Tool: ...


@overload
def function_tool(
    *,
    name: str | None = None,
    description: str | None = None,
    return_direct: bool = False,
    timeout: float | None = None,
    strict: bool = False,
) -> Callable[[Callable[..., Any]], Tool]: ...


def function_tool(
    fn: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    return_direct: bool = False,
    timeout: float | None = None,
    strict: bool = False,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """The tool that calls `fn`, a function, method, partial or callable object, which may be a coroutine function.

    The model sees a parameter's annotation (anything that pydantic knows), its default and its description: that of
    `Annotated[..., Field(description=...)]`, or the docstring's. A parameter of type ToolContext is filled in and the model
    does not see it. What it returns goes through `output_of`; what it raises is the loop's business; arguments that do not fit
    are told to the model, field by field, and `fn` is not called.

    `name`: the function's own by default. `description`: by default what its docstring says before the first section.
    `timeout`: seconds of one call, None for no limit. `strict`: see `strict_schema`. Also a decorator, with or without
    arguments. Raises InvalidTool for a function that a model cannot call: parameters without annotation, positional-only, *args
    or **kwargs, types that JSON cannot say, a name that providers refuse.
    """
    if fn is None:
        return functools.partial(
            function_tool, name=name, description=description, return_direct=return_direct, timeout=timeout, strict=strict
        )
    if not callable(fn) or isinstance(fn, type):
        raise InvalidTool(f"a tool is made of a function, not of {fn!r}")
    called = checked_name(_name_of(fn) if name is None else name)
    plain = _underneath(fn)
    if inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain):
        raise InvalidTool(f"the tool {called!r} is a generator; a tool returns its result at once")
    doc = read_docstring(inspect.getdoc(plain if not hasattr(fn, "__name__") else fn))
    shape = _Arguments.of(called, fn, doc.parameters)
    schema = strict_schema(called, shape.schema) if strict else shape.schema
    definition = ToolDefinition(called, doc.description if description is None else description, schema, strict)
    return Tool(definition, _running(fn, shape, strict=strict), return_direct, timeout)


def runs_async(run: Callable[..., Any]) -> bool:
    """Whether calling it gives what has to be awaited."""
    return inspect.iscoroutinefunction(_underneath(run))


@dataclass(frozen=True, slots=True)
class _Arguments:
    """What the model may give to one function. `names`: the parameter of each field of `model`; `always`: those that have to be
    passed even if the model did not give them; `contexts`: the parameters that get the ToolContext."""

    tool: str
    model: type[BaseModel]
    schema: dict[str, Any]
    names: Mapping[str, str]
    always: frozenset[str]
    contexts: tuple[str, ...]

    @classmethod
    def of(cls, tool: str, fn: Callable[..., Any], descriptions: Mapping[str, str]) -> _Arguments:
        fields: dict[str, Any] = {}
        names: dict[str, str] = {}
        always: set[str] = set()
        contexts: list[str] = []
        for parameter, hint in _parameters(tool, fn):
            if _is_context(hint):
                contexts.append(parameter.name)
                continue
            place = f"p{len(fields)}"  # a parameter may have any name, a field of a model may not
            names[place] = parameter.name
            fields[place] = _field(parameter, hint, descriptions.get(parameter.name))
            if parameter.default is parameter.empty or isinstance(parameter.default, FieldInfo):
                always.add(place)
        model = _model(tool, fields, names)
        schema = model.model_json_schema(schema_generator=_Schema)
        return cls(tool, model, _without_titles(schema), names, frozenset(always), tuple(contexts))

    def read(self, arguments: str, *, strict: bool) -> dict[str, Any]:
        """The function's arguments. Raises ValidationError."""
        if strict:
            arguments = self._without_nulls(arguments)
        read = self.model.model_validate_json(arguments)
        given = read.model_fields_set | self.always
        return {name: getattr(read, place) for place, name in self.names.items() if place in given}

    def _without_nulls(self, arguments: str) -> str:
        """In strict mode the model writes null for a parameter that it wants to leave out."""
        try:
            given = json.loads(arguments)
        except ValueError:
            return arguments
        if not isinstance(given, dict):
            return arguments
        properties, required = self.schema["properties"], self.schema.get("required", ())
        left_out = {
            name
            for name, value in given.items()
            if value is None and name in properties and name not in required and not accepts_null(properties[name], self.schema)
        }
        return json.dumps({name: value for name, value in given.items() if name not in left_out})


class _Schema(GenerateJsonSchema):
    """Without the titles that only repeat names. A default that JSON cannot say is the function's own business."""

    ignored_warning_kinds: set[JsonSchemaWarningKind] = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _running(fn: Callable[..., Any], shape: _Arguments, *, strict: bool) -> Run:
    def bound(arguments: str, context: ToolContext) -> dict[str, Any]:
        return {**shape.read(arguments, strict=strict), **dict.fromkeys(shape.contexts, context)}

    async def run_async(arguments: str, context: ToolContext) -> str | ToolOutput:
        try:
            given = bound(arguments, context)
        except ValidationError as error:
            return _refused(shape.tool, error)
        return output_of(await fn(**given))

    def run(arguments: str, context: ToolContext) -> Any:
        try:
            given = bound(arguments, context)
        except ValidationError as error:
            return _refused(shape.tool, error)
        result = fn(**given)
        return output_later(result) if inspect.isawaitable(result) else output_of(result)

    return run_async if runs_async(fn) else run


def _parameters(tool: str, fn: Callable[..., Any]) -> list[tuple[inspect.Parameter, Any]]:
    """Those that are open, each with its annotation."""
    try:
        hints = typing.get_type_hints(_underneath(fn), include_extras=True)
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
    """The field of a parameter, as `create_model` takes it. A plain text in Annotated is its description."""
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
    """Why pydantic has no schema for a type; empty if it has one."""
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


def _refused(tool: str, error: ValidationError) -> ToolOutput:
    lines = []
    for each in error.errors(include_url=False, include_context=False)[:_MOST_ERRORS]:
        where = ".".join(str(step) for step in each["loc"])
        given = "" if each["type"] in {"missing", "json_invalid"} else f" (given: {_shown(each['input'])})"
        lines.append(f"- {where}: {each['msg']}{given}" if where else f"- {each['msg']}{given}")
    return refusal(f"The arguments of {tool} are not valid. Correct them and call it again.\n" + "\n".join(lines))


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= _INPUT_CHARACTERS else text[:_INPUT_CHARACTERS] + "..."


def _underneath(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function whose annotations count."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    if inspect.isroutine(fn):
        return fn
    return type(fn).__call__


def _name_of(fn: Callable[..., Any]) -> str:
    while isinstance(fn, functools.partial):
        fn = fn.func
    return getattr(fn, "__name__", "") or type(fn).__name__
