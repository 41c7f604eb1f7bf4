"""Converts between JSON and protobuf messages. Errors name the field."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, TypeVar

from google.protobuf import descriptor_pool, json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from ...domain.errors import InvalidField
from ...domain.validation import MAX_REQUEST_FIELDS
from .field_count import too_many

M = TypeVar("M", bound=Message)

_BODY = "body"
_LONGEST_PROBLEM = 300
_LONGEST_ENDS = 1_500
# A value has at most a name and a text, each with two quotation marks.
_QUOTES_PER_VALUE = 4
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_IN_FIELD = re.compile(r"Failed to parse (\w+) field: ")
_UNKNOWN = re.compile(r'has no field named "(.*?)" at ".*?"\.\s*Available Fields\(except extensions\): "\[(.*?)\]"', re.DOTALL)
_ENUM = re.compile(r"Invalid enum value (.*) for enum type ([\w.]+)", re.DOTALL)
_ONEOF = re.compile(r'should not have multiple "(\w+)" oneof fields')


class _UnpairedSurrogates:
    """In place of the parser's regular expression, which holds the interpreter for a second where a text has 60 MB."""

    @staticmethod
    def search(text: object) -> bool:
        if not isinstance(text, str):
            raise TypeError("expected a string")  # as the expression does; the parser adds the field
        try:
            text.encode()
        except UnicodeEncodeError:
            return True
        return False


vars(json_format)["_UNPAIRED_SURROGATE_PATTERN"] = _UnpairedSurrogates


def to_json(message: Message) -> bytes:
    """Returns canonical protobuf JSON on one line."""
    return json_format.MessageToJson(message, indent=None, ensure_ascii=False).encode()


def from_json(data: bytes, message_type: type[M], most_values: int = MAX_REQUEST_FIELDS) -> M:
    """Returns the message; an empty body is an empty message. Raises InvalidField; for more than `most_values` values before it
    decodes them."""
    text = data.strip() or b"{}"
    if not text.startswith(b"{"):
        raise InvalidField(_BODY, "must be a JSON object")
    _check_values(text, message_type.DESCRIPTOR, most_values)
    try:
        value = json.loads(text.decode(), object_pairs_hook=_without_duplicates)
        _check_base64(value, message_type.DESCRIPTOR, "")
        return json_format.ParseDict(value, message_type())
    except InvalidField:
        raise
    except UnicodeDecodeError:
        raise InvalidField(_BODY, "must be UTF-8") from None
    except (json.JSONDecodeError, RecursionError, _DuplicateName) as error:
        raise _named(_BODY, f"is not valid JSON: {error}") from None
    except Exception as error:  # the parser raises many types; all are caused by the input
        raise _invalid_field(str(error), message_type.DESCRIPTOR.name) from None


def _check_values(text: bytes, descriptor: Any, most: int) -> None:
    """Rejects JSON with too many values, with the field of the message in which it exceeds them. A value begins at a comma or
    an opening bracket outside of a string. The text may be invalid."""
    if text.count(b",") + text.count(b"[") + text.count(b"{") <= most:
        return
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"") if b'\\"' in text else text
    pieces = plain.split(b'"', _QUOTES_PER_VALUE * most)
    values = depth = 0
    name = b""
    for index in range(0, len(pieces), 2):
        outside = pieces[index]
        opened = outside.count(b"{") + outside.count(b"[")
        values += opened + outside.count(b",")
        if values > most or index == _QUOTES_PER_VALUE * most:
            field = _field_of(descriptor, name.decode(errors="replace"))
            raise too_many(_BODY if field is None else field.name, most)
        depth += opened - outside.count(b"}") - outside.count(b"]")
        if depth == 1 and index + 1 < len(pieces):
            name = pieces[index + 1]


class _DuplicateName(ValueError):
    pass


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        name, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise _DuplicateName(f"duplicate name {name[:_LONGEST_PROBLEM]!r}")
    return value


def _check_base64(value: dict[str, Any], descriptor: Any, path: str) -> None:
    """Rejects bytes fields that are not base64. The parser would drop the invalid characters and change the value."""
    for name, item in value.items():
        field = _field_of(descriptor, name)
        if field is None or (field.type != FieldDescriptor.TYPE_BYTES and field.message_type is None):
            continue
        many = isinstance(item, list)
        for index, each in enumerate(item if many else [item]):
            inner = f"{path}{field.name}[{index}]" if many else f"{path}{field.name}"
            if isinstance(each, dict) and field.message_type is not None and not field.message_type.GetOptions().map_entry:
                _check_base64(each, field.message_type, f"{inner}.")
            elif isinstance(each, str) and field.type == FieldDescriptor.TYPE_BYTES and not _is_base64(each):
                raise _named(inner, "must be base64")


def _field_of(descriptor: Any, name: str) -> FieldDescriptor | None:  # Any: one of two Descriptor classes
    field: FieldDescriptor | None = descriptor.fields_by_camelcase_name.get(name) or descriptor.fields_by_name.get(name)
    return field


def _is_base64(text: str) -> bool:
    return _BASE64.fullmatch(text) is not None and len(text.rstrip("=")) % 4 != 1


def _invalid_field(text: str, root: str) -> InvalidField:
    """Converts the message of the parser, which names fields in a chain of prefixes, as a path after "at", or both. Between
    them it shows the value, however long."""
    if len(text) > 2 * _LONGEST_ENDS:
        text = text[:_LONGEST_ENDS] + text[-_LONGEST_ENDS:]
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
        return _named(f"{path}.{oneof[1]}".lstrip("."), "is a oneof with several fields set; keep one")
    if enum := _ENUM.search(problem):
        return _named(path or _BODY, f"must be {_names_of(enum[2])}, not {enum[1]}")
    if at is not None:
        problem = problem.replace(at[0], "")
    if not path:
        return _named(_BODY, f"has a wrong value: {problem}")
    if problem.endswith("object is not iterable"):
        problem = "expected an object"
    elif problem.startswith("unhashable type"):
        problem = "expected a name"
    return _named(path, f"has a wrong value: {problem}")


def _names_of(enum: str) -> str:
    """Returns the names of the enum's values."""
    values = descriptor_pool.Default().FindEnumTypeByName(enum).values
    return "one of " + ", ".join(each.name for each in values if each.number)


def _named(field: str, problem: str) -> InvalidField:
    return InvalidField(_shown(field), _shown(problem))


def _shown(text: str) -> str:
    """Returns the beginning of a text, with lone surrogates of the input as escapes: a response cannot represent them."""
    return text[:_LONGEST_PROBLEM].encode(errors="backslashreplace").decode()
