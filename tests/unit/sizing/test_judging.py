"""What a soak is judged by: series that are flat pass, and those that grow, leak or drift fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.sizing.judging import judge, slope

Series = Callable[[int], float]


def rounds(count: int = 24, /, **series: Series) -> list[dict[str, Any]]:
    """Rounds of five minutes; by default flat with noise, of 110 MiB after a start that grows."""
    noise = [0.3, -0.2, 0.1, -0.4, 0.2]
    flat: dict[str, Series] = {
        "anonymous": lambda n: 110 - 8 / (n + 1) ** 2 + noise[n % 5],
        "descriptors": lambda n: 30 + n % 2,
        "threads": lambda _: 11,
        "control_ms": lambda n: 1 + noise[n % 5] / 4,
        "append": lambda n: 5 + noise[n % 5],
    }
    values = flat | series
    return [
        {
            "hours": (n + 1) / 12,
            **{name: values[name](n) for name in ("anonymous", "descriptors", "threads", "control_ms")},
            # Of sessions there are too few calls.
            "p50_ms": {"append": values["append"](n), "create": float(1 + n)},
            "counts": {"append": 240, "create": 10},
            "exact": values.get("exact", lambda _: 1)(n) == 1,
            "errors": {},
        }
        for n in range(count)
    ]


def failed(**series: Series) -> list[str]:
    return [each.what for each in judge(rounds(**series)) if each.passed is False]


def test_flat_series_pass() -> None:
    assert {each.passed for each in judge(rounds())} == {True}


@pytest.mark.parametrize(
    ("name", "series", "what"),
    [
        ("anonymous", lambda n: 110 + n * 0.25, "memory is flat"),
        ("descriptors", lambda n: 30 + n // 4, "no descriptors leak"),
        ("threads", lambda n: 11 + n // 4, "no threads leak"),
        ("append", lambda n: 5 + n * 0.6, "append does not drift"),
        ("exact", lambda n: n != 7, "rounds exact and without errors"),
    ],
)
def test_each_series_that_grows_fails_alone(name: str, series: Series, what: str) -> None:
    assert failed(**{name: series}) == [what]


def test_latency_that_grows_with_that_of_a_call_without_the_database_is_the_machine() -> None:
    assert failed(append=lambda n: 5 + n * 0.6, control_ms=lambda n: 1 + n * 0.12) == []


def test_few_rounds_are_too_early_to_judge() -> None:
    assert [each.passed for each in judge(rounds(6, anonymous=lambda n: 110 + n))] == [True, None, None, None, None]
    assert [each.passed for each in judge(rounds(2))] == [True]


def test_slope_ignores_an_outlier() -> None:
    assert slope([(0, 1), (1, 2), (2, 90), (3, 4), (4, 5)]) == 1
    assert slope([(1, 1)]) == 0
