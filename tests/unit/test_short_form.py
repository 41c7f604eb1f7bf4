from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.runs import short_form


@dataclass(frozen=True)
class Item:
    nodeid: str
    sample: int = 0
    function: Callable[..., None] = print

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return pytest.Mark(name, (self.sample,), {}, _ispytest=True) if self.sample else None


NAMES = [f"tests/api/test_x.py::test_{number}" for number in range(40)]


@pytest.fixture(autouse=True)
def in_short_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_form, "LONG", False)


def run_of(*nodeids: str) -> list[str]:
    items: list[Any] = [Item(each) for each in nodeids]
    gone = {item.nodeid for item in short_form.left_out(items)}
    return [each for each in nodeids if each not in gone]


def test_test_of_both_engines_runs_on_one_half_of_them_on_each() -> None:
    found = run_of(*(f"{name}[a-{engine}]" for name in NAMES for engine in ("sqlite", "postgresql")))
    assert [each.partition("[")[0] for each in found] == NAMES
    assert 10 < sum("sqlite" in each for each in found) < 30


def test_test_that_was_selected_on_one_engine_runs() -> None:
    chosen = [f"{name}[postgres]" for name in NAMES]
    assert run_of(*chosen) == chosen


def test_guarantee_is_tested_on_both_engines() -> None:
    chosen = [f"tests/faults/kills/test_kill.py::test_x[{engine}]" for engine in ("sqlite", "postgresql")]
    assert run_of(*chosen) == chosen


def test_long_form_leaves_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_form, "LONG", True)
    chosen = [f"{NAMES[0]}[{engine}]" for engine in ("sqlite", "postgres")]
    assert run_of(*chosen) == chosen


def test_sample_of_three_is_a_third() -> None:
    items: list[Any] = [Item(f"{name}[x]", sample=3) for name in NAMES]
    assert [item.nodeid for item in items if item not in short_form.left_out(items)] == [f"{name}[x]" for name in NAMES[::3]]


def test_each_class_of_rows_has_a_test_in_the_sample() -> None:
    class Rows:
        def test_a(self) -> None: ...

    class OtherRows(Rows):
        def test_b(self) -> None: ...

    items: list[Any] = [Item(f"tests/store/x.py::TestX::{test.__name__}", 3, test) for test in (Rows.test_a, OtherRows.test_b)]
    assert short_form.left_out(items) == set()
