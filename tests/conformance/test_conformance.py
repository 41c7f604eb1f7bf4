"""Runs every case in every language on both engines; without THREADKEEP_LONG=1 those of `selection`."""

from __future__ import annotations

from itertools import product

import pytest

from tests.support.runs.thoroughness import LONG

from . import cases, matrix
from .conftest import DriverOf, EngineOf
from .drivers import BUILD_WITHIN, CHOSEN, Driver
from .engine import SERVERS, Engine
from .results import KNOWN_FAILURES, KnownFailure, Results, known_reason, load_known_failures
from .runner import StepFailed, run_case
from .selection import in_short_form

CASES, PROBLEMS = cases.read()
IDS = {case.id for case in CASES}
SHORT = in_short_form(CASES)


# The first case of a language waits until its driver is built.
pytestmark = pytest.mark.timeout(2 * BUILD_WITHIN)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        every = [cell for cell in product(SERVERS, CHOSEN, CASES) if LONG or _is_short(*cell)]
        ids = [f"{language}-{engine}-{case.id}" for engine, language, case in every]
        metafunc.parametrize(("engine", "language", "case"), every, ids=ids)


def _is_short(engine: str, language: str, case: cases.Case) -> bool:
    return case.id in SHORT.get((language, engine), ())


@pytest.fixture(scope="module")
def known_failures() -> list[KnownFailure]:
    return load_known_failures(IDS)


def test_case_files_are_valid() -> None:
    assert not PROBLEMS, "\n".join(PROBLEMS)
    load_known_failures(IDS)


@pytest.mark.asyncio(loop_scope="session")
async def test_case(
    engine: str,
    language: str,
    case: cases.Case,
    engine_of: EngineOf,
    driver_of: DriverOf,
    results: Results,
    known_failures: list[KnownFailure],
) -> None:
    driver = driver_of(language)
    around = await engine_of(engine)
    reason = known_reason(known_failures, language, engine, case.id)
    failure = await _failure(case, driver, around)
    results.add(engine, language, case.id, "passed" if failure is None else "known" if reason else "failed")
    if failure is None and reason:
        pytest.fail(f"{case.id} passes now in {language}: remove it from {KNOWN_FAILURES.name}", pytrace=False)
    if failure is not None and reason:
        pytest.xfail(f"{reason} ({failure.splitlines()[0]})")
    if failure is not None:
        pytest.fail(failure, pytrace=False)


async def _failure(case: cases.Case, driver: Driver, around: Engine) -> str | None:
    try:
        await run_case(case, driver, around)
    except StepFailed as error:
        return str(error)
    return None


def test_the_page_counts_every_case() -> None:
    """`make test-conformance` writes the results on the page."""
    page = matrix.PAGE.read_text()
    assert matrix.areas_line(CASES) in page, f"docs/{matrix.PAGE.name} is out of date; run `make test-conformance`"
