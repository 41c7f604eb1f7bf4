"""State: part of the Store contract."""

from __future__ import annotations

from typing import Protocol

from ...domain.state.state import StateName, StatePage, StatePatch, StateQuery


class StateStore(Protocol):
    """Reads and changes the state of sessions, users and apps; AppendRequest.state changes it together with events.

    A session's state is deleted with it. Of a session's keys, the values that they had at each log version are kept; of the
    keys of users and apps the present values only.
    """

    async def get_state(self, tenant: str, name: StateName, query: StateQuery) -> StatePage:
        """Returns what a StateQuery selects; a page ends early rather than exceed max_bytes, but has a value if any
        remains. A user or an app without state has version 0. Raises SessionNotFound, AmbiguousSession."""
        ...

    async def patch_state(
        self, tenant: str, name: StateName, patch: StatePatch, now: int, *, expected_version: int | None = None
    ) -> int:
        """Applies the patch, all or none, and returns the version after it; one that changes nothing changes no version and
        records no change. A session's update_time is at least `now` afterwards. Raises SessionNotFound, AmbiguousSession,
        VersionMismatch, StateTooLarge, StoreUnavailable."""
        ...
