"""The journal of consumer members, a file that they share, and the invariants that it must satisfy.

A line is written by one appending write, so the order of lines is an order of the actions of all members.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from threadkeep.v1.subscription_pb2 import SESSION_CHANGE_KIND_CREATED, Change

CREATED = 0
GONE = 1 << 62
# A stopped member that continues does not notice at once that another member has its work.
_FINDS_OUT_WITHIN = 10.0


class Deed(StrEnum):
    BEGUN = "begun"
    DONE = "done"
    FAILED = "failed"
    CONFIRMED = "confirmed"
    """The server has confirmed that the acknowledgement is durable."""
    ALL_KILLS = "killed"
    STOPPED = "stopped"
    CONTINUED = "continued"


class Line(NamedTuple):
    """`change`: CREATED, GONE, or the log_version of the change."""

    member: str
    deed: Deed
    session: str = ""
    change: int = 0
    seqs: Sequence[int] = ()
    at: float = 0.0


def number_of(change: Change) -> int:
    """Returns the number of the change in the journal. Tests with a journal do not update sessions or reuse names."""
    if change.HasField("session_change"):
        return CREATED if change.session_change.kind == SESSION_CHANGE_KIND_CREATED else GONE
    return change.versions.log_version


def seqs_of(change: Change) -> list[int]:
    return [event.seq for event in (*change.batch.events, *change.compaction.inserted)]


class Journal:
    """The journal file, for writers and for the reader."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        self._read = 0

    def note(self, member: str, deed: Deed, change: Change | None = None) -> None:
        line = Line(member, deed, at=time.monotonic())
        if change is not None:
            line = line._replace(session=change.session.session_id, change=number_of(change), seqs=seqs_of(change))
        os.write(self._file, json.dumps(line).encode() + b"\n")

    def news(self) -> list[Line]:
        """Returns the new lines. An incomplete line is returned later."""
        size = os.fstat(self._file).st_size
        written, _, _ = os.pread(self._file, size - self._read, self._read).rpartition(b"\n")
        self._read += len(written) + bool(written)
        lines = written.splitlines()
        return [Line(member, Deed(deed), *rest) for member, deed, *rest in map(json.loads, lines)]

    def close(self) -> None:
        os.close(self._file)


@dataclass
class Invariants:
    """Checks every line against the previous ones.

    A member that was stopped until others received its work, or that was killed, is exempt from rules that only a healthy
    member can keep.
    """

    done: defaultdict[str, dict[int, Sequence[int]]] = field(default_factory=lambda: defaultdict(dict))
    """The seqs of the events, by session and change."""
    handled: Counter[str] = field(default_factory=Counter)
    confirmed: set[tuple[str, int]] = field(default_factory=set)
    parked: set[tuple[str, int]] = field(default_factory=set)
    """Changes that the test has seen parked: they may be handled out of order."""
    repeats: int = 0
    _under_way: defaultdict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    _excused: dict[str, float] = field(default_factory=dict)
    """The end of the exemption."""

    def take(self, line: Line) -> None:
        match line.deed:
            case Deed.BEGUN:
                self._begun(line)
            case Deed.DONE:
                self._done(line)
            case Deed.FAILED:
                self._under_way[line.session].pop(line.member, None)
            case Deed.CONFIRMED:
                assert line.change in self.done[line.session], f"confirmed, but never handled: {line}"
                self.confirmed.add((line.session, line.change))
            case Deed.ALL_KILLS | Deed.STOPPED:
                self._excused[line.member] = math.inf
            case Deed.CONTINUED:
                self._excused[line.member] = line.at + _FINDS_OUT_WITHIN

    def _begun(self, line: Line) -> None:
        self._in_order(line)
        if not self._is_excused(line.member, line.at):
            again = (line.session, line.change) in self.confirmed
            assert not again, f"its acknowledgement was confirmed, and it came again: {line}"
            others = self._under_way[line.session].keys() - {line.member}
            well = [other for other in others if not self._is_excused(other, line.at)]
            assert not well, f"two members at once: {line} while {well} had {self._under_way[line.session]}"
        self._under_way[line.session][line.member] = line.change

    def _done(self, line: Line) -> None:
        self._in_order(line)
        self._under_way[line.session].pop(line.member, None)
        self.repeats += line.change in self.done[line.session]
        self.done[line.session].setdefault(line.change, line.seqs)
        self.handled[line.member] += 1

    def _in_order(self, line: Line) -> None:
        if (line.session, line.change) in self.parked:
            return
        done = self.done[line.session]
        later = line.change not in done and [change for change in done if change > line.change]
        if later == [GONE] and self._is_excused(line.member, line.at):
            return  # it was delivered before the deletion of the session, after which other members no longer receive it
        assert not later, f"out of order, after {later}: {line}"

    def _is_excused(self, member: str, at: float) -> bool:
        return at < self._excused.get(member, 0.0)
