"""The state of one scope in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice

from ...domain.state.state import StatePage, StatePatch, StateQuery, Totals, advanced, effective, size_of


@dataclass(slots=True)
class HeldState:
    """Values by key. `number`: negative, for the feed; 0 for that of a session. `past`: for each key, the log versions from
    which on it had a value, and that value; None: it had none."""

    number: int = 0
    values: dict[str, str] = field(default_factory=dict)
    totals: Totals = field(default_factory=Totals)
    past: dict[str, list[tuple[int, str | None]]] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Mapping[str, str]) -> HeldState:
        """Returns the state of a new session."""
        state = cls()
        if values:
            state.apply(StatePatch(dict(values)), Totals(1, len(values), size_of(values.items())), 0)
        return state

    def planned(self, patch: StatePatch, field: str) -> tuple[StatePatch, Totals] | None:
        """Returns what the patch changes, and the totals after it; None if it changes nothing. Raises StateTooLarge."""
        change = effective(patch, self.values)
        return (change, advanced(self.totals, change, self.values, field)) if change else None

    def apply(self, change: StatePatch, totals: Totals, log_version: int) -> None:
        self.totals = totals
        for key in change.remove:
            del self.values[key]
        self.values |= change.set
        for key in (*change.set, *change.remove):
            past = self.past.setdefault(key, [])
            if past and past[-1][0] == log_version:
                past.pop()
            past.append((log_version, change.set.get(key)))

    def page(self, query: StateQuery) -> StatePage:
        values = self.values if query.as_of is None else self.as_of(query.as_of)
        found = [key for key in sorted(values, key=str.encode) if query.selects(key)]
        taken, size = 0, 0
        for key in islice(found, query.limit):
            size += size_of([(key, values[key])])
            if taken and size > query.max_bytes:
                break
            taken += 1
        return StatePage({key: values[key] for key in found[:taken]}, self.totals.version, more=taken < len(found))

    def as_of(self, log_version: int) -> dict[str, str]:
        """Returns the values of a log version."""
        latest = {
            key: next((value for since, value in reversed(past) if since <= log_version), None)
            for key, past in self.past.items()
        }
        return {key: value for key, value in latest.items() if value is not None}
