"""Tenants of very different weight, divided into units and placed on cells."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from .model import Unit

_FILL = 0.5
"""A tenant that is heavier than this share of a cell is divided into units that are not."""
_SESSIONS = 8
"""Sessions of a unit that are appended to at a time."""


class Workload:
    """Weights by a power law: the tenant of rank r has 1 / r ** skew of the load."""

    def __init__(self, tenants: int, cells: int, skew: float, chance: random.Random) -> None:
        self._chance = chance
        self.weights = [(rank + 1) ** -skew for rank in range(tenants)]
        total = sum(self.weights)
        self.weights = [weight / total for weight in self.weights]
        room = _FILL / cells
        self.parts = [max(1, math.ceil(weight / room)) for weight in self.weights]
        self.refresh()

    def refresh(self) -> None:
        """Takes changed weights into account."""
        total, self._bounds = 0.0, list[float]()
        for weight in self.weights:
            total += weight
            self._bounds.append(total)

    @property
    def units(self) -> list[Unit]:
        """All units."""
        return [Unit(tenant, part) for tenant, parts in enumerate(self.parts) for part in range(parts)]

    def weight(self, unit: Unit) -> float:
        """The share of the load that a unit has."""
        return self.weights[unit.tenant] / self.parts[unit.tenant]

    def appends(self, count: int) -> list[tuple[Unit, int]]:
        """Returns the units and sessions of so many appends."""
        tenants = self._chance.choices(range(len(self.weights)), cum_weights=self._bounds, k=count)
        found = []
        for tenant in tenants:
            session = self._chance.randrange(_SESSIONS * self.parts[tenant])
            # By the hash of the session, so that one session is in one unit.
            found.append((Unit(tenant, session % self.parts[tenant]), session))
        return found


def by_hash(units: Sequence[Unit], cells: int) -> dict[Unit, int]:
    """Places units without regard to their weight."""
    return {unit: hash((unit.tenant * 2_654_435_761 + unit.part * 40_503) % (1 << 61)) % cells for unit in units}


def by_weight(units: Sequence[Unit], cells: int, workload: Workload, chance: random.Random) -> dict[Unit, int]:
    """Places each unit on the lighter of two cells that chance selects, heavy units first."""
    loads, placed = [0.0] * cells, {}
    for unit in sorted(units, key=lambda each: (-workload.weight(each), each)):
        first, second = chance.randrange(cells), chance.randrange(cells)
        cell = first if loads[first] <= loads[second] else second
        placed[unit] = cell
        loads[cell] += workload.weight(unit)
    return placed


def balance(placed: dict[Unit, int], cells: int, workload: Workload) -> tuple[float, float]:
    """Returns the load of the heaviest cell and of the 99th percentile, each ÷ the mean."""
    loads = [0.0] * cells
    for unit, cell in placed.items():
        loads[cell] += workload.weight(unit)
    mean = sum(loads) / cells
    return max(loads) / mean, sorted(loads)[int(cells * 0.99)] / mean
