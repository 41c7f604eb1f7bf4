"""What came, held against what a case expects: all that differs, each with its path."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .values import NumberText

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z")
_INTEGER = re.compile(r"-?\d+")
LONGEST = 300
"""Characters of a value that a difference shows."""


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()


@dataclass(frozen=True)
class Difference:
    """At `path`, `expected` was wanted and `came` came."""

    path: str
    expected: Any
    came: Any

    def __str__(self) -> str:
        return f"at {self.path or 'the top'}: expected {shown(self.expected)}, got {shown(self.came)}"


def shown(value: Any, longest: int = LONGEST) -> str:
    """A value in at most so many characters."""
    text = repr(value)
    return text if len(text) <= longest else f"{text[: longest - 20]}... ({len(text)} characters)"


def differences(expected: Any, came: Any, path: str = "") -> list[Difference]:
    """Where `came` (plain values, see `messages.plain`) is not what is expected; empty if it is."""
    if isinstance(expected, Mapping):
        name = matcher_of(expected)
        if name is not None:
            return _MATCHERS[name](expected[name], came, path)
        return _mapping(expected, came, path)
    if isinstance(expected, Sequence) and not isinstance(expected, str):
        return _sequence(expected, came, path)
    return [] if _equal(expected, came) else [Difference(path, expected, came)]


def matcher_of(expected: Mapping[str, Any]) -> str | None:
    """The name of the matcher that this mapping is, if it is one."""
    name = next(iter(expected)) if len(expected) == 1 else None
    return name if name in _MATCHERS else None


def is_default(value: Any) -> bool:
    """Whether a field with this value counts as absent."""
    return value is MISSING or value in (None, "", b"", [], {}) or _is_zero(value)


def _is_zero(value: Any) -> bool:
    unspecified = isinstance(value, str) and value.endswith("_UNSPECIFIED")
    return unspecified or value is False or (isinstance(value, int | float) and value == 0)


def _mapping(expected: Mapping[str, Any], came: Any, path: str) -> list[Difference]:
    if came is MISSING:
        came = {}
    if not isinstance(came, Mapping):
        return [Difference(path, expected, came)]
    found: list[Difference] = []
    for key, wanted in expected.items():
        found += differences(wanted, came.get(key, MISSING), f"{path}.{key}" if path else str(key))
    return found


def _sequence(expected: Sequence[Any], came: Any, path: str) -> list[Difference]:
    if came is MISSING:
        came = []
    if not isinstance(came, list):
        return [Difference(path, expected, came)]
    if len(came) != len(expected):
        return [Difference(path, f"{len(expected)} elements: {shown(expected)}", f"{len(came)}: {shown(came, LONGEST * 3)}")]
    return [each for n, pair in enumerate(zip(expected, came, strict=True)) for each in differences(*pair, f"{path}[{n}]")]


def _equal(expected: Any, came: Any) -> bool:
    if came is MISSING:
        return is_default(expected) or (isinstance(expected, NumberText) and expected == "0")
    if isinstance(expected, bool) or isinstance(came, bool):
        return expected is came
    if isinstance(came, bytes):
        return isinstance(expected, str) and _decoded(expected) == came
    if isinstance(expected, str) and isinstance(came, int):
        return bool(_INTEGER.fullmatch(expected)) and int(expected) == came
    if isinstance(expected, str) and isinstance(came, str) and _TIME.fullmatch(expected):
        return _instant(expected) == _instant(came)
    return type(expected) in (type(came), int, float) and bool(expected == came)


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None


def _instant(text: str) -> tuple[str, str] | None:
    match = _TIME.fullmatch(text)
    return (match[1], (match[2] or "").ljust(9, "0")) if match else None


def _any(wanted: Any, came: Any, path: str) -> list[Difference]:
    return [Difference(path, "something", came)] if is_default(came) else []


def _absent(wanted: Any, came: Any, path: str) -> list[Difference]:
    return [] if is_default(came) else [Difference(path, "nothing", came)]


def _set(wanted: bool, came: Any, path: str) -> list[Difference]:
    return [] if (came is not MISSING) is wanted else [Difference(path, "a field that is set" if wanted else "nothing", came)]


def _regex(pattern: str, came: Any, path: str) -> list[Difference]:
    text = "" if came is MISSING else came
    good = isinstance(text, str) and re.search(pattern, text) is not None
    return [] if good else [Difference(path, {"$regex": pattern}, came)]


def _compared(name: str, holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any, str], list[Difference]]:
    def match(limit: Any, came: Any, path: str) -> list[Difference]:
        value = 0 if came is MISSING else came
        limit = int(limit) if isinstance(limit, str) and _INTEGER.fullmatch(limit) else limit
        good = isinstance(value, int | float) and not isinstance(value, bool) and holds(value, limit)
        return [] if good else [Difference(path, {name: limit}, came)]

    return match


def _length(wanted: int, came: Any, path: str) -> list[Difference]:
    wanted = int(wanted)
    length = 0 if came is MISSING else len(came) if isinstance(came, str | bytes | list | dict) else -1
    return [] if length == wanted else [Difference(path, f"a length of {wanted}", f"{length}: {shown(came)}")]


def _contains(wanted: Any, came: Any, path: str) -> list[Difference]:
    if isinstance(came, str):
        good = isinstance(wanted, str) and wanted in came
    else:
        good = isinstance(came, list) and any(not differences(wanted, each) for each in came)
    return [] if good else [Difference(path, {"$contains": wanted}, came)]


def _unordered(wanted: Sequence[Any], came: Any, path: str) -> list[Difference]:
    elements = [] if came is MISSING else came
    if not isinstance(elements, list) or len(elements) != len(wanted):
        return [Difference(path, f"{len(wanted)} elements in any order: {shown(wanted)}", came)]
    fits = [[n for n, each in enumerate(elements) if not differences(one, each)] for one in wanted]
    return [] if _assignable(fits) else [Difference(path, {"$unordered": wanted}, came)]


def _assignable(fits: Sequence[Sequence[int]]) -> bool:
    """Whether each matcher can have an element of its own: augmenting paths in the graph of what fits what."""
    owner: dict[int, int] = {}

    def place(matcher: int, tried: set[int]) -> bool:
        for element in fits[matcher]:
            if element not in tried:
                tried.add(element)
                if element not in owner or place(owner[element], tried):
                    owner[element] = matcher
                    return True
        return False

    return all(place(matcher, set()) for matcher in range(len(fits)))


_MATCHERS: Mapping[str, Callable[[Any, Any, str], list[Difference]]] = {
    "$any": _any,
    "$absent": _absent,
    "$set": _set,
    "$regex": _regex,
    "$gt": _compared("$gt", lambda value, limit: value > limit),
    "$gte": _compared("$gte", lambda value, limit: value >= limit),
    "$lt": _compared("$lt", lambda value, limit: value < limit),
    "$len": _length,
    "$contains": _contains,
    "$unordered": _unordered,
}
MATCHERS = frozenset(_MATCHERS)
