"""The short form leaves out no trait of a case in any language, and no case altogether."""

from __future__ import annotations

from collections import Counter

from tests.conformance import cases
from tests.conformance.selection import OTHERS, in_short_form, traits

CASES = cases.load()
CHOSEN = in_short_form(CASES)


def test_every_language_runs_a_case_with_each_trait() -> None:
    every = set().union(*map(traits, CASES))
    assert len(every) > 1000
    for language in OTHERS:
        assert set().union(*(traits(case) for case in CASES if case.id in CHOSEN[language])) == every, language


def test_every_case_is_run_by_python_and_another_language() -> None:
    times = Counter(name for ids in CHOSEN.values() for name in ids)
    assert CHOSEN["python"] == {case.id for case in CASES} == set(times)
    assert min(times.values()) == 2


def test_other_languages_run_half_of_the_cases_each() -> None:
    shares = [len(CHOSEN[language]) / len(CASES) for language in OTHERS]
    assert max(shares) < 0.6
