"""The short form leaves out no trait of a case in any language, and no case altogether."""

from __future__ import annotations

from tests.conformance import cases
from tests.conformance.engine import ENGINES
from tests.conformance.selection import OTHERS, in_short_form, traits
from tests.support.runs.toolchains import LANGUAGES

CASES = cases.load()
CHOSEN = in_short_form(CASES)


def test_every_language_runs_a_case_with_each_trait() -> None:
    every = set().union(*map(traits, CASES))
    assert len(every) > 400
    for language in OTHERS:
        assert set().union(*(traits(case) for case in CASES if case.id in CHOSEN[language, "sqlite"])) == every, language


def test_every_case_is_run_by_python_and_another_language() -> None:
    ids = {case.id for case in CASES}
    assert CHOSEN["python", "sqlite"] | CHOSEN["python", "postgresql"] == ids
    assert set().union(*(CHOSEN[language, "sqlite"] for language in OTHERS)) == ids


def test_python_runs_half_of_the_cases_on_each_engine() -> None:
    shares = [len(CHOSEN["python", engine]) / len(CASES) for engine in ENGINES]
    assert max(shares) < 0.52


def test_other_languages_run_few_more_than_a_third_of_the_cases_each() -> None:
    shares = [len(CHOSEN[language, "sqlite"]) / len(CASES) for language in OTHERS]
    assert max(shares) < 0.4


def test_every_language_runs_the_smoke_cases_behind_envoy() -> None:
    smoke = {case.id for case in CASES if case.area == "smoke"}
    assert all(CHOSEN[language, "envoy"] == smoke for language in LANGUAGES)
