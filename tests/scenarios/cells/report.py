"""What a run found, and whether it is right."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from .readers import Delivered
from .simulation import Simulation
from .workload import balance, by_hash


@dataclass(frozen=True, slots=True)
class Check:
    """One property that must hold."""

    what: str
    holds: bool
    found: str


def checks(run: Simulation) -> list[Check]:
    """Returns what must hold of a run that has ended."""
    stored, counted = run.stored, run.counted
    owners = [unit for cell in run.cells for unit in cell.owned]
    found = [
        Check("each unit has one owner, the one of the directory", _owned_once(run, len(owners)), f"{len(owners):,} units"),
        Check(
            "every append was acknowledged once and is stored once",
            sum(stored.values()) == len(run.appended) == counted.acknowledged,
            f"{counted.acknowledged:,} appends, {counted.repeated:,} answers lost",
        ),
        _exact("the feed of the fleet, merged and resumed", run.fleet.delivered, stored),
    ]
    for number, reader in enumerate(run.tenants):
        tenant = (0, 1, run.options.tenants // 20)[number]
        own = {key: seq for key, seq in stored.items() if key[0] == tenant}
        found.append(_exact(f"the feed of tenant {tenant}, of {run.workload.parts[tenant]} units", reader.delivered, own))
    return found


def _owned_once(run: Simulation, owned: int) -> bool:
    places = run.directory.places
    return owned == len(places) and all(run.cells[place.cell].owned.get(unit) == place.epoch for unit, place in places.items())


def _exact(what: str, delivered: Delivered, stored: dict[tuple[int, int], int]) -> Check:
    wrong = delivered.repeated + delivered.gaps
    return Check(what, not wrong and delivered.seqs == stored, f"{delivered.count:,} changes, {wrong} out of order")


def lines(run: Simulation) -> Iterator[str]:
    """Yields the report."""
    options, counted, workload = run.options, run.counted, run.workload
    units = workload.units
    divided = [parts for parts in workload.parts if parts > 1]
    yield f"{options.nodes:,} nodes in {options.cells} cells, {options.tenants:,} tenants, seed {options.seed}"
    yield ""
    heaviest = max(workload.weights) * options.cells
    yield f"load: the heaviest tenant needs {heaviest:.1f} cells; {len(divided)} tenants are divided, into {sum(divided)} units"
    hashed = balance(by_hash(units, options.cells), options.cells, workload)
    yield "balance, heaviest cell and 99th percentile ÷ mean:"
    yield f"  by hash, at the end: × {hashed[0]:.2f}, × {hashed[1]:.2f}"
    for when, most, high in counted.balances:
        yield f"  by weight, {when}: × {most:.2f}, × {high:.2f}"
    pauses = sorted(run.mover.pauses) or [0]
    yield (
        f"moves: {len(run.mover.done)} done, {run.mover.given_up} given up, {run.mover.crashes} crashes of the mover; "
        f"appends paused {pauses[len(pauses) // 2]} ticks (median), {pauses[-1]} (most)"
    )
    yield f"routing: {run.directory.lookups:,} look-ups, {counted.rejected:,} appends rejected by a cell without the unit"
    waits = sorted(counted.waits)
    late = sum(wait > 0 for wait in waits) / len(waits)
    yield f"appends: {late:.2%} had to wait, {waits[-1]} ticks at most; {counted.unavailable:,} attempts at cells that are out"
    yield (
        f"failures: {run.failures.failed:,} nodes, {run.failures.takeovers} takeovers; worst tick {counted.worst_share:.2%} of "
        f"the load, {counted.worst_tenants:,} tenants ({counted.worst_tenants / options.tenants:.2%})"
    )
    yield f"  a zone, {counted.zone_primaries} primaries at once: {counted.zone_share:.0%} of the load until standbys take over"
    yield from _feeds(run)
    yield ""
    for check in checks(run):
        yield f"{'ok  ' if check.holds else 'FAIL'}  {check.what}: {check.found}"


def _feeds(run: Simulation) -> Iterator[str]:
    fleet, unsafe, heavy = run.fleet, run.unsafe.delivered, run.tenants[0]
    cells = run.options.cells
    yield f"feed of the fleet: a token of {len(fleet.token):,} bytes for {cells} cells, resumed {fleet.resumes} times"
    yield f"  without waiting for departures: {unsafe.repeated + unsafe.gaps:,} changes out of the order of their session"
    yield (
        f"  {fleet.delivered.overtaken / max(fleet.delivered.count, 1):.1%} of the changes were committed before one that was "
        "delivered earlier, of another session: a vector has no order across cells"
    )
    parts = run.workload.parts[0]
    moves = sum(reader.followed for reader in run.tenants)
    yield f"feed of the heaviest tenant: a token of {len(heavy.token):,} bytes for {parts} units; {moves} moves were followed"
    one, many = _slowest(1), _slowest(parts)
    yield f"a query of all its units ÷ of one: median × {many[0] / one[0]:.1f}, 99th percentile × {many[1] / one[1]:.1f}"


def _slowest(parts: int, draws: int = 4_000) -> tuple[float, float]:
    """The median and the 99th percentile of the slowest of so many calls, whose latencies are lognormal (sigma 0.7)."""
    chance = random.Random(7)
    slowest = sorted(max(chance.lognormvariate(0, 0.7) for _ in range(parts)) for _ in range(draws))
    return slowest[draws // 2], slowest[draws * 99 // 100]
