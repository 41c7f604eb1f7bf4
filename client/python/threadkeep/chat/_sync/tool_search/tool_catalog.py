# Generated from _async by `make sync-client`. Do not edit.
"""The tools of sessions that an index contains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from threading import Lock

from ...tool_search.eviction import Eviction
from ...tool_search.tool_index import fingerprint
from ...tools.tool import ToolDefinition
from .tool_index import ToolIndex

_SETS_OF_A_SESSION = 4
"""Tool sets per session: agents that share a session may have different tools. The oldest set is dropped first."""


class ToolCatalog:
    """Adds a session's tools to the index when they are new or changed, and drops them by the policy."""

    def __init__(self, index: ToolIndex, eviction: Eviction) -> None:
        self.index = index
        self.eviction = eviction
        self._keys: dict[str, dict[str, str]] = {}  # by session and fingerprint
        self._numbers = count()
        self._lock = Lock()

    @property
    def sessions(self) -> tuple[str, ...]:
        """Sessions whose tools are indexed."""
        with self._lock:
            return tuple(self._keys)

    def hold(self, session: str, tools: Sequence[ToolDefinition]) -> str:
        """Returns the key of these tools in the index, after adding them if necessary."""
        same = fingerprint(tools)
        with self._lock:
            key = self._keys.get(session, {}).get(same)
            left = self._used(session) if key else []
            # Unique: a slow drop of an older key of the same tools must not drop these.
            new = f"{session} {same} {next(self._numbers)}"
        if key is None:
            self.index.put(new, tools)
            with self._lock:
                key = self._keys.setdefault(session, {}).setdefault(same, new)
                left = self._used(session) + ([new] if key != new else [])
        self._drop(left)
        return key

    def find(self, session: str, tools: Sequence[ToolDefinition], query: str, limit: int) -> tuple[ToolDefinition, ...]:
        """Returns the matching tools, best first; adds them to the index again if they were dropped."""
        by_name = {each.name: each for each in tools}
        found = self.index.find(self.hold(session, tools), query, limit)
        return tuple(by_name[name] for name in dict.fromkeys(found) if name in by_name)[:limit]

    def finished(self, session: str) -> None:
        """Applies the policy after a turn."""
        with self._lock:
            left = self._dropped(self.eviction.finished(session))
        self._drop(left)

    def evict(self, session: str) -> None:
        """Drops a session's tools regardless of the policy. Unknown sessions are ignored."""
        with self._lock:
            left = self._dropped([session])
        self._drop(left)

    def _used(self, session: str) -> list[str]:
        """Marks a session as used. Returns the keys to drop."""
        keys = self._keys[session]
        oldest = [keys.pop(same) for same in list(keys)[:-_SETS_OF_A_SESSION]]
        return oldest + self._dropped(self.eviction.used(session))

    def _dropped(self, sessions: Iterable[str]) -> list[str]:
        """Removes sessions. Returns their keys."""
        keys: list[str] = []
        for session in list(sessions):
            keys += self._keys.pop(session, {}).values()
            self.eviction.dropped(session)
        return keys

    def _drop(self, keys: Sequence[str]) -> None:
        for key in keys:
            self.index.drop(key)
