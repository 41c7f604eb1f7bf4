"""The recency options of a ranked search, and options that are refused before a call."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from threadkeep import SearchOptions, recency
from threadkeep.cli.errors import CliError, Exit
from threadkeep.cli.search_options import lift_of, with_ranking

NOON = datetime(2026, 6, 1, 12)  # noqa: DTZ001 - as typer reads what has no zone


@pytest.mark.parametrize(
    ("text", "half_life", "weight"),
    [
        ("30s", timedelta(seconds=30), 1.0),
        ("90m", timedelta(minutes=90), 1.0),
        ("12h", timedelta(hours=12), 1.0),
        ("1h30m", timedelta(minutes=90), 1.0),
        ("0.5d", timedelta(hours=12), 1.0),
        ("7d", timedelta(days=7), 1.0),
        ("2w", timedelta(days=14), 1.0),
        ("7d,weight=2", timedelta(days=7), 2.0),
        ("7d,weight=0.5", timedelta(days=7), 0.5),
        ("7d,weight=100", timedelta(days=7), 100.0),
    ],
)
def test_an_age_and_a_weight(text: str, half_life: timedelta, weight: float) -> None:
    assert lift_of(text) == recency(half_life, weight)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("7", "a duration as in 12h, 7d or 1h30m, not '7'"),
        ("d", "a duration as in"),
        ("-7d", "a duration as in"),
        ("7 d", "a duration as in"),
        ("7d ", "a duration as in"),
        ("7y", "a duration as in"),
        ("nand", "a duration as in"),
        (",weight=2", "a duration as in"),
        ("0d", "--recency 0d must be above zero"),
        ("0.0000001s", "must be above zero"),
        ("999999999999d", "longer than there has been time"),
        ("9" * 400 + "d", "longer than there has been time"),
        ("7d,2", "AGE[,weight=N], as in 7d,weight=2, not '7d,2'"),
        ("7d,", "AGE[,weight=N]"),
        ("7d,wight=2", "AGE[,weight=N]"),
        ("7d,weight=", "a number after weight="),
        ("7d,weight=two", "a number after weight="),
        ("7d,weight=2,weight=3", "a number after weight="),
        ("7d,weight=0", "above 0, and at most 100"),
        ("7d,weight=-1", "above 0, and at most 100"),
        ("7d,weight=101", "above 0, and at most 100"),
        ("7d,weight=nan", "above 0, and at most 100"),
        ("7d,weight=inf", "above 0, and at most 100"),
    ],
)
def test_other_values_are_refused_with_the_expected_types(text: str, problem: str) -> None:
    with pytest.raises(CliError) as refused:
        lift_of(text)
    assert problem in refused.value.message
    assert refused.value.code is Exit.USAGE


def test_missing_arguments_are_not_in_the_request() -> None:
    for mode in ("auto", "substring", "ranked", "semantic", "hybrid"):
        assert with_ranking({"mode": mode}, mode, None, "", None) == {"mode": mode}


def test_arguments_become_search_options() -> None:
    options: SearchOptions = with_ranking({"mode": "semantic"}, "semantic", 0.0, "7d", NOON)
    assert options == {
        "mode": "semantic",
        "min_score": 0.0,
        "recency": recency(timedelta(days=7)),
        "reference_time": NOON.astimezone(),
    }


@pytest.mark.parametrize("mode", ["auto", "substring", "ranked", "semantic", "hybrid"])
def test_a_minimum_score_applies_to_every_mode(mode: str) -> None:
    assert with_ranking({}, mode, 0.0, "", None) == {"min_score": 0.0}
