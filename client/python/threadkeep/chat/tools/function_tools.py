"""Tools from typed Python functions: annotations and docstring become the schema; pydantic validates arguments."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from typing import Any, overload

from pydantic import ValidationError

from ..errors import InvalidTool
from .arguments import Arguments, underneath
from .docstrings import read_docstring
from .outputs import output_later, output_of, refusal
from .schemas import checked_name, strict_schema
from .tool import Run, Tool, ToolContext, ToolDefinition, ToolOutput

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
    """Returns a tool that calls `fn`: a function, method, partial or callable object, which may be a coroutine function.

    The model sees each parameter's annotation (any type that pydantic supports), default and description, from `Annotated[...,
    Field(description=...)]` or the docstring. A parameter of type ToolContext is filled in and hidden from the model. The
    result is converted by `output_of`. For invalid arguments the model receives one line per field, and `fn` is not called.

    `name`: default the function's. `description`: default the docstring without its sections. `timeout`: seconds of one call,
    None for no limit. `strict`: see `strict_schema`. Also a decorator, with or without arguments. Raises InvalidTool for
    parameters without annotation, positional-only parameters, *args, **kwargs, types without a JSON schema, and invalid names.
    """
    if fn is None:
        return functools.partial(
            function_tool, name=name, description=description, return_direct=return_direct, timeout=timeout, strict=strict
        )
    if not callable(fn) or isinstance(fn, type):
        raise InvalidTool(f"a tool is made of a function, not of {fn!r}")
    called = checked_name(_name_of(fn) if name is None else name)
    plain = underneath(fn)
    if inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain):
        raise InvalidTool(f"the tool {called!r} is a generator; a tool returns its result at once")
    doc = read_docstring(inspect.getdoc(plain if not hasattr(fn, "__name__") else fn))
    shape = Arguments.of(called, fn, doc.parameters)
    schema = strict_schema(called, shape.schema) if strict else shape.schema
    definition = ToolDefinition(called, doc.description if description is None else description, schema, strict)
    return Tool(definition, _running(fn, shape, strict=strict), return_direct, timeout)


def runs_async(run: Callable[..., Any]) -> bool:
    """Returns whether a call returns an awaitable."""
    return inspect.iscoroutinefunction(underneath(run))


def _running(fn: Callable[..., Any], shape: Arguments, *, strict: bool) -> Run:
    def bound(arguments: str, context: ToolContext) -> dict[str, Any]:
        return {**shape.read(arguments, strict=strict), **dict.fromkeys(shape.contexts, context)}

    async def run_async(arguments: str, context: ToolContext) -> str | ToolOutput:
        try:
            values = bound(arguments, context)
        except ValidationError as error:
            return _refused(shape.tool, error)
        return output_of(await fn(**values))

    def run(arguments: str, context: ToolContext) -> Any:
        try:
            values = bound(arguments, context)
        except ValidationError as error:
            return _refused(shape.tool, error)
        result = fn(**values)
        return output_later(result) if inspect.isawaitable(result) else output_of(result)

    return run_async if runs_async(fn) else run


def _refused(tool: str, error: ValidationError) -> ToolOutput:
    lines = []
    for each in error.errors(include_url=False, include_context=False)[:_MOST_ERRORS]:
        where = ".".join(str(step) for step in each["loc"])
        values = "" if each["type"] in {"missing", "json_invalid"} else f" (given: {_shown(each['input'])})"
        lines.append(f"- {where}: {each['msg']}{values}" if where else f"- {each['msg']}{values}")
    return refusal(f"The arguments of {tool} are not valid. Correct them and call it again.\n" + "\n".join(lines))


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= _INPUT_CHARACTERS else text[:_INPUT_CHARACTERS] + "..."


def _name_of(fn: Callable[..., Any]) -> str:
    while isinstance(fn, functools.partial):
        fn = fn.func
    return getattr(fn, "__name__", "") or type(fn).__name__
