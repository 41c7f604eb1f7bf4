"""Validation of arguments against a JSON schema."""

from __future__ import annotations

import json
from typing import Any

from jsonschema import Draft202012Validator, SchemaError, ValidationError  # type: ignore[import-untyped]
from jsonschema.exceptions import relevance  # type: ignore[import-untyped]
from referencing import Registry
from referencing.exceptions import Unresolvable

from ..errors import InvalidTool
from .outputs import refusal
from .schemas import without_nulls
from .tool import ToolOutput

_MOST_ERRORS = 20


class Shape:
    """The schema of a tool's arguments."""

    def __init__(self, tool: str, schema: dict[str, Any], *, strict: bool) -> None:
        """Raises InvalidTool for an invalid schema."""
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            raise InvalidTool(f"the tool {tool!r}: its schema is wrong at {error.json_path}: {error.message}") from error
        self._tool, self._schema, self._strict = tool, schema, strict
        self._validator = Draft202012Validator(schema, registry=Registry())

    def read(self, text: str) -> dict[str, Any] | ToolOutput:
        """Returns the arguments, or their errors for the model."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            return self._refused([f"Invalid JSON: {error}"])
        if not isinstance(values, dict):
            return self._refused([f"they must be an object, not {json.dumps(values)[:100]}"])
        if self._strict:
            values = without_nulls(values, self._schema)
        try:
            wrong = sorted(self._validator.iter_errors(values), key=relevance, reverse=True)
        except Unresolvable as error:
            raise InvalidTool(
                f"the tool {self._tool!r}: its schema refers to {error.ref!r}, which it does not contain"
            ) from error
        except RecursionError:
            return self._refused(["they are nested too deeply"])
        return self._refused([_said(each) for each in wrong[:_MOST_ERRORS]]) if wrong else values

    def _refused(self, wrong: list[str]) -> ToolOutput:
        lines = "\n".join(f"- {each}" for each in wrong)
        return refusal(f"The arguments of {self._tool} are not valid. Correct them and call it again.\n{lines}")


def _said(error: ValidationError) -> str:
    where = ".".join(str(step) for step in error.absolute_path)
    message = error.message if len(error.message) <= 300 else error.message[:300] + "..."
    return f"{where}: {message}" if where else message
