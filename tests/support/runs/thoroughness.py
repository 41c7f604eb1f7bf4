"""The thoroughness of test runs. THREADKEEP_LONG=1 runs all variants; a run without it takes minutes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

T = TypeVar("T")
Test = TypeVar("Test", bound=Callable[..., Any])

LONG = os.environ.get("THREADKEEP_LONG") == "1"
EXAMPLES = int(os.environ.get("THREADKEEP_EXAMPLES") or (1000 if LONG else 10))
"""The number of examples of a hypothesis property of weight 100."""
KILLS = int(os.environ.get("THREADKEEP_KILLS") or (50 if LONG else 2))
"""The number of kills in fault tests, on each engine."""
FAILOVERS = int(os.environ.get("THREADKEEP_FAILOVERS") or (20 if LONG else 3))
"""The number of fail-overs of a PostgreSQL cluster under load."""
_FEWEST = EXAMPLES if LONG else 3


def examples(weight: int) -> int:
    """Returns `max_examples` of a property: cheap ones have a higher weight, those with databases a lower one. The long form
    never uses fewer than EXAMPLES."""
    return max(weight * EXAMPLES // 100, _FEWEST)


def on_stores(weight: int) -> Callable[[Test], Test]:
    """Marks a property whose examples share the databases of one test; the long form allows an hour."""
    tried = settings(
        max_examples=examples(weight), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    )
    return lambda test: pytest.mark.timeout(3600 if LONG else 300)(tried(test))


def some(of: Sequence[T], every: int) -> Sequence[T]:
    """Returns every n-th item, including the first and the last; all of them in the long form."""
    return of if LONG else [*of[:-1:every], *of[-1:]]


def with_long(short: Sequence[T], *long: T) -> Sequence[T]:
    """Returns the first; all of them in the long form."""
    return [*short, *long] if LONG else short


def on_each_engine(name: str, one: T, other: T) -> pytest.MarkDecorator:
    """Marks tests with the fixture `url`: this fixture has one value on SQLite, the other on PostgreSQL; in the long form both
    on each."""
    pairs = with_long([("sqlite", one), ("postgres", other)], ("sqlite", other), ("postgres", one))
    marked = [_on(*pair) for pair in pairs]
    return pytest.mark.parametrize(("url", name), marked, indirect=True)


def by_engine_in_turn(name: str, values: Sequence[T], ids: Sequence[str]) -> pytest.MarkDecorator:
    """Marks tests with the fixture `url`: this argument has each value on one engine, in turn; in the long form on both."""
    engines = ("sqlite", "postgres")
    taken = [
        (engine, place) for place in range(len(values)) for turn, engine in enumerate(engines) if LONG or place % 2 == turn
    ]
    marked = [_on(engine, values[place], f"{engine}-{ids[place]}") for engine, place in taken]
    return pytest.mark.parametrize(("url", name), marked, indirect=["url"])


def _on(engine: str, value: object, name: str | None = None) -> pytest.ParameterSet:
    return pytest.param(engine, value, id=name, marks=pytest.mark.postgres if engine == "postgres" else ())


def size(long: int, short: int) -> int:
    """Returns the small size, or the large one in the long form."""
    return long if LONG else short
