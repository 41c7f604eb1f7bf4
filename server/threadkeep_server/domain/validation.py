"""What a request's fields must satisfy. Each check returns the value it admits, or raises InvalidField naming the field."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .errors import InvalidField
from .model import SECOND_NS

MAX_ID_BYTES = 255
MAX_BRANCH_BYTES = 1024
MAX_BRANCH_SEGMENTS = 64
MAX_JSON_BYTES = 256 << 10
MAX_LABELS = 64
MAX_LABEL_KEY_BYTES = 63
MAX_TERM_CHARACTERS = 1024
MAX_TERMS = 64
MAX_PARTS = 10_000
MAX_NESTING = 8
"""Tool results inside tool results. Protobuf readers give up at some depth, of the whole answer that an event is in."""
CLOCK_SKEW_NS = 60 * SECOND_NS
"""How far a caller's clock may be ahead."""
DEFAULT_PAGE_SIZE = 100
DEFAULT_HITS = 10
_MOST_SHOWN = 24
# In JSON text a backslash stands in strings alone. Whole pairs and other escapes are passed over.
_ESCAPES = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)


@dataclass(frozen=True, slots=True)
class Limits:
    """What the operator allows. `default_ttl` in nanoseconds; None: sessions live for ever unless told otherwise."""

    max_event_bytes: int = 16 << 20
    max_batch_events: int = 1000
    max_batch_bytes: int = 32 << 20
    max_page_size: int = 1000
    max_response_bytes: int = 3_670_016
    default_ttl: int | None = 60 * 86_400 * 1_000_000_000
    context_bytes: int = 156 << 10


def identifier(field: str, value: str, *, required: bool = False, most: int = MAX_ID_BYTES) -> str:
    """An id or name: short, and without control characters."""
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


def branch(field: str, value: str) -> str:
    """A dotted path; empty is the root."""
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
    """JSON text of an object, or nothing: the caller's own, kept to the letter and never read, whatever it says."""
    return _json_object(field, value, None)


def portable_object(field: str, value: str) -> str:
    """JSON text of an object, or nothing, kept to the letter, whose values are read: filters compare them, and tools tell them
    to readers in other languages. So no number may be beyond what a double holds, which some read as infinity and some refuse,
    and no text may have half of a surrogate pair, which has no UTF-8 form."""

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


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def labels(field: str, values: Mapping[str, str]) -> dict[str, str]:
    if len(values) > MAX_LABELS:
        raise InvalidField(field, f"must have at most {MAX_LABELS} entries")
    for key, value in values.items():
        identifier(f"{field} key", key, required=True, most=MAX_LABEL_KEY_BYTES)
        identifier(f"{field}[{key!r}]", value)
    return dict(values)


def passed_time(field: str, value: int, now: int) -> int:
    """A time since 1970 that has passed, but for what clocks may differ by."""
    if value < 0:
        raise InvalidField(field, "must not be before 1970")
    if value > now + CLOCK_SKEW_NS:
        raise InvalidField(field, "must not be in the future, by more than the minute that clocks may differ by")
    return value


def page_size(field: str, value: int, *, default: int, most: int) -> int:
    """0 is the default, too many are as many as there may be."""
    if value < 0:
        raise InvalidField(field, "must not be negative")
    return min(value or default, most)


def term(field: str, value: str) -> str:
    if len(value) > MAX_TERM_CHARACTERS:
        raise InvalidField(field, f"must have at most {MAX_TERM_CHARACTERS} characters")
    return value
