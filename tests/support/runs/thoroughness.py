"""How much of what could be tried is tried. THREADKEEP_LONG=1 tries all of it, by hand; without it a run takes minutes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

T = TypeVar("T")
Test = TypeVar("Test", bound=Callable[..., Any])

LONG = os.environ.get("THREADKEEP_LONG") == "1"
EXAMPLES = int(os.environ.get("THREADKEEP_EXAMPLES") or (1000 if LONG else 20))
"""How often hypothesis tries a property of weight 100."""
KILLS = int(os.environ.get("THREADKEEP_KILLS") or (50 if LONG else 5))
"""How often the fault tests kill something, on each engine."""
_FEWEST = EXAMPLES if LONG else 5


def examples(weight: int) -> int:
    """For `max_examples` of a property: what is cheap weighs more, what needs databases less. In the long form nothing is tried
    less often than EXAMPLES says."""
    return max(weight * EXAMPLES // 100, _FEWEST)


def on_stores(weight: int) -> Callable[[Test], Test]:
    """Marks a property whose examples share the databases of one test; the long form gives it an hour."""
    tried = settings(
        max_examples=examples(weight), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    )
    return lambda test: pytest.mark.timeout(3600 if LONG else 300)(tried(test))


def some(of: Sequence[T], every: int) -> Sequence[T]:
    """Each so-manieth of them, the first and the last included; all of them in the long form."""
    return of if LONG else [*of[:-1:every], *of[-1:]]


def size(long: int, short: int) -> int:
    """Of what is tried at a size: the small one, or the large one in the long form."""
    return long if LONG else short
