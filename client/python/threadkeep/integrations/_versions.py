"""Versions of frameworks: the check of the installed one, when its adapter is imported, and items of newer ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import metadata
from typing import Any, TypeVar

T = TypeVar("T")
Items = list[dict[str, Any]]

_BOUND = re.compile(r"(>=|<)(\d+(?:\.\d+)*)")
_NUMBERS = re.compile(r"\d+(?:\.\d+)*")


def require(distribution: str, versions: str, *, extra: str) -> None:
    """Raises ImportError unless a distribution is installed in a version of the range.

    `versions`: bounds such as ">=2.10,<3", joined by commas; the range in which the adapter is tested. `extra`: the extra of
    this package that installs it.
    """
    advice = f'install it with: pip install "threadkeep[{extra}]"'
    try:
        installed = metadata.version(distribution)
    except metadata.PackageNotFoundError:
        raise ImportError(f"threadkeep[{extra}] needs {distribution} {versions}, which is not installed; {advice}") from None
    if not _admits(versions, installed):
        raise ImportError(
            f"threadkeep[{extra}] is tested with {distribution} {versions}, and {installed} is installed; {advice}"
        )


def of_any_version(read: Callable[[Items], T], items: Items, rendered: Callable[[], Items]) -> T:
    """What the framework makes of an event's items. A newer version of it may have stored what the installed one refuses, such
    as a part of a new kind; then what it makes of the items of the event's parts."""
    try:
        return read(items)
    except (TypeError, ValueError):  # pydantic's ValidationError is one
        return read(rendered())


def _admits(versions: str, installed: str) -> bool:
    found = _numbers(installed)
    for bound in versions.split(","):
        matched = _BOUND.fullmatch(bound.strip())
        if matched is None:
            raise ValueError(f"{bound!r} is not a bound: write >= or < and a version")
        limit = _numbers(matched[2])
        if (found < limit) if matched[1] == ">=" else (found >= limit):
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    """The release of a version without its trailing zeros, so that 3.0 is not above 3."""
    matched = _NUMBERS.match(version)
    numbers = [int(each) for each in matched[0].split(".")] if matched else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
