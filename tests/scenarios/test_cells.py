"""The simulated fleet of cells, and that each rule which keeps it right is needed."""

from __future__ import annotations

import pytest

from tests.scenarios.cells import model, moves
from tests.scenarios.cells.report import checks, lines
from tests.scenarios.cells.simulation import Options, Simulation
from tests.support.runs.thoroughness import LONG

SMALL = Options(nodes=80, tenants=600, ticks=120, appends=150, failures=0.001, crashes=0.2)


def ended(options: Options) -> Simulation:
    run = Simulation(options)
    run.run()
    return run


def wrong(run: Simulation) -> list[str]:
    return [check.what for check in checks(run) if not check.holds]


@pytest.mark.parametrize("options", [Options(seed=seed) for seed in range(1, 6)] if LONG else [SMALL])
def test_fleet_loses_nothing_and_keeps_the_order_of_each_session(options: Options) -> None:
    run = ended(options)
    assert wrong(run) == []
    assert len(run.mover.done) > 5
    assert run.failures.takeovers > 5
    assert run.mover.crashes > 5
    assert run.counted.repeated > 100
    # A reader that does not wait for the end of the feed that a unit came from breaks the order of sessions.
    assert run.unsafe.delivered.repeated + run.unsafe.delivered.gaps > 0
    most, _ = run.counted.balances[-1][1:]
    assert most < run.counted.balances[-2][1]


def test_run_is_the_same_for_the_same_seed() -> None:
    options = Options(nodes=40, tenants=100, ticks=30, appends=50)
    first, second = (list(lines(ended(options))) for _ in range(2))
    assert first == second


def test_cell_that_takes_appends_of_a_unit_that_left_loses_events(monkeypatch: pytest.MonkeyPatch) -> None:
    append = model.Cell.append

    def trusting(cell: model.Cell, unit: model.Unit, epoch: int, session: int, event: int, now: int) -> bool:
        if unit not in cell.owned and unit in cell.data:
            cell.owned[unit] = epoch
            stored = append(cell, unit, epoch, session, event, now)
            del cell.owned[unit]
            return stored
        return append(cell, unit, epoch, session, event, now)

    monkeypatch.setattr(model.Cell, "append", trusting)
    assert "every append was acknowledged once and is stored once" in wrong(ended(SMALL))


def test_move_without_what_came_after_its_copy_loses_events(monkeypatch: pytest.MonkeyPatch) -> None:
    arrive = moves.Mover._arrive

    def stale(mover: moves.Mover, move: moves.Move, rest: model.Data | None, target: model.Cell) -> moves.Step:
        return arrive(mover, move, target.data.get(move.unit, rest), target)

    monkeypatch.setattr(moves.Mover, "_arrive", stale)
    assert "every append was acknowledged once and is stored once" in wrong(ended(SMALL))
