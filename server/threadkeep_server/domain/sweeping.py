"""Whether expired sessions and memories may be deleted now. A wrong clock would delete what nothing brings back."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from .model import SECOND_NS

MOST_JUMP_NS = 3600 * SECOND_NS
"""How far the clock may move against the monotonic one between two looks; leap seconds and NTP stay below."""
MOST_SILENCE_NS = 24 * 3600 * SECOND_NS
"""How long before the start the newest change may have been stored."""
FEW_SESSIONS = 1000
"""So many sessions may expire at once, even if they are all."""
MOST_SHARE = 0.1


class Hold(Enum):
    """A reason to delete no expired session for now."""

    JUMP = "the clock has moved by hours against the time that passed"
    SILENCE = "the newest stored change is more than a day old at the start"
    SHARE = "more than a tenth of all sessions have expired"


class SweepFacts(NamedTuple):
    """What is known before a sweep. `expired`, `sessions`: numbers of sessions, of which `sessions` is 0 if few have expired.
    `newest`: the time of the newest stored change, of the newest session if the feed is trimmed; None without any. `memories`:
    the number of expired memories, counted up to a limit."""

    expired: int
    sessions: int
    newest: int | None
    memories: int = 0


class SweepGuard:
    """Decides before each sweep. Times in nanoseconds; `hold_ns`: how long sweeps wait before they believe the clock, 0: they
    always do."""

    def __init__(self, hold_ns: int) -> None:
        self._hold_ns = hold_ns
        self._offset: int | None = None
        self._until: dict[Hold, int] = {}

    def held(self, facts: SweepFacts, now: int, monotonic: int) -> Hold | None:
        """Returns why nothing may be deleted, None if it may. Call it before each sweep, also if nothing has expired."""
        offset = now - monotonic
        first, before = self._offset is None, offset if self._offset is None else self._offset
        reasons = {
            Hold.JUMP: abs(offset - before) > MOST_JUMP_NS,
            Hold.SILENCE: Hold.SILENCE in self._until or (first and facts.newest is not None and _is_old(facts.newest, now)),
            Hold.SHARE: facts.expired > FEW_SESSIONS and facts.expired > MOST_SHARE * facts.sessions,
        }
        for reason, holds in reasons.items():
            if not holds:
                self._until.pop(reason, None)
            elif monotonic >= self._until.setdefault(reason, monotonic + self._hold_ns):
                reasons[reason] = False
        if not reasons[Hold.JUMP]:
            self._offset = offset  # drifts with the clock, and is believed after a hold
        return next((reason for reason, holds in reasons.items() if holds and (facts.expired or facts.memories)), None)


def _is_old(newest: int, now: int) -> bool:
    return now - newest > MOST_SILENCE_NS
