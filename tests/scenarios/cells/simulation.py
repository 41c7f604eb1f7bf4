"""The run: appends through routers, failures, moves and readers, tick by tick, the same for the same seed."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field

from .directory import Directory, Place, Router
from .failures import Failures
from .model import NODES, Cell, Change, Data, Kind, Unit
from .moves import Mover
from .readers import FleetReader, TenantReader
from .workload import Workload, balance, by_weight

_ROUTERS = 40
_MOVES = 8
_BARELY_WORTH = 1.15
"""A cell with less than this × the mean is not relieved."""


@dataclass(frozen=True, slots=True)
class Options:
    """The sizes of a run."""

    nodes: int = 1_000
    tenants: int = 20_000
    ticks: int = 300
    appends: int = 700
    """In a tick."""
    skew: float = 1.0
    failures: float = 0.0003
    lost_answers: float = 0.01
    """Of appends that were stored: the caller repeats them with the same event id."""
    crashes: float = 0.1
    seed: int = 1

    @property
    def cells(self) -> int:
        """Whole cells of four nodes."""
        return self.nodes // NODES


@dataclass(slots=True)
class Pending:
    """An append that its caller repeats until it is acknowledged."""

    unit: Unit
    session: int
    event: int
    since: int


@dataclass(slots=True)
class Counted:
    """What happened."""

    acknowledged: int = 0
    repeated: int = 0
    rejected: int = 0
    unavailable: int = 0
    waits: list[int] = field(default_factory=list)
    worst_share: float = 0.0
    worst_tenants: int = 0
    zone_share: float = 0.0
    zone_primaries: int = 0
    balances: list[tuple[str, float, float]] = field(default_factory=list)


class Simulation:
    """A fleet. After a third of the run a tenth of the cells is added, empty; after half of it some tenants become heavy, and
    after two thirds a zone fails."""

    def __init__(self, options: Options) -> None:
        self.options = options
        chance = self._chance = random.Random(options.seed)
        self.cells = [Cell(number) for number in range(options.cells)]
        self._started = options.cells - options.cells // 10
        self.workload = Workload(options.tenants, options.cells, options.skew, chance)
        self.directory = Directory()
        for unit, cell in by_weight(self.workload.units, self._started, self.workload, chance).items():
            self.directory.places[unit] = Place(cell, 1)
            self.cells[cell].owned[unit] = 1
            self.cells[cell].data[unit] = Data()
        self.routers = [Router(self.directory) for _ in range(_ROUTERS)]
        self.mover = Mover(self.cells, self.directory, chance, options.crashes)
        self.failures = Failures(self.cells, chance, options.failures)
        self.fleet = FleetReader(self.cells, barrier=True)
        self.unsafe = FleetReader(self.cells, barrier=False)
        self.tenants = [self._tenant_reader(tenant) for tenant in (0, 1, options.tenants // 20)]
        self.counted = Counted()
        self._waiting: deque[Pending] = deque()
        self._events = 0

    def run(self) -> None:
        """Runs all ticks, then until nothing waits, and lets the readers catch up."""
        options = self.options
        for now in range(options.ticks):
            if now == options.ticks // 3:
                self._note_balance("before cells are added")
                self._started = options.cells
            if now == options.ticks // 2:
                self._note_balance("before tenants become heavy")
                self._surge()
                self._note_balance("after tenants became heavy")
            if now == options.ticks * 2 // 3:
                self._fail_zone(now)
            self._tick(now, options.appends)
        self._note_balance("at the end")
        now = options.ticks
        self.failures.rate = 0.0
        while self._waiting or self.mover.moves:
            self._tick(now, 0)
            now += 1
        now += self.failures.repair + self.failures.takeover
        for reader in (self.fleet, self.unsafe):
            reader.drain(now)
        for each in self.tenants:
            each.drain(now)

    def _tick(self, now: int, appends: int) -> None:
        self.failures.step(now)
        self._note_outage(now)
        self._append(now, appends)
        self.mover.step(now)
        if appends and now % 5 == 0:
            self._rebalance()
        for reader in (self.fleet, self.unsafe):
            reader.step(self._chance, 0.3, now, dies=self._chance.random() < self.options.crashes)
        for each in self.tenants:
            each.step(self._chance, 0.5, now)

    def _append(self, now: int, appends: int) -> None:
        for unit, session in self.workload.appends(appends) if appends else ():
            self._events += 1
            self._waiting.append(Pending(unit, session, self._events, now))
        counted = self.counted
        for _ in range(len(self._waiting)):
            each = self._waiting.popleft()
            router = self._chance.choice(self.routers)
            place = router.place(each.unit)
            cell = self.cells[place.cell]
            if not cell.serves(now):
                counted.unavailable += 1
            elif not cell.append(each.unit, place.epoch, each.session, each.event, now):
                counted.rejected += 1
                router.forget(each.unit)
            elif self._chance.random() < self.options.lost_answers:
                counted.repeated += 1
            else:
                counted.acknowledged += 1
                counted.waits.append(now - each.since)
                continue
            self._waiting.append(each)

    def _rebalance(self) -> None:
        """Moves units from the heaviest cells to the lightest, those that fit best, some at a time."""
        loads = [0.0] * self._started
        for unit, place in self.directory.places.items():
            loads[place.cell] += self.workload.weight(unit)
        mean = sum(loads) / self._started
        order = sorted(range(self._started), key=lambda cell: (loads[cell], cell))
        for light, heavy in zip(order, reversed(order), strict=True):
            if len(self.mover.moves) >= _MOVES or loads[heavy] < _BARELY_WORTH * mean:
                return
            gap = (loads[heavy] - loads[light]) / 2
            fitting = [unit for unit in self.cells[heavy].owned if self.workload.weight(unit) <= gap]
            if fitting:
                self.mover.start(max(fitting, key=lambda unit: (self.workload.weight(unit), unit)), light)

    def _surge(self) -> None:
        """Thirty tenants of average size get as much load as the cells have on average."""
        workload = self.workload
        small = range(len(workload.weights) // 10, len(workload.weights))
        for tenant in self._chance.sample(small, 30 * self.options.cells // 250 or 1):
            workload.weights[tenant] = 0.5 / self.options.cells
        workload.refresh()

    def _fail_zone(self, now: int) -> None:
        self.counted.zone_primaries = self.failures.fail_zone(0, now)

    def _note_outage(self, now: int) -> None:
        """Remembers the tick in which most of the load was in cells that do not serve."""
        out = [cell for cell in self.cells if not cell.serves(now)]
        if not out:
            return
        whole = sum(self.workload.weights)
        share = sum(self.workload.weight(unit) for cell in out for unit in cell.owned) / whole
        in_zone_failure = 0 <= now - self.options.ticks * 2 // 3 <= self.failures.takeover
        if in_zone_failure:
            self.counted.zone_share = max(self.counted.zone_share, share)
        elif share > self.counted.worst_share:
            self.counted.worst_share = share
            self.counted.worst_tenants = len({unit.tenant for cell in out for unit in cell.owned})

    def _note_balance(self, when: str) -> None:
        placed = {unit: place.cell for unit, place in self.directory.places.items()}
        self.counted.balances.append((when, *balance(placed, self._started, self.workload)))

    def _tenant_reader(self, tenant: int) -> TenantReader:
        units = (Unit(tenant, part) for part in range(self.workload.parts[tenant]))
        return TenantReader(self.cells, {unit: self.directory.places[unit].cell for unit in units})

    @property
    def stored(self) -> dict[tuple[int, int], int]:
        """The last seq by tenant and session, of the cells that own them."""
        owners = ((unit, cell.data[unit]) for cell in self.cells for unit in cell.owned)
        return {(unit.tenant, session): seq for unit, data in owners for session, seq in data.seqs.items()}

    @property
    def appended(self) -> list[Change]:
        """The appends in all feeds."""
        return [change for cell in self.cells for change in cell.feed if change.kind is Kind.APPENDED]
