"""Validation of request fields. Each check returns the valid value, or raises InvalidField with the name of the field."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any

from .errors import InvalidField
from .memory import namespaces
from .model import SECOND_NS

MAX_ID_BYTES = 255
MAX_BRANCH_BYTES = 1024
MAX_BRANCH_SEGMENTS = 64
MAX_JSON_BYTES = 256 << 10
MAX_LABELS = 64
MAX_LABEL_KEY_BYTES = 63
MAX_TERM_CHARACTERS = 1024
MAX_TERMS = 64
MAX_AUTHOR_FILTERS = 64
MAX_AUTHORS = 4096
"""Ids and roles in all author filters of one filter."""
MAX_CHOICES = 16
"""Values of a repeated field whose values are few, such as roles: each of them several times."""
MAX_INVOCATIONS = 64
MAX_CONDITIONS = 16
"""Top-level values of metadata in one filter."""
MAX_OFFSET = 10_000
MAX_PARTS = 10_000
MAX_REQUEST_FIELDS = 1 << 17
"""See Limits.max_request_fields. More than the ids that one compaction may name."""
FIELDS_PER_EVENT = 32
"""How many fields events have at most, on average, in the largest batch of a server that admits larger batches."""
MAX_NESTING = 8
"""Nested tool results. Protobuf parsers limit the depth of a whole response."""
CLOCK_SKEW_NS = 60 * SECOND_NS
"""The largest accepted lead of a caller's clock."""
DEFAULT_PAGE_SIZE = 100
DEFAULT_HITS = 10
_MOST_SHOWN = 24
# In JSON text, backslashes occur only in strings. Complete pairs and other escapes are skipped.
_ESCAPES = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the server. `default_ttl` in nanoseconds; None: sessions do not expire by default."""

    max_event_bytes: int = 16 << 20
    max_batch_events: int = 1000
    max_batch_bytes: int = 32 << 20
    max_page_size: int = 1000
    max_response_bytes: int = 3_670_016
    default_ttl: int | None = 60 * 86_400 * 1_000_000_000
    context_bytes: int = 156 << 10

    @property
    def max_request_fields(self) -> int:
        """Most fields of one request. Fields of nested messages count, and each value of a repeated field counts as one."""
        return max(MAX_REQUEST_FIELDS, FIELDS_PER_EVENT * self.max_batch_events)


def identifier(field: str, value: str, *, required: bool = False, most: int = MAX_ID_BYTES) -> str:
    """Checks an id or name: at most `most` bytes, no control characters."""
    if not value:
        if required:
            raise InvalidField(field, "is required")
        return value
    if not value.isascii() or not value.isprintable():
        if len(value.encode()) > most:
            raise InvalidField(field, f"must have at most {most} bytes")
        if any(unicodedata.category(character) == "Cc" for character in value):
            raise InvalidField(field, "must not hold control characters")
    elif len(value) > most:
        raise InvalidField(field, f"must have at most {most} bytes")
    if required and not value.strip():
        raise InvalidField(field, "must not be blank")
    return value


def namespace(field: str, labels: Sequence[str]) -> tuple[str, ...]:
    """Checks a path of labels; empty is the root."""
    if len(labels) > namespaces.MOST_LABELS:
        raise InvalidField(field, f"must have at most {namespaces.MOST_LABELS} labels")
    path = tuple(identifier(f"{field}[{index}]", label, required=True) for index, label in enumerate(labels))
    if len(namespaces.path_of(path).encode()) > namespaces.MOST_BYTES:
        raise InvalidField(field, f"must have at most {namespaces.MOST_BYTES:,} bytes, with one for each label")
    return path


def portable_value(field: str, value: str, most: int) -> Any:
    """Checks JSON text of any value, as portable_object does, and returns the parsed value. At most `most` characters."""
    if not value:
        raise InvalidField(field, "is required")
    if len(value) > most:
        raise InvalidField(field, f"must have at most {most:,} characters")
    portable_object(field, f'{{"value": {value}}}')
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise InvalidField(field, "must be JSON text") from None


def branch(field: str, value: str) -> str:
    """Checks a dotted path; empty is the root."""
    if not value:
        return value
    identifier(field, value, most=MAX_BRANCH_BYTES)
    segments = value.split(".")
    if not all(segments):
        raise InvalidField(field, "must not have empty segments")
    if len(segments) > MAX_BRANCH_SEGMENTS:
        raise InvalidField(field, f"must have at most {MAX_BRANCH_SEGMENTS} segments")
    return value


def json_object(field: str, value: str) -> str:
    """Checks JSON text of an object, or an empty string. It is stored verbatim and not interpreted."""
    return _json_object(field, value, None)


def portable_object(field: str, value: str) -> str:
    """Checks JSON text of an object, or an empty string, whose values filters and tools read in several languages. Rejects
    numbers beyond a double, which parsers read as infinity or reject, and lone surrogates, which have no UTF-8 form."""

    def number(digits: str) -> str:
        if math.isinf(float(digits)):
            shown = digits if len(digits) <= _MOST_SHOWN else f"{digits[:_MOST_SHOWN]}..."
            raise InvalidField(field, f"must not hold numbers beyond 1.8e308, such as {shown}: many readers have none")
        return digits

    _json_object(field, value, number)
    for escape in _ESCAPES.finditer(value):
        if escape["half"]:
            raise InvalidField(field, f"must not hold half of a surrogate pair ({escape['half']}): it has no UTF-8 form")
    return value


def _json_object(field: str, value: str, number: Callable[[str], str] | None) -> str:
    if not value:
        return value
    if len(value.encode()) > MAX_JSON_BYTES:
        raise InvalidField(field, f"must have at most {MAX_JSON_BYTES} bytes")
    try:
        parsed = json.loads(value, parse_constant=_refuse_constant, parse_float=number, parse_int=number)
    except (ValueError, RecursionError):
        raise InvalidField(field, "must be JSON text") from None
    if not isinstance(parsed, dict):
        raise InvalidField(field, "must be a JSON object")
    return value


def json_value(field: str, key: str, value: str, most: int) -> None:
    """Checks the value of a key of a map: JSON text of at most `most` bytes. It is stored verbatim and not interpreted."""
    if len(value) * _MOST_UTF8 > most and len(value.encode()) > most:
        raise InvalidField(f"{field}[{key!r}]", f"must have at most {most:,} bytes")
    try:
        _DECODER.decode(value)
    except (ValueError, RecursionError):
        raise InvalidField(f"{field}[{key!r}]", "must be JSON text") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


# Made once: json.loads makes a decoder for each call that has options.
_MOST_UTF8 = 4
"""Bytes of a character."""
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=str, parse_int=str)


def labels(field: str, values: Mapping[str, str]) -> dict[str, str]:
    if len(values) > MAX_LABELS:
        raise InvalidField(field, f"must have at most {MAX_LABELS} entries")
    for key, value in values.items():
        identifier(f"{field} key", key, required=True, most=MAX_LABEL_KEY_BYTES)
        identifier(f"{field}[{key!r}]", value)
    return dict(values)


def passed_time(field: str, value: int, now: int) -> int:
    """Checks a past time since 1970, with a tolerance of CLOCK_SKEW_NS."""
    if value < 0:
        raise InvalidField(field, "must not be before 1970")
    if value > now + CLOCK_SKEW_NS:
        raise InvalidField(field, "must not be in the future, by more than the minute that clocks may differ by")
    return value


def count(field: str, values: Sized, most: int) -> None:
    """Checks the number of elements of a repeated field. Called before the elements are checked or converted."""
    if len(values) > most:
        raise InvalidField(field, f"must have at most {most:,} entries")


def metadata(field: str, conditions: Mapping[str, str]) -> Mapping[str, str]:
    """Checks conditions on top-level values of metadata."""
    if len(conditions) > MAX_CONDITIONS:
        raise InvalidField(field, f"must have at most {MAX_CONDITIONS} entries")
    for key, value in conditions.items():
        identifier(f"{field} key", key, required=True)
        name = f"{field}[{key!r}]"
        if "\0" in term(name, value):
            raise InvalidField(name, "must not contain U+0000")
    return conditions


def page_size(field: str, value: int, *, default: int, most: int) -> int:
    """Returns the page size: `default` for 0, at most `most`."""
    if value < 0:
        raise InvalidField(field, "must not be negative")
    return min(value or default, most)


def term(field: str, value: str) -> str:
    if len(value) > MAX_TERM_CHARACTERS:
        raise InvalidField(field, f"must have at most {MAX_TERM_CHARACTERS} characters")
    return value
