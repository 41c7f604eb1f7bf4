"""Options of the commands for memories: namespaces, and comparisons of metadata."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

import typer

from .. import MetadataCondition, condition
from .options import usage
from .render.output import plain

Labels = Annotated[
    list[str] | None,
    typer.Option("--namespace", metavar="LABEL", help="A label of the namespace; repeated, the labels below it."),
]
Prefix = Annotated[
    list[str] | None,
    typer.Option("--namespace", metavar="LABEL", help="Only in this namespace and below it; repeated, the labels below it."),
]
Conditions = Annotated[
    list[str] | None,
    typer.Option(
        "--condition",
        metavar="KEY OPERATOR JSON",
        help='Only with metadata that compares so, as in "weight gte 4"; eq, ne, gt, gte, lt, lte or in (an array); may be '
        "repeated.",
    ),
]


def conditions_of(given: Sequence[str] | None) -> list[MetadataCondition]:
    """Returns the conditions of arguments such as `weight gte 4`."""
    return [_condition(each) for each in given or ()]


def _condition(text: str) -> MetadataCondition:
    try:
        key, operator, value = text.split(maxsplit=2)
        return condition(key, operator, json.loads(value))
    except (ValueError, TypeError):
        raise usage(f"--condition takes KEY OPERATOR JSON, as in 'weight gte 4', not {text!r}") from None


def labels_text(namespace: Sequence[str] | None) -> str:
    return f" in {' / '.join(map(plain, namespace))}" if namespace else ""
