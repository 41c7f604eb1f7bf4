"""Policies that drop sessions from a tool index."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Protocol, runtime_checkable


@runtime_checkable
class Eviction(Protocol):
    """The policy of one advisor. It is called from any thread, but not concurrently. Sessions are opaque strings."""

    def used(self, session: str) -> Iterable[str]:
        """Called when a session's tools are indexed or searched. Returns the sessions to drop, never this one."""

    def finished(self, session: str) -> Iterable[str]:
        """Called when a turn ends. Returns the sessions to drop."""

    def dropped(self, session: str) -> None:
        """Called after a session was dropped, for any reason."""


class NeverEvict:
    """Drops nothing. For a bounded number of sessions."""

    def used(self, session: str) -> Iterable[str]:
        return ()

    def finished(self, session: str) -> Iterable[str]:
        return ()

    def dropped(self, session: str) -> None:
        return


class AlwaysEvict(NeverEvict):
    """Drops a session after each turn."""

    def finished(self, session: str) -> Iterable[str]:
        return (session,)


class EvictLeastRecentlyUsed(NeverEvict):
    """Keeps the `max_sessions` sessions that were used last."""

    def __init__(self, max_sessions: int = 1000) -> None:
        """Raises ValueError for less than one session."""
        if max_sessions < 1:
            raise ValueError(f"max_sessions: at least 1, not {max_sessions}")
        self._max = max_sessions
        self._sessions: OrderedDict[str, None] = OrderedDict()

    def used(self, session: str) -> Iterable[str]:
        self._sessions[session] = None
        self._sessions.move_to_end(session)
        return [*self._sessions][: max(0, len(self._sessions) - self._max)]

    def dropped(self, session: str) -> None:
        self._sessions.pop(session, None)


class EvictAfter(NeverEvict):
    """Drops sessions that were not used for `seconds`, when another one is used."""

    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Raises ValueError for a time that is not positive."""
        if not seconds > 0:
            raise ValueError(f"seconds: more than 0, not {seconds}")
        self._seconds = seconds
        self._clock = clock
        self._last: OrderedDict[str, float] = OrderedDict()

    def used(self, session: str) -> Iterable[str]:
        now = self._clock()
        self._last[session] = now
        self._last.move_to_end(session)
        gone = []
        for each, last in self._last.items():
            if now - last <= self._seconds:
                break
            gone.append(each)
        return gone

    def dropped(self, session: str) -> None:
        self._last.pop(session, None)


class EvictByAny:
    """Drops the sessions that any of several policies drops."""

    def __init__(self, *policies: Eviction) -> None:
        """Raises ValueError without a policy."""
        if not policies:
            raise ValueError("policies: at least one; NeverEvict() drops nothing")
        self._policies = policies

    def used(self, session: str) -> Iterable[str]:
        return dict.fromkeys(each for policy in self._policies for each in policy.used(session))

    def finished(self, session: str) -> Iterable[str]:
        return dict.fromkeys(each for policy in self._policies for each in policy.finished(session))

    def dropped(self, session: str) -> None:
        for policy in self._policies:
            policy.dropped(session)
