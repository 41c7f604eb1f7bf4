"""A plan that is ready to be applied."""

from __future__ import annotations

from dataclasses import dataclass

from ...compaction.plan import Plan
from ...domain.model import Counters, Session
from ...store.contract.compaction import Inserts


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan with its new events, the session it was made for, and the counters after it."""

    plan: Plan
    inserts: Inserts
    session: Session
    after: Counters
