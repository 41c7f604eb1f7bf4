"""Every case in every language on both engines."""

from __future__ import annotations

from itertools import product

import pytest

from tests.support.runs.thoroughness import LONG

from . import cases, known, matrix
from .conftest import DriverOf, EngineOf
from .drivers import BUILD_WITHIN, CHOSEN, Driver
from .engine import ENGINES, Engine
from .results import Results
from .runner import StepFailed, run_case

CASES, PROBLEMS = cases.read()
IDS = {case.id for case in CASES}


# The first case of a language waits for its driver to be built.
pytestmark = pytest.mark.timeout(2 * BUILD_WITHIN)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        every = [cell for cell in product(ENGINES, CHOSEN, CASES) if LONG or matrix.is_required(*cell)]
        ids = [f"{language}-{engine}-{case.id}" for engine, language, case in every]
        metafunc.parametrize(("engine", "language", "case"), every, ids=ids)


@pytest.fixture(scope="module")
def known_failures() -> list[known.KnownFailure]:
    return known.load(IDS)


def test_the_case_files_can_be_read() -> None:
    assert not PROBLEMS, "\n".join(PROBLEMS)
    known.load(IDS)


@pytest.mark.asyncio(loop_scope="session")
async def test_case(
    engine: str,
    language: str,
    case: cases.Case,
    engine_of: EngineOf,
    driver_of: DriverOf,
    results: Results,
    known_failures: list[known.KnownFailure],
) -> None:
    driver = driver_of(language)
    around = await engine_of(engine)
    reason = known.reason(known_failures, language, engine, case.id)
    failure = await _failure(case, driver, around)
    results.add(engine, language, case.id, "passed" if failure is None else "known" if reason else "failed")
    if failure is None and reason:
        pytest.fail(f"{case.id} passes now in {language}: take it off the list in {known.FILE.name}", pytrace=False)
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


def test_the_page_names_every_case() -> None:
    """Its marks are those of the last run of `make test-conformance`."""
    missing = [case.name for case in CASES if matrix.row_name(case) not in matrix.PAGE.read_text()]
    assert not missing, f"run `make test-conformance` to write docs/{matrix.PAGE.name}: it lacks {missing}"
