"""What retention did since the server started."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

from ...domain.retention.policies import Action
from ...domain.retention.receipts import Outcome, Receipt


class RunOutcome(Enum):
    """How a run over all tenants ended. FAILED: a session or the archive did; HELD: it was refused."""

    DONE = "done"
    FAILED = "failed"
    HELD = "held"


SESSION_OUTCOMES = ("archived", "deleted", "changed", "failed")


@dataclass(slots=True)
class RetentionStats:
    """`sessions`: by SESSION_OUTCOMES, of all runs; `runs`: of those in the background. `last_success`: when the last of these
    was done, at first when the server started, in nanoseconds."""

    last_success: int
    sessions: Counter[str] = field(default_factory=Counter)
    runs: Counter[RunOutcome] = field(default_factory=Counter)

    def note(self, receipt: Receipt) -> None:
        """Counts the session of a receipt with an outcome."""
        archived = receipt.outcome is Outcome.DELETED and receipt.action is Action.ARCHIVE
        self.sessions["archived" if archived else receipt.outcome.value] += 1

    def ended(self, outcome: RunOutcome, now: int) -> None:
        """Counts a run in the background."""
        self.runs[outcome] += 1
        if outcome is RunOutcome.DONE:
            self.last_success = now
