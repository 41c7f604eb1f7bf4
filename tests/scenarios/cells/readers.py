"""Subscriptions over several feeds: a position per feed, in a token, and what they deliver.

A reader handles pages together with the token behind them. It may die at any time, and then another one resumes with that token
and nothing else.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .model import Cell, Change, Kind, Unit

_PAGE = 50


@dataclass(slots=True)
class Delivered:
    """What a subscriber received, and what was wrong with it."""

    seqs: dict[tuple[int, int], int] = field(default_factory=dict)
    count: int = 0
    repeated: int = 0
    gaps: int = 0
    newest: int = 0
    overtaken: int = 0
    """Changes that were committed earlier than one that was delivered before: a vector has no order across sessions."""

    def take(self, change: Change) -> None:
        """Receives a change."""
        key = (change.unit.tenant, change.session)
        last = self.seqs.get(key, 0)
        self.count += 1
        self.repeated += change.seq <= last
        self.gaps += change.seq > last + 1
        self.seqs[key] = max(last, change.seq)
        self.overtaken += change.time < self.newest
        self.newest = max(self.newest, change.time)


class FleetReader:
    """Reads the feeds of all cells, as an operator or an archiver does. The token is a position by cell.

    `barrier`: it does not read past the arrival of a unit before it has read the feed that the unit came from up to its end.
    """

    def __init__(self, cells: Sequence[Cell], *, barrier: bool) -> None:
        self._cells, self._barrier = cells, barrier
        self.delivered = Delivered()
        self.token = seal({})
        self.resumes = 0

    def step(self, chance: random.Random, share: float, now: int, *, dies: bool = False) -> None:
        """Reads a page of this share of the cells and handles them together with the token. A reader that dies has handled
        nothing of it, and another one resumes with the last token."""
        positions: dict[str, int] = opened(self.token)
        handled: list[Change] = []
        for cell in self._cells:
            if chance.random() < share and cell.serves(now):
                page, positions[str(cell.number)] = self._page(cell, positions)
                handled += page
        if dies:
            self.resumes += 1
            return
        for change in handled:
            self.delivered.take(change)
        self.token = seal(positions)

    def drain(self, now: int) -> None:
        """Reads until nothing is left."""
        left = True
        while left:
            before = self.token
            self.step(random.Random(0), 1.1, now)
            left = self.token != before

    def _page(self, cell: Cell, positions: Mapping[str, int]) -> tuple[list[Change], int]:
        begin = at = positions.get(str(cell.number), 0)
        page = []
        for change in cell.feed[begin : begin + _PAGE]:
            if self._barrier and change.kind is Kind.ARRIVED and positions.get(str(change.cell), 0) < change.position:
                break
            at += 1
            if change.kind is Kind.APPENDED:
                page.append(change)
        return page, at


class TenantReader:
    """Reads the feeds of one tenant's units, each where the unit is. The token is a cell and a position by unit."""

    def __init__(self, cells: Sequence[Cell], places: Mapping[Unit, int]) -> None:
        self._cells = cells
        self.delivered = Delivered()
        self.token = seal({str(unit.part): [cell, 0] for unit, cell in places.items()})
        self._units = {str(unit.part): unit for unit in places}
        self.followed = 0

    def step(self, chance: random.Random, share: float, now: int) -> None:
        """Reads a page of this share of the units."""
        positions: dict[str, list[int]] = opened(self.token)
        for part, unit in self._units.items():
            cell = self._cells[positions[part][0]]
            if chance.random() < share and cell.serves(now):
                positions[part] = self._read(unit, cell, positions[part][1])
        self.token = seal(positions)

    def drain(self, now: int) -> None:
        """Reads until nothing is left."""
        left = True
        while left:
            before = self.token
            self.step(random.Random(0), 1.1, now)
            left = self.token != before

    def _read(self, unit: Unit, cell: Cell, begin: int) -> list[int]:
        at = begin
        for change in cell.feed[begin : begin + _PAGE]:
            at += 1
            if change.unit != unit:
                continue
            if change.kind is Kind.APPENDED:
                self.delivered.take(change)
            elif change.kind is Kind.DEPARTED and (arrival := self._arrival(unit, cell.number, at, change.cell)):
                self.followed += 1
                return [change.cell, arrival]
            elif change.kind is Kind.DEPARTED:
                return [cell.number, at - 1]  # it has not arrived yet: the departure is read again
        return [cell.number, at]

    def _arrival(self, unit: Unit, source: int, end: int, target: int) -> int:
        """The position of the arrival at the target; 0 if there is none yet."""
        for position, change in enumerate(self._cells[target].feed, start=1):
            if (change.kind, change.unit, change.cell, change.position) == (Kind.ARRIVED, unit, source, end):
                return position
        return 0


def seal(positions: object) -> str:
    """Returns a token that a client can keep."""
    return base64.urlsafe_b64encode(json.dumps(positions, separators=(",", ":")).encode()).decode()


def opened(token: str) -> Any:
    """Returns what a token has."""
    return json.loads(base64.urlsafe_b64decode(token))
