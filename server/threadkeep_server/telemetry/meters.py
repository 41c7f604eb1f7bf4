"""The instruments that parts of the server count with. One for each server, made by the composition root."""

from __future__ import annotations

from collections.abc import Iterator

from ..domain.errors import EventIdConflict, ThreadkeepError, VersionMismatch
from . import definitions
from .instruments import DURATIONS, Histogram, Reading, counters, histograms


class StoreMeters:
    """The instruments of a store."""

    def __init__(self) -> None:
        self._families = (
            appends := histograms(definitions.APPEND_DURATION),
            commits := histograms(definitions.COMMIT_DURATION),
            sizes := histograms(definitions.COMMIT_SIZE),
            failures := counters(definitions.COMMIT_FAILURES),
            conflicts := counters(definitions.APPEND_CONFLICTS),
            replays := counters(definitions.APPEND_REPLAYS),
            events := counters(definitions.EVENTS),
            appended := counters(definitions.APPENDED),
            created := counters(definitions.SESSIONS_CREATED),
            deleted := counters(definitions.SESSIONS_DELETED),
            compactions := counters(definitions.COMPACTIONS),
        )
        self.append_duration = appends.child()
        self.commit_duration = commits.child()
        self.commit_size = sizes.child()
        self.commit_failures = failures.child()
        self.version_mismatches = conflicts.child("VERSION_MISMATCH")
        self.event_id_conflicts = conflicts.child("EVENT_ID_CONFLICT")
        self.replays = replays.child()
        self.events = events.child()
        self.appended_bytes = appended.child()
        self.sessions_created = created.child()
        self.sessions_deleted = deleted.child()
        self.compactions = compactions.child()

    def count_append(self, events: int, replayed: int, size: int, seconds: float) -> None:
        """Counts an accepted append of so many events, of which `replayed` were stored already. `size`: its bytes."""
        self.append_duration.add(seconds)
        self.events.value += events - replayed
        self.appended_bytes.value += size
        self.replays.value += replayed

    def count_refusal(self, error: ThreadkeepError) -> None:
        """Counts an append that was refused, if that was a conflict."""
        self.version_mismatches.value += isinstance(error, VersionMismatch)
        self.event_id_conflicts.value += isinstance(error, EventIdConflict)

    def readings(self) -> Iterator[Reading]:
        """Returns the values of all instruments."""
        for family in self._families:
            yield family.read()


class Meters:
    """The instruments of a server."""

    def __init__(self) -> None:
        self.rpc_duration = histograms(definitions.RPC_DURATION)
        self.rpc_streams = counters(definitions.RPC_STREAMS)
        self.store = StoreMeters()
        self.loop_delay = histograms(definitions.LOOP_DELAY)
        self.limited = counters(definitions.LIMITED)
        self.search_duration = histograms(definitions.SEARCH_DURATION)
        self.provider_duration = histograms(definitions.PROVIDER_DURATION)

    def readings(self) -> Iterator[Reading]:
        """Returns the values of all instruments, and what follows from them."""
        yield self.rpc_duration.read()
        yield self._by_rpc()
        yield self.rpc_streams.read()
        yield self.limited.read()
        yield self.loop_delay.read()
        yield from self.store.readings()
        yield self.search_duration.read()
        yield self.provider_duration.read()

    def _by_rpc(self) -> Reading:
        """Returns the durations of calls of all codes together."""
        found: dict[str, Histogram] = {}
        for (_, method, _), each in self.rpc_duration.items():
            total = found.setdefault(method, Histogram(DURATIONS))
            total.sum += each.sum
            total.buckets = [sum(pair) for pair in zip(total.buckets, each.buckets, strict=True)]
        return Reading(definitions.CALL_DURATION, {(name,): each for name, each in sorted(found.items()) if any(each.buckets)})
