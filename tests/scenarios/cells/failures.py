"""Nodes fail and are repaired; a standby takes over from a primary; a zone fails as a whole."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from .model import NODES, Cell

ZONES = 3


def zone_of(cell: int, node: int) -> int:
    """Nodes of a cell are spread over the zones."""
    return (cell + node) % ZONES


@dataclass(slots=True)
class Failures:
    """The rates: of a node and tick; ticks until a node is repaired and until a standby takes over."""

    cells: Sequence[Cell]
    chance: random.Random
    rate: float
    repair: int = 25
    takeover: int = 3
    failed: int = 0
    takeovers: int = 0
    out: dict[int, int] = field(default_factory=dict)
    """Ticks without service by cell."""

    def step(self, now: int) -> None:
        """Fails and repairs nodes, and lets standbys take over."""
        for cell in self.cells:
            for number, node in enumerate(cell.nodes):
                if node.up and self.chance.random() < self.rate:
                    self.fail(cell, number, now)
                elif not node.up and now >= node.back:
                    node.up = True
            other = 1 - cell.primary
            if not cell.nodes[cell.primary].up and cell.nodes[other].up:
                cell.primary, cell.failing_over = other, now + self.takeover
                self.takeovers += 1
            if not cell.serves(now):
                self.out[cell.number] = self.out.get(cell.number, 0) + 1

    def fail(self, cell: Cell, number: int, now: int) -> None:
        """Fails a node."""
        node = cell.nodes[number]
        node.up, node.back = False, now + self.repair
        self.failed += 1

    def fail_zone(self, zone: int, now: int) -> int:
        """Fails every node of a zone; returns how many cells lost their primary."""
        lost = 0
        for cell in self.cells:
            for number in range(NODES):
                if zone_of(cell.number, number) == zone and cell.nodes[number].up:
                    lost += number == cell.primary
                    self.fail(cell, number, now)
        return lost
