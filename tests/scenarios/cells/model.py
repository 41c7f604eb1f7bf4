"""Cells, and what is stored in them.

A cell is a primary, its synchronous standby and two servers. A tenant is one unit, or several if a cell cannot hold it; then
its sessions are divided. A unit is in one cell at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

NODES = 4
"""Nodes of a cell: primary, standby, two servers."""


class Kind(IntEnum):
    """What a change of a cell's feed is."""

    APPENDED = 1
    DEPARTED = 2
    ARRIVED = 3


class Unit(NamedTuple):
    """A tenant, or a part of its sessions."""

    tenant: int
    part: int


class Change(NamedTuple):
    """One entry of a feed. `cell`: of a DEPARTED where the unit goes; of an ARRIVED where it was, and `position`: where its
    feed ended there."""

    kind: Kind
    unit: Unit
    session: int = 0
    seq: int = 0
    time: int = 0
    cell: int = -1
    position: int = 0


@dataclass(slots=True)
class Data:
    """The rows of a unit: the last seq by session, and the seq by event id, for replays."""

    seqs: dict[int, int] = field(default_factory=dict)
    stored: dict[int, tuple[int, int]] = field(default_factory=dict)

    def copy(self) -> Data:
        """Returns the rows as of now."""
        return Data(dict(self.seqs), dict(self.stored))


@dataclass(slots=True)
class Node:
    """`back`: when a failed node is repaired."""

    up: bool = True
    back: int = 0


@dataclass(slots=True)
class Cell:
    """One cell. `owned`: the epoch of each unit that it serves; a row of its database, so that it fences appends by itself."""

    number: int
    feed: list[Change] = field(default_factory=list)
    data: dict[Unit, Data] = field(default_factory=dict)
    owned: dict[Unit, int] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=lambda: [Node() for _ in range(NODES)])
    primary: int = 0
    failing_over: int = 0
    """Until when a standby takes over."""

    def serves(self, now: int) -> bool:
        """Whether appends and reads succeed: a server and the primary are up."""
        servers = self.nodes[2].up or self.nodes[3].up
        return servers and self.nodes[self.primary].up and now >= self.failing_over

    def append(self, unit: Unit, epoch: int, session: int, event: int, now: int) -> bool:
        """Stores the event once and returns True; returns False if another cell owns the unit, or it is on its way there."""
        if self.owned.get(unit) != epoch:
            return False
        data = self.data[unit]
        if event not in data.stored:
            seq = data.seqs.get(session, 0) + 1
            data.seqs[session] = seq
            data.stored[event] = (session, seq)
            self.feed.append(Change(Kind.APPENDED, unit, session, seq, now))
        return True
