"""Moving a unit to another cell, step by step; each step may be repeated after a crash of the mover."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from .directory import Directory, Place
from .model import Cell, Change, Data, Kind, Unit


class Step(IntEnum):
    """What is to be done next. From FENCE on there is no way back: the move ends at the target."""

    COPY = 1
    CATCH_UP = 2
    FENCE = 3
    ARRIVE = 4
    COMMIT = 5
    CLEAN = 6
    DONE = 7
    GIVEN_UP = 8


@dataclass(slots=True)
class Move:
    """The record of a move, kept in the directory: any mover can continue it."""

    unit: Unit
    before: Place
    after: Place
    step: Step = Step.COPY
    fenced: int = 0
    """When the source stopped appends."""
    end: int = 0
    """Where the feed of the unit ends at the source."""


class Mover:
    """Runs moves. `crash`: the share of steps after which the mover dies and does not know what it did."""

    def __init__(self, cells: Sequence[Cell], directory: Directory, chance: random.Random, crash: float) -> None:
        self._cells, self._directory, self._chance, self._crash = cells, directory, chance, crash
        self.moves: list[Move] = []
        self.done: list[Move] = []
        self.given_up = self.crashes = 0
        self.pauses: list[int] = []

    def start(self, unit: Unit, target: int) -> None:
        """Begins to move a unit."""
        before = self._directory.places[unit]
        if before.cell != target and all(each.unit != unit for each in self.moves):
            self.moves.append(Move(unit, before, Place(target, before.epoch + 1)))

    def step(self, now: int) -> None:
        """Does the next step of each move, where the cells that it needs serve."""
        for move in self.moves:
            done = self._advance(move, now)
            if self._chance.random() < self._crash:
                self.crashes += 1  # the step is done and was not recorded: it is repeated
            else:
                move.step = done
        self.done += [each for each in self.moves if each.step is Step.DONE]
        self.given_up += sum(each.step is Step.GIVEN_UP for each in self.moves)
        self.moves = [each for each in self.moves if each.step not in (Step.DONE, Step.GIVEN_UP)]

    def _advance(self, move: Move, now: int) -> Step:
        source, target = self._cells[move.before.cell], self._cells[move.after.cell]
        if move.step in (Step.COPY, Step.CATCH_UP):
            if not (source.serves(now) and target.serves(now)):
                target.data.pop(move.unit, None)
                return Step.GIVEN_UP
            target.data[move.unit] = source.data[move.unit].copy()
            return Step(move.step + 1)
        if move.step is Step.FENCE:
            return self._fence(move, source, now) if source.serves(now) else Step.FENCE
        if move.step is Step.ARRIVE:
            return self._arrive(move, source.data.get(move.unit), target) if _serve(now, source, target) else Step.ARRIVE
        if move.step is Step.COMMIT:
            assert self._directory.commit(move.unit, move.before, move.after), "the unit is somewhere else"
            return Step.CLEAN
        self.pauses.append(now - move.fenced)
        source.data.pop(move.unit, None)
        return Step.DONE

    def _fence(self, move: Move, source: Cell, now: int) -> Step:
        """In one transaction of the source: it stops appends and ends the feed of the unit."""
        if source.owned.get(move.unit) == move.before.epoch:
            del source.owned[move.unit]
            source.feed.append(Change(Kind.DEPARTED, move.unit, cell=move.after.cell))
            move.end, move.fenced = len(source.feed), now
        return Step.ARRIVE

    def _arrive(self, move: Move, rest: Data | None, target: Cell) -> Step:
        """In one transaction of the target: it has the rest, begins the feed of the unit, and takes appends."""
        if target.owned.get(move.unit) != move.after.epoch:
            assert rest is not None, "the source was cleaned too early"
            target.data[move.unit] = rest.copy()
            target.owned[move.unit] = move.after.epoch
            target.feed.append(Change(Kind.ARRIVED, move.unit, cell=move.before.cell, position=move.end))
        return Step.COMMIT


def _serve(now: int, *cells: Cell) -> bool:
    return all(cell.serves(now) for cell in cells)
