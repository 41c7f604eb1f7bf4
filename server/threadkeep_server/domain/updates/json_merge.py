"""Merge patches of JSON text (RFC 7396). Values that a patch does not reach keep their text: 1.0e5 stays 1.0e5."""

from __future__ import annotations

import json
from json.decoder import scanstring  # type: ignore[attr-defined]  # public in CPython and PyPy, without a stub

MOST_LEVELS = 32
"""Nested objects of a patch. Its depth bounds the recursion, not that of the text that it changes."""

# Numbers stay text: their size is bounded by the text's, and digits need not be converted.
_DECODER = json.JSONDecoder(parse_float=str, parse_int=str)


class TooDeep(ValueError):
    """The patch has more than MOST_LEVELS nested objects."""


def merged(text: str, patch: str) -> str:
    """Returns the JSON object `text` after the merge patch. Both are valid JSON texts of objects; an empty text is an object
    without members. Members keep their order, new ones follow. Of equal names the last counts. Raises TooDeep."""
    return _merged(text, patch, MOST_LEVELS)


def members(text: str) -> dict[str, str]:
    """Returns the texts of the values of a valid JSON object, by name."""
    found: dict[str, str] = {}
    if not text:
        return found
    place = _after(text, text.index("{") + 1)
    while text[place] != "}":
        name, place = scanstring(text, place + 1)
        start = _after(text, _after(text, place) + 1)
        end = _DECODER.raw_decode(text, start)[1]
        found[name] = text[start:end]
        place = _after(text, end)
        if text[place] == ",":
            place = _after(text, place + 1)
    return found


def written(found: dict[str, str]) -> str:
    """Returns the object with these members. Names are escaped only where JSON demands it, but surrogates without a pair stay
    escaped, as they have no UTF-8 form."""
    return "{" + ", ".join(f"{_name(name)}: {value}" for name, value in found.items()) + "}"


def _merged(text: str, patch: str, levels: int) -> str:
    if not levels:
        raise TooDeep
    found = members(text)
    for name, value in members(patch).items():
        if value == "null":
            found.pop(name, None)
        elif value.startswith("{"):
            before = found.get(name, "")
            found[name] = _merged(before if before.startswith("{") else "", value, levels - 1)
        else:
            found[name] = value
    return written(found)


def _name(name: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:
        return json.dumps(name)
    return json.dumps(name, ensure_ascii=False)


def _after(text: str, place: int) -> int:
    """Returns the place of the next character that is no white space."""
    while text[place] in " \t\n\r":
        place += 1
    return place
