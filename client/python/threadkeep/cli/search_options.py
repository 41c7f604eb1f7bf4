"""The options of ranked searches: minimum score, recency and reference time."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Annotated

import typer

from .. import SearchOptions, recency
from ..v1.search_pb2 import Recency
from .commands.events import aware
from .options import usage

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGE = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_AGES = re.compile(rf"(?:{_AGE.pattern})+")
_MOST_WEIGHT = 100

MinScore = Annotated[
    float | None,
    typer.Option(
        min=-1,
        max=1,
        help="Only hits with at least this score, from 0 to 1; semantic: from -1. Default: none if the query is unrelated "
        "to the events; 0: all.",
        show_default=False,
    ),
]
Lift = Annotated[
    str,
    typer.Option(
        "--recency",
        metavar="AGE[,weight=N]",
        help="Boost newer events. AGE, as in 12h or 7d (s, m, h, d, w): when the boost is half. weight, above 0 to 100 "
        "(default 1): the boost of a new event, in multiples of its score. Default: no boost. Not with substring.",
        show_default=False,
    ),
]
AsOf = Annotated[
    datetime | None,
    typer.Option(
        "--reference-time",
        help='What "yesterday" in the query refers to, and where ages of --recency are counted from; local time (default now). '
        "Not with substring.",
        show_default=False,
    ),
]


def with_ranking(
    options: SearchOptions, mode: str, min_score: float | None, lift: str, as_of: datetime | None
) -> SearchOptions:
    """The options with these three. CliError for what the mode does not take, or no server would."""
    if mode == "substring":
        given = {"--recency": bool(lift), "--reference-time": as_of is not None}
        for name in (name for name, there in given.items() if there):
            raise usage(f"{name} is not for substring search; add --mode ranked")
    if min_score is not None:
        options["min_score"] = min_score
    if lift:
        options["recency"] = lift_of(lift)
    if as_of is not None:
        options["reference_time"] = aware(as_of)
    return options


def lift_of(text: str) -> Recency:
    """`7d`, `1h30m`, `7d,weight=2`. CliError for anything else."""
    age, comma, rest = text.partition(",")
    name, _, number = rest.partition("=")
    if comma and name != "weight":
        raise usage(f"--recency takes AGE[,weight=N], as in 7d,weight=2, not {text!r}")
    return recency(duration_of(age, "--recency"), _weight(number, text) if comma else 1.0)


def duration_of(text: str, option: str) -> timedelta:
    """`12h`, `7d`, `1h30m`. CliError for anything else, and for nothing."""
    if not _AGES.fullmatch(text):
        raise usage(f"{option} takes a duration as in 12h, 7d or 1h30m, not {text!r}")
    try:
        found = sum((timedelta(**{_UNITS[unit]: float(number)}) for number, unit in _AGE.findall(text)), timedelta())
    except OverflowError:
        raise usage(f"{option} {text} is longer than there has been time") from None
    if not found:
        raise usage(f"{option} {text} must be above zero")
    return found


def _weight(number: str, text: str) -> float:
    try:
        weight = float(number)
    except ValueError:
        raise usage(f"{text!r} needs a number after weight=") from None
    if not 0 < weight <= _MOST_WEIGHT:
        raise usage(f"the weight of --recency {text} must be above 0, and at most {_MOST_WEIGHT}")
    return weight
