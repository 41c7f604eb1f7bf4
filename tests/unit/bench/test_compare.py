"""Two runs of the benchmark: what counts as worse, what is only shown, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.compare.__main__ import main
from tests.bench.compare.judging import BETTER, FAILED, INFO, SAME, WORSE, Comparison, compare
from tests.bench.report import Line, at_least, at_most
from tests.bench.results import read
from tests.unit.bench.files import line, write


def compared(folder: Path, before: list[Line], after: list[Line], threshold: float = 10, **facts: Any) -> Comparison:
    old, new = write(folder / "old.json", before), write(folder / "new.json", after, **facts)
    return compare(read(old), read(new), threshold)


@pytest.mark.parametrize(
    ("target", "before", "after", "verdict"),
    [
        (at_least(0.8), 1.0, 0.89, WORSE),
        (at_least(0.8), 1.0, 0.9, SAME),  # by exactly the threshold
        (at_least(0.8), 1.0, 1.11, BETTER),
        (at_most(3), 2.0, 2.3, WORSE),
        (at_most(3), 2.0, 2.2, SAME),
        (at_most(3), 2.0, 1.7, BETTER),
        (at_most(150, " MiB"), 100.0, 120.0, WORSE),
        (None, 1.0, 0.1, INFO),
        (at_most(3), 0.0, 1.0, INFO),  # a change from zero has no percentage
    ],
)
def test_a_change_is_judged_in_the_direction_of_the_target(
    tmp_path: Path, target: Any, before: float, after: float, verdict: str
) -> None:
    found = compared(tmp_path, [line("unary", before, target)], [line("unary", after, target)])
    assert [pair.verdict for pair in found.pairs] == [verdict]
    assert found.regressed is (verdict == WORSE)


def test_the_threshold_decides(tmp_path: Path) -> None:
    lines = [line("unary", 1.0, at_least(0.8))], [line("unary", 0.95, at_least(0.8))]
    assert [compared(tmp_path, *lines, threshold).regressed for threshold in (4, 6)] == [True, False]


def test_the_direction_comes_from_either_run(tmp_path: Path) -> None:
    found = compared(tmp_path, [line("unary", 1.0, at_least(0.8))], [line("unary", 0.5)])
    assert found.pairs[0].verdict == WORSE


def test_lines_of_one_run_are_named_and_not_judged(tmp_path: Path) -> None:
    before = [line("unary", 1.0, at_least(0.8)), line("gone", 1.0, at_least(0.8)), line("gone", 1.0, engine="postgres")]
    after = [line("unary", 1.0, at_least(0.8)), line("new", 0.1, at_least(0.8)), line("gone", None, skipped="no PostgreSQL")]
    found = compared(tmp_path, before, after)
    assert [(row.name, row.engine) for row in found.only_before] == [("gone", "sqlite"), ("gone", "postgres")]
    assert [row.name for row in found.only_after] == ["new"]
    assert (len(found.pairs), found.regressed) == (1, False)


def test_a_measurement_that_fails_now_is_a_regression(tmp_path: Path) -> None:
    before = [line("unary", 1.0, at_least(0.8)), line("unary", 2.0, text="  its 99th percentile")]
    found = compared(tmp_path, before, [line("unary", None, text="of the measurement", error="ChildError: ended")])
    assert [pair.verdict for pair in found.pairs] == [FAILED, FAILED]
    assert found.regressed


def test_lines_with_one_text_are_compared_in_their_order(tmp_path: Path) -> None:
    before = [line("flat", 1.0, at_most(1.3)), line("flat", 2.0, at_most(1.3))]
    found = compared(tmp_path, before, [line("flat", 1.0, at_most(1.3)), line("flat", 3.0, at_most(1.3))])
    assert [pair.verdict for pair in found.pairs] == [SAME, WORSE]


def test_runs_that_cannot_be_compared_are_reported(tmp_path: Path) -> None:
    found = compared(tmp_path, [], [], scale="quick", processor="Another", interrupted=True, load=1.0)
    assert found.warnings == (
        "the runs differ in scale: small and quick",
        "the runs differ in processor: A processor and Another",
        "other work was running when the second run began: a load of 1 on 2 cores",
        "the second run was interrupted",
        "the second run has tiny sizes: nothing in it is a measurement",
    )
    assert compared(tmp_path, [], []).warnings == ()


def test_the_program_prints_a_table_and_exits_1_when_a_line_is_worse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = write(tmp_path / "old.json", [line("unary", 1.0, at_least(0.8)), line("gone", 0.5, at_least(0.8))])
    new = write(tmp_path / "new.json", [line("unary", 0.75, at_least(0.8))], cores=4)
    assert main([str(old), str(new)]) == 1
    shown = capsys.readouterr().out
    assert "warning: the runs differ in number of cores: 2 and 4" in shown
    row = next(part for part in shown.splitlines() if "unary: its rate" in part)
    assert [cell.strip() for cell in row.split("│")][1:-1] == [
        "sqlite",
        "unary: its rate",
        "≥ 0.8",
        "1.00",
        "0.75",
        "-25.0 %",
        "worse",
    ]
    assert f"only in {old}: sqlite, gone: its rate: 0.50" in shown.replace("\n", "")
    assert "1 worse, 0 failed, 0 better, 0 same, 0 not judged (no target), 1 in one run only" in shown
    assert main([str(old), str(new), "--threshold", "30"]) == 0


def test_json_is_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = (write(tmp_path / name, [line("unary", ratio, at_least(0.8))]) for name, ratio in (("a", 1.0), ("b", 0.5)))
    assert main([str(old), str(new), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["regressed"], found["threshold_percent"], found["warnings"]) == (True, 10, [])
    assert found["lines"] == [
        {
            "name": "unary",
            "engine": "sqlite",
            "text": "its rate",
            "target": "≥ 0.8",
            "before": 1.0,
            "after": 0.5,
            "change_percent": -50.0,
            "verdict": "worse",
            "error": "",
        }
    ]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "No such file or directory"),
        ("{", "not JSON"),
        ("[]", "not written by `make bench`: it has no run and lines"),
        ('{"run": {}, "stores": []}', "not written by `make bench`: it has no run and lines"),
        ('{"run": {}, "lines": [{"name": "unary"}]}', "a line is not as `make bench` writes it: KeyError('ratio')"),
    ],
)
def test_a_bad_file_is_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, reason: str
) -> None:
    bad, good = tmp_path / "bad.json", write(tmp_path / "good.json", [])
    if content is not None:
        bad.write_text(content)
    assert main([str(good), str(bad)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {bad}: {reason}")
    assert error.count("\n") == 1
