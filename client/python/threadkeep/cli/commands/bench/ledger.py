"""Which events were acknowledged and which the watchers received: each once, in order, or what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass


@dataclass(slots=True)
class Findings:
    """What a run found, in numbers of events; of deliveries where it says so."""

    acknowledged: int = 0
    unknown: int = 0
    """Events of appends that failed: they may be stored."""
    delivered: int = 0
    """Deliveries to watchers."""
    lost: int = 0
    """Acknowledged events that a watcher did not receive, or that are not stored."""
    duplicated: int = 0
    """Deliveries of an event that the watcher had received before."""
    disordered: int = 0
    """Deliveries after one with a higher seq of the session."""
    wrong: int = 0
    """Events with another id at their seq than the append or another watcher reported."""

    @property
    def exact(self) -> bool:
        """Whether every acknowledged event was delivered once and in order."""
        return not (self.lost or self.duplicated or self.disordered or self.wrong)

    def as_dict(self) -> dict[str, int | bool]:
        """The numbers by name."""
        return {**asdict(self), "exact": self.exact}


@dataclass(slots=True)
class _Pending:
    """An event that was acknowledged or delivered, until both happened at every place."""

    event_id: str
    waiting: int
    acknowledged: bool = False


class Ledger:
    """Compares acknowledgements with deliveries. It holds the events that are still awaited, not those of the whole run.

    `watchers`: by session, the number of watchers that follow it from its first event on. Nobody else may append to these
    sessions.
    """

    def __init__(self, watchers: Mapping[str, int]) -> None:
        self.findings = Findings()
        self._watchers = watchers
        self._pending: dict[str, dict[int, _Pending]] = {session: {} for session in watchers}
        self._sent: dict[str, float] = {}
        self._last: dict[tuple[int, str], int] = {}
        self._skipped: set[tuple[int, str, int]] = set()
        self._highest = dict.fromkeys(watchers, 0)
        self._awaited = 0

    @property
    def settled(self) -> bool:
        """Whether every acknowledged event was delivered to all its watchers."""
        return not self._awaited

    def send(self, event_ids: Iterable[str], at: float) -> None:
        """Events are about to be appended."""
        self._sent.update(dict.fromkeys(event_ids, at))

    def fail(self, event_ids: Iterable[str]) -> None:
        """An append failed: its events may be stored or not."""
        self.findings.unknown += len(list(event_ids))

    def acknowledge(self, session: str, seq: int, event_id: str) -> None:
        """The server reported the event as stored."""
        self.findings.acknowledged += 1
        self._highest[session] = max(self._highest[session], seq)
        pending = self._at(session, seq, event_id)
        self.findings.wrong += pending.acknowledged
        pending.acknowledged = True
        self._awaited += 1
        self._close(session, seq, pending)

    def deliver(self, watcher: int, session: str, seq: int, event_id: str, at: float) -> float | None:
        """A watcher received the event; returns the seconds since it was sent, None for one that it had already."""
        self.findings.delivered += 1
        last = self._last.get((watcher, session), 0)
        if seq <= last:
            if (watcher, session, seq) not in self._skipped:
                self.findings.duplicated += 1
                return None
            self._skipped.remove((watcher, session, seq))
            self.findings.disordered += 1
        else:
            self._skipped.update((watcher, session, each) for each in range(last + 1, seq))
            self._last[watcher, session] = seq
        sent = self._sent.get(event_id)
        pending = self._at(session, seq, event_id)
        pending.waiting -= 1
        self._close(session, seq, pending)
        return None if sent is None else at - sent

    def end(self, stored: Mapping[str, int] | None) -> Findings:
        """Counts what is missing, now that nothing more is delivered. `stored`: by session, the last seq that the server has;
        None if that is not known."""
        missing = {
            (session, seq)
            for session, events in self._pending.items()
            for seq, pending in events.items()
            if pending.acknowledged and pending.waiting > 0
        }
        for session, highest in self._highest.items():
            found = highest if stored is None else stored.get(session, 0)
            missing.update((session, seq) for seq in range(found + 1, highest + 1))
        self.findings.lost = len(missing)
        return self.findings

    def _at(self, session: str, seq: int, event_id: str) -> _Pending:
        pending = self._pending[session].setdefault(seq, _Pending(event_id, self._watchers[session]))
        self.findings.wrong += pending.event_id != event_id
        return pending

    def _close(self, session: str, seq: int, pending: _Pending) -> None:
        if pending.acknowledged and pending.waiting <= 0:
            self._awaited -= 1
            self._sent.pop(pending.event_id, None)
            del self._pending[session][seq]
