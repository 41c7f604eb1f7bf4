"""The placeholders for values in cases: names, references to sessions, long texts, bytes, many events."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any


class NumberText(str):
    """A number as text; 0 equals a field that is not set."""

    __slots__ = ()


_NAME = re.compile(r"\$\{(\w+)\}")


def resolve(value: Any, names: Mapping[str, Any]) -> Any:
    """The value with its placeholders replaced. Raises ValueError for an unknown name.

    A text that is nothing but one `${name}` becomes that value, a mapping or a list too; numbers become text, which JSON forms
    of messages and expectations take for the number where one belongs.
    """
    if isinstance(value, str):
        return _text(value, names)
    if isinstance(value, Mapping):
        kind = value_of(value)
        if kind is not None:
            return _VALUES[kind](resolve(value[kind], names), names)
        return {key: resolve(each, names) for key, each in value.items()}
    if isinstance(value, Sequence):
        return [resolve(each, names) for each in value]
    return value


def value_of(value: Mapping[str, Any]) -> str | None:
    """Which of these values a mapping is, if it is one."""
    name = next(iter(value)) if len(value) == 1 else None
    return name if name in _VALUES else None


def _text(text: str, names: Mapping[str, Any]) -> Any:
    whole = _NAME.fullmatch(text)
    if whole:
        value = _named(whole, names)
        return NumberText(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return _NAME.sub(lambda match: str(_named(match, names)), text)


def _named(match: re.Match[str], names: Mapping[str, Any]) -> Any:
    if match[1] not in names:
        raise ValueError(f"nothing is named {match[0]}; known are {', '.join(sorted(names))}")
    return names[match[1]]


def _ref(session_id: Any, names: Mapping[str, Any]) -> Any:
    return {"app": names["app"], "user_id": names["user"], "session_id": str(session_id)}


def _repeat(arguments: Any, names: Mapping[str, Any]) -> Any:
    text, times = arguments
    return text * int(times)


def _bytes(count: Any, names: Mapping[str, Any]) -> Any:
    return base64.b64encode(bytes(n % 256 for n in range(int(count)))).decode()


def _concat(pieces: Any, names: Mapping[str, Any]) -> Any:
    if any(isinstance(piece, list) for piece in pieces):
        return [each for piece in pieces for each in (piece if isinstance(piece, list) else [piece])]
    return "".join(str(piece) for piece in pieces)


def _events(arguments: Any, names: Mapping[str, Any]) -> Any:
    count, text = arguments
    return [{"user": f"{text} {n}"} for n in range(1, int(count) + 1)]


_VALUES: Mapping[str, Callable[[Any, Mapping[str, Any]], Any]] = {
    "$ref": _ref,
    "$repeat": _repeat,
    "$bytes": _bytes,
    "$concat": _concat,
    "$events": _events,
}
VALUES = frozenset(_VALUES)
