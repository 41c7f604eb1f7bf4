"""The directory: which cell has a unit. Routers cache what it said; the cells reject what is out of date."""

from __future__ import annotations

from typing import NamedTuple

from .model import Unit


class Place(NamedTuple):
    """Where a unit is. The epoch increases with each move."""

    cell: int
    epoch: int


class Directory:
    """A small database with strong consistency: the place of each unit."""

    def __init__(self) -> None:
        self.places: dict[Unit, Place] = {}
        self.lookups = 0

    def lookup(self, unit: Unit) -> Place:
        """Returns the place of a unit; routers call it for what they do not know or what was rejected."""
        self.lookups += 1
        return self.places[unit]

    def commit(self, unit: Unit, before: Place, after: Place) -> bool:
        """Moves a unit if it is where the mover believes it to be; True also if this was done already."""
        if self.places[unit] == after:
            return True
        if self.places[unit] != before:
            return False
        self.places[unit] = after
        return True


class Router:
    """Routes by its cache. It has no state that matters: it may start again at any time."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._cache: dict[Unit, Place] = {}

    def place(self, unit: Unit) -> Place:
        """Returns the place by the cache, else by the directory."""
        found = self._cache.get(unit)
        if found is None:
            found = self._cache[unit] = self._directory.lookup(unit)
        return found

    def forget(self, unit: Unit) -> None:
        """The cell rejected the unit."""
        self._cache.pop(unit, None)
