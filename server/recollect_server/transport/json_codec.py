"""Between JSON and protobuf messages, with faults told by field."""

from __future__ import annotations

import re
from typing import TypeVar

from google.protobuf import json_format
from google.protobuf.message import Message

from ..domain.errors import InvalidField

M = TypeVar("M", bound=Message)

_BODY = "body"
_LONGEST_PROBLEM = 300
_IN_FIELD = re.compile(r"Failed to parse (\w+) field: ")
_UNKNOWN = re.compile(r'has no field named "(.*?)" at ".*?"\.\s*Available Fields\(except extensions\): "\[(.*?)\]"', re.DOTALL)
_ONEOF = re.compile(r'should not have multiple "(\w+)" oneof fields')


def to_json(message: Message) -> bytes:
    """Canonical protobuf JSON on one line."""
    return json_format.MessageToJson(message, indent=None, ensure_ascii=False).encode()


def from_json(data: bytes, message_type: type[M]) -> M:
    """The message; no body at all is an empty one. Raises InvalidField."""
    text = data.strip()
    if text and not text.startswith(b"{"):
        raise InvalidField(_BODY, "must be a JSON object")
    message = message_type()
    try:
        return json_format.Parse(text or b"{}", message)
    except UnicodeDecodeError:
        raise InvalidField(_BODY, "must be UTF-8") from None
    except Exception as error:
        raise _invalid_field(str(error), type(message).DESCRIPTOR.name) from None


def _invalid_field(text: str, root: str) -> InvalidField:
    """Reads the parser's message: it names fields in a chain of prefixes, as a path after "at", or in both ways."""
    chain = _IN_FIELD.findall(text)
    problem = _IN_FIELD.sub("", text).rstrip(".")
    path = ".".join(chain)
    if at := re.search(rf' at "?{root}\b((?:\.\w+|\[[^\]]*\])*)"?', problem):
        path = at[1].lstrip(".") or path
    path = re.sub(r"(?<=[a-z0-9])[A-Z]", lambda match: "_" + match[0].lower(), path)
    if unknown := _UNKNOWN.search(problem):
        known = unknown[2].replace("'", "") or "none"
        return _named(f"{path}.{unknown[1]}".lstrip("."), f"is not a field; the fields here are: {known}")
    if oneof := _ONEOF.search(problem):
        return _named(f"{path}.{oneof[1]}".lstrip("."), "has several of its alternatives set; keep one")
    if at is not None:
        problem = problem.replace(at[0], "")
    if not path:
        return _named(_BODY, f"is not valid JSON: {problem.replace('Failed to load JSON: ', '')}")
    if problem.endswith("object is not iterable"):
        problem = "expected an object"
    return _named(path, f"has a wrong value: {problem}")


def _named(field: str, problem: str) -> InvalidField:
    return InvalidField(field[:_LONGEST_PROBLEM], problem[:_LONGEST_PROBLEM])
