"""The states of sessions as this server left them, so that an append need not read the state that it changes.

A state with the version that is remembered has these values: every change of a state raises its version. Columns are kept as
they are stored, so values that are encrypted are decrypted when they are used, and not after their key is destroyed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from ....domain.state.state import Totals
from .group import Holder, StateGroup, Wanted

_BYTES_REMEMBERED = 32 << 20
_BYTES_OF_ONE = 64 << 10
"""A larger state is read by each append that changes it."""
# What an object of each kind takes in memory, about.
_STATE_BYTES, _VALUE_BYTES = 500, 200

_Column = tuple[int, bytes]
"""The log version from which on a session has the value, and its column."""


@dataclass(slots=True)
class _State:
    """A state. `values`: None for keys that are known to have none. `present`: the number of the others. `size`: bytes."""

    totals: Totals
    past: int
    values: dict[str, _Column | None] = field(default_factory=dict)
    present: int = 0
    size: int = _STATE_BYTES

    def knows(self, key: str) -> bool:
        """Whether the value is known: no other key has one if all that have one are known."""
        return key in self.values or self.present == self.totals.keys

    def take_over(self, key: str, column: _Column | None) -> None:
        old = self.values.get(key)
        self.present += (column is not None) - (old is not None)
        self.size += _bytes(key, column) - (_bytes(key, old) if key in self.values else 0)
        self.values[key] = column


class RememberedStates:
    """Remembers the states of sessions, up to _BYTES_REMEMBERED."""

    def __init__(self) -> None:
        self._states: OrderedDict[int, _State] = OrderedDict()
        self._size = 0

    def add_to(self, group: StateGroup, wanted: Wanted, version: int | None = None) -> bool:
        """Adds the wanted scope to the group; returns False if what its patches may replace is not known. `version`: that of
        the stored state, 0 without one; None: the stored function that writes the group compares it."""
        assert isinstance(wanted.key, int)  # noqa: S101 - the scopes of users and apps are not remembered
        state = self._states.get(wanted.key)
        keys = wanted.keys
        if state is None or version not in (None, state.totals.version) or not all(map(state.knows, keys)):
            return False
        holder = Holder(wanted.key, wanted.tenant, wanted.key, state.totals.version, state.totals, state.past, keys)
        for key in keys:
            if (column := state.values.get(key)) is not None:
                group.put(holder, key, *column)
        group.add(holder)
        return True

    def remember(self, holders: Iterable[Holder]) -> None:
        """Takes over states as a commit left them."""
        for holder in holders:
            if not isinstance(holder.key, int):
                continue
            state = self._states.pop(holder.owner, None)
            if state is not None:
                self._size -= state.size
            if state is None or state.totals.version != holder.found:
                state = _State(holder.totals, holder.past)
            state.totals, state.past = holder.totals, holder.past
            for key in holder.known:
                value = holder.values.get(key)
                state.take_over(key, None if value is None else (value.since, value.column))
            if state.size <= _BYTES_OF_ONE:
                self._states[holder.owner] = state
                self._size += state.size
        while self._size > _BYTES_REMEMBERED:
            self._size -= self._states.popitem(last=False)[1].size


def _bytes(key: str, column: _Column | None) -> int:
    return _VALUE_BYTES + len(key) + (0 if column is None else len(column[1]))
