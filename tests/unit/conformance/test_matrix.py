"""The matrix of cases and languages, and docs/conformance.md."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from tests.conformance import cases, matrix
from tests.conformance.engine import SERVERS
from tests.conformance.results import KnownFailure, Results, load
from tests.support.runs.toolchains import LANGUAGES

CASES = [cases.Case("a.yaml", "appends", "one | two", ()), cases.Case("s.yaml", "smoke", "three", ())]
KNOWN = [KnownFailure("go", "appends-one-two", "it cannot count")]


def _results(**outcome: str) -> Results:
    """Returns results in which only the first case did not pass, in these languages."""
    found = Results()
    for language in LANGUAGES:
        for engine in SERVERS:
            for case in CASES:
                of_first = outcome.get(language, "passed")
                found.add(engine, language, case.id, of_first if case is CASES[0] else "passed")
    return found


def _matrix(**outcome: str) -> matrix.Matrix:
    return matrix.Matrix(CASES, _results(**outcome).outcomes, KNOWN if "known" in outcome.values() else [])


def test_counts_are_one_line_per_language() -> None:
    assert list(matrix.counts(_matrix(go="known", java="failed"))) == [
        "python: 2 of 2 cases passed on sqlite, 2 of 2 on postgresql, 2 of 2 on envoy",
        "typescript: 2 of 2 cases passed on sqlite, 2 of 2 on postgresql, 2 of 2 on envoy",
        "go: 1 of 2 cases passed on sqlite, 1 of 2 on postgresql, 1 of 2 on envoy; 3 known failures",
        "java: 1 of 2 cases passed on sqlite, 1 of 2 on postgresql, 1 of 2 on envoy",
        "rust: 2 of 2 cases passed on sqlite, 2 of 2 on postgresql, 2 of 2 on envoy",
    ]


def test_counts_report_a_language_that_was_not_run() -> None:
    found = Results()
    found.add("sqlite", "go", CASES[0].id, "passed")
    partial = matrix.Matrix(CASES, found.outcomes, [])
    assert list(matrix.counts(partial))[1:3] == [
        "typescript: not run",
        "go: 1 of 1 cases passed on sqlite, 0 of 0 on postgresql, 0 of 0 on envoy",
    ]
    assert not partial.is_full
    assert _matrix().is_full


def test_table_has_one_mark_per_engine_in_each_cell() -> None:
    lines = list(matrix.table(_matrix(go="known", java="failed")))
    assert [line.split() for line in lines[1:]] == [
        ["smoke", "(1)", "1/1/1", "1/1/1", "1/1/1", "1/1/1", "1/1/1"],
        ["three", "+++", "+++", "+++", "+++", "+++"],
        ["appends", "(1)", "1/1/1", "1/1/1", "0/0/0", "0/0/0", "1/1/1"],
        ["one", "|", "two", "+++", "+++", "kkk", "---", "+++"],
    ]


def test_page_has_a_row_per_language_and_engine_and_lists_known_failures() -> None:
    page = matrix.page(_matrix(go="known", java="failed"))
    assert "| Python | SQLite | 2 | 2 | 0 |" in page
    assert "| Go | SQLite | 2 | 1 (not passed: appends 1) | 1 |" in page
    assert "| Java | SQLite | 2 | 1 (not passed: appends 1) | 0 |" in page
    assert "| Go | PostgreSQL | 1 | 1 | 0 |" in page, "the other languages run the smoke cases there"
    assert "| Python | SQLite behind Envoy | 1 | 1 | 0 |" in page
    assert "\n\nsmoke 1, appends 1\n\n" in page
    assert page.endswith("## Known failures\n\n- Go, `appends-one-two`: it cannot count\n")
    assert matrix.page(_matrix()).endswith("## Known failures\n\nNone.\n")


def test_check_fails_for_an_outdated_page_a_failure_and_a_missing_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(matrix, "PAGE", tmp_path / "conformance.md")
    runs = [_matrix(), _matrix(), _matrix(java="failed"), matrix.Matrix(CASES, {}, [])]
    problems = ["is out of date", "", "3 cases failed", "some required cases were not run"]
    for n, (run, problem) in enumerate(zip(runs, problems, strict=True)):
        monkeypatch.setattr(matrix, "last_run", lambda run=run: run)
        assert matrix.main(["--check"]) == (1 if problem else 0)
        printed = capsys.readouterr()
        assert (problem in printed.err) if problem else printed.err == ""
        assert printed.out.splitlines()[-1].startswith("rust: ")
        if n == 0:
            assert matrix.main([]) == 0
            assert capsys.readouterr().out.splitlines()[-1].startswith("rust: 2 of 2")


def test_save_keeps_the_results_of_one_run_and_removes_earlier_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "build" / "results"
    assert load(folder) == {}
    monkeypatch.setenv("PYTEST_XDIST_TESTRUNUID", "run-1")
    _results(go="failed").save(folder)
    monkeypatch.setenv("PYTEST_XDIST_TESTRUNUID", "run-2")
    whole, parts = _results(go="failed"), {"gw0": Results(), "gw1": Results()}
    for n, (language, engine, case) in enumerate(product(LANGUAGES, SERVERS, CASES)):
        parts[f"gw{n % 2}"].add(engine, language, case.id, whole.outcomes[language][engine][case.id])
    for worker, part in parts.items():
        monkeypatch.setenv("PYTEST_XDIST_WORKER", worker)
        part.save(folder)
    assert load(folder) == whole.outcomes
    assert len(list(folder.iterdir())) == 2
