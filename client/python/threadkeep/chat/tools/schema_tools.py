"""Tools from a JSON schema and a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from ..errors import InvalidTool
from .function_tools import runs_async
from .outputs import output_later, output_of
from .schemas import checked_name, checked_object, strict_schema
from .tool import Run, Tool, ToolContext, ToolDefinition, ToolOutput

if TYPE_CHECKING:
    from .schema_checks import Shape


def schema_tool(
    name: str,
    input_schema: Mapping[str, Any],
    run: Callable[..., Any],
    *,
    description: str = "",
    return_direct: bool = False,
    timeout: float | None = None,
    strict: bool = False,
) -> Tool:
    """Returns a tool that calls `run(arguments)`, or `run(arguments, context)` if it has two parameters. `arguments` is a
    dict.

    `input_schema`: JSON schema (2020-12) of an object. For invalid arguments the model receives one line per field, and `run`
    is not called. `run` may be a coroutine function; its result is converted by `output_of`. References outside of the schema
    are not resolved; formats are not checked. `timeout`: seconds of one call, None for no limit. `strict`: see
    `strict_schema`. Raises InvalidTool for an invalid schema or name.
    """
    called = checked_name(name)
    schema = checked_object(called, input_schema)
    from .schema_checks import Shape  # its dependencies are slow to load

    shape = Shape(called, schema, strict=strict)
    definition = ToolDefinition(called, description, strict_schema(called, schema) if strict else schema, strict)
    return Tool(definition, _running(run, shape, _takes_context(called, run)), return_direct, timeout)


def _running(fn: Callable[..., Any], shape: Shape, takes_context: bool) -> Run:
    async def run_async(arguments: str, context: ToolContext) -> str | ToolOutput:
        values = shape.read(arguments)
        if isinstance(values, ToolOutput):
            return values
        return output_of(await fn(values, *([context] if takes_context else [])))

    def run(arguments: str, context: ToolContext) -> Any:
        values = shape.read(arguments)
        if isinstance(values, ToolOutput):
            return values
        result = fn(values, *([context] if takes_context else []))
        return output_later(result) if inspect.isawaitable(result) else output_of(result)

    return run_async if runs_async(fn) else cast("Run", run)


def _takes_context(tool: str, run: Callable[..., Any]) -> bool:
    for values in ((None, None), (None,)):
        try:
            inspect.signature(run).bind(*values)
        except (TypeError, ValueError):
            continue
        return len(values) == 2
    raise InvalidTool(f"the tool {tool!r}: its function must take the arguments as one dict, and may take a context")
