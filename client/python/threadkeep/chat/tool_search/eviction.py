"""When the tools of a session leave an index."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Protocol, runtime_checkable


@runtime_checkable
class Eviction(Protocol):
    """One policy of one advisor, which asks it from any thread, but from one at a time. Sessions are opaque texts."""

    def used(self, session: str) -> Iterable[str]:
        """A session's tools are indexed or searched. Returns the sessions to drop now, never this one."""

    def finished(self, session: str) -> Iterable[str]:
        """A turn of the session has ended. Returns the sessions to drop now."""

    def dropped(self, session: str) -> None:
        """Its tools are no longer indexed, whoever wanted that."""


class NeverEvict:
    """For a number of sessions that is bounded by itself."""

    def used(self, session: str) -> Iterable[str]:
        return ()

    def finished(self, session: str) -> Iterable[str]:
        return ()

    def dropped(self, session: str) -> None:
        return


class AlwaysEvict(NeverEvict):
    """Each turn indexes its tools anew, and leaves nothing behind."""

    def finished(self, session: str) -> Iterable[str]:
        return (session,)


class EvictLeastRecentlyUsed(NeverEvict):
    """At most `max_sessions` stay: those that were used last."""

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
    """Sessions that were not used for `seconds` go when another is used."""

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
    """Whatever one of several policies drops."""

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
