"""Declarations of tools and validation of their arguments: the required part of JSON Schema."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

MOST_ARGUMENT_BYTES = 256 << 10
_LAST_PAGE = 1_000_000
_LONGEST_NAME = 100
# JSON allows lone surrogates, databases and messages do not.
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class WrongArguments(Exception):
    """Invalid arguments; the message for the model names the argument and the valid values."""


@dataclass(frozen=True, slots=True)
class Text:
    """A string; `choices` empty: any, of at most `most` characters."""

    about: str
    required: bool = False
    choices: Sequence[str] = ()
    default: str | None = None
    most: int = 1024

    def schema(self) -> dict[str, Any]:
        bounds: dict[str, Any] = {"enum": list(self.choices)} if self.choices else {"maxLength": self.most}
        return {"type": "string", "description": self.about, **bounds, **_default(self.default)}

    def read(self, name: str, value: object) -> str:
        if not isinstance(value, str):
            raise WrongArguments(f"{name} must be a string")
        if self.choices and value not in self.choices:
            raise WrongArguments(f"{name} must be one of {', '.join(self.choices)}")
        if not self.choices and len(value) > self.most:
            raise WrongArguments(f"{name} must have at most {self.most} characters")
        if _LONE_SURROGATE.search(value):
            raise WrongArguments(f"{name} must be text that has a UTF-8 form")
        return value


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number from `least` to `most`."""

    about: str
    default: int
    least: int
    most: int
    required: bool = False

    def schema(self) -> dict[str, Any]:
        bounds = {"minimum": self.least, "maximum": self.most}
        return {"type": "integer", "description": self.about, **bounds, "default": self.default}

    def read(self, name: str, value: object) -> int:
        number = _whole(value)
        if number is None or not self.least <= number <= self.most:
            raise WrongArguments(f"{name} must be an integer from {self.least} to {self.most}")
        return number


@dataclass(frozen=True, slots=True)
class PageNumber:
    """A page number from 0; negative numbers are 0."""

    about: str
    default: int = 0
    required: bool = False

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "description": self.about, "minimum": 0, "default": self.default}

    def read(self, name: str, value: object) -> int:
        number = _whole(value)
        if number is None:
            raise WrongArguments(f"{name} must be an integer from 0 on")
        return min(max(number, 0), _LAST_PAGE)


@dataclass(frozen=True, slots=True)
class Flag:
    about: str
    default: bool = False
    required: bool = False

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean", "description": self.about, "default": self.default}

    def read(self, name: str, value: object) -> bool:
        if not isinstance(value, bool):
            raise WrongArguments(f"{name} must be true or false")
        return value


@dataclass(frozen=True, slots=True)
class Ignored:
    """A string that a model may send and that is ignored."""

    about: str
    default: str = ""
    required: bool = False

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "description": self.about, "default": self.default}

    def read(self, name: str, value: object) -> str:
        return self.default


Parameters = Mapping[str, Text | Number | PageNumber | Flag | Ignored]


class Declared(NamedTuple):
    """A tool's name, description and parameters. `declared` False: for the agent's own code, not for a model."""

    name: str
    description: str
    parameters: Parameters
    declared: bool = True

    def schema(self) -> str:
        """JSON Schema of the arguments."""
        return json.dumps(
            {
                "type": "object",
                "properties": {name: parameter.schema() for name, parameter in self.parameters.items()},
                "required": [name for name, parameter in self.parameters.items() if parameter.required],
                "additionalProperties": False,
            },
            ensure_ascii=False,
        )

    def arguments(self, text: str) -> dict[str, Any]:
        """Returns the validated arguments with the defaults of missing ones (None without a default). Raises
        WrongArguments."""
        given = _object(text)
        unknown = [name for name in given if name not in self.parameters]
        if unknown:
            raise WrongArguments(f"there is no argument {unknown[0][:_LONGEST_NAME]!r}; there are {', '.join(self.parameters)}")
        values: dict[str, Any] = {}
        for name, parameter in self.parameters.items():
            if given.get(name) is not None:  # many models send null for missing arguments
                values[name] = parameter.read(name, given[name])
            elif parameter.required:
                raise WrongArguments(f"{name} is required")
            else:
                values[name] = parameter.default
        return values


def _object(text: str) -> dict[str, Any]:
    if len(text.encode()) > MOST_ARGUMENT_BYTES:
        raise WrongArguments(f"arguments must have at most {MOST_ARGUMENT_BYTES} bytes")
    try:
        given = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        raise WrongArguments("arguments must be JSON") from None
    if not isinstance(given, dict):
        raise WrongArguments("arguments must be a JSON object")
    return given


def _whole(value: object) -> int | None:
    """Returns an integer, also of 5.0, which some models send."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _default(value: str | None) -> dict[str, str]:
    return {} if value is None else {"default": value}
