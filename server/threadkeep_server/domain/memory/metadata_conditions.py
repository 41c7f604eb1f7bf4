"""Comparisons of top-level values of metadata, which is a JSON object."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any


class Operator(IntEnum):
    """The values are those of threadkeep.v1.MetadataOperator."""

    EQUAL = 1
    NOT_EQUAL = 2
    GREATER = 3
    GREATER_OR_EQUAL = 4
    LESS = 5
    LESS_OR_EQUAL = 6
    IN = 7


ORDERED = frozenset({Operator.GREATER, Operator.GREATER_OR_EQUAL, Operator.LESS, Operator.LESS_OR_EQUAL})

_MISSING = object()


@dataclass(frozen=True, slots=True)
class MetadataCondition:
    """`value`: parsed JSON; a number or a string for the operators in ORDERED, a list for IN."""

    key: str
    operator: Operator
    value: Any


def is_deep(value: Any, most: int) -> bool:
    """Returns whether arrays and objects are nested deeper."""
    if not isinstance(value, list | dict):
        return False
    within = value.values() if isinstance(value, dict) else value
    return most == 0 or any(is_deep(each, most - 1) for each in within)


def metadata_matches(values: Mapping[str, Any], conditions: Sequence[MetadataCondition]) -> bool:
    """Returns whether all conditions hold for the parsed metadata. A missing key satisfies NOT_EQUAL only."""
    return all(_holds(values.get(each.key, _MISSING), each.operator, each.value) for each in conditions)


def parsed(metadata_json: str) -> Mapping[str, Any]:
    """Returns the values of metadata; those of JSON that is not an object are none."""
    try:
        values = json.loads(metadata_json or "{}")
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _holds(value: Any, operator: Operator, wanted: Any) -> bool:
    if operator is Operator.NOT_EQUAL:
        return value is _MISSING or not equal(value, wanted)
    if value is _MISSING:
        return False
    if operator is Operator.EQUAL:
        return equal(value, wanted)
    if operator is Operator.IN:
        return any(equal(value, each) for each in wanted)
    if _type(value) is not _type(wanted) or _type(value) not in (float, str):
        return False
    match operator:
        case Operator.GREATER:
            return bool(value > wanted)
        case Operator.GREATER_OR_EQUAL:
            return bool(value >= wanted)
        case Operator.LESS:
            return bool(value < wanted)
    return bool(value <= wanted)


def equal(one: Any, other: Any) -> bool:
    """Returns whether two JSON values are equal. Unlike in Python, true is not 1."""
    if _type(one) is not _type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(value, other[key]) for key, value in one.items())
    return bool(one == other)


def _type(value: Any) -> type:
    """Returns the JSON type: all numbers have the same."""
    return float if type(value) is int else type(value)
