"""Policies of retention: which sessions leave the database, and how. Times in nanoseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from ..model import SECOND_NS, Session

RESTORED_STAYS = 7 * 86_400 * SECOND_NS
"""So long a session that was restored or imported is not selected by its age, unless the policy's age is shorter."""
_MILLISECOND = SECOND_NS // 1000
ANY_VALUE = "*"
"""In a condition on a label: the session has the label, with any value."""


class Action(Enum):
    """What becomes of a session: it is written to an archive and then deleted, or only deleted."""

    ARCHIVE = "archive"
    DELETE = "delete"


class Form(Enum):
    """The format of an archive; the value is the suffix of its name."""

    JSON_LINES = "jsonl"
    JSON_LINES_GZIP = "jsonl.gz"
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """Selects sessions; an empty condition selects all. `idle`: since the last change, `age`: since the creation; of a policy
    with both, a session must have reached both. `labels`: all that a session must have; `keep`: a session with one of these
    stays."""

    name: str
    action: Action
    form: Form = Form.JSON_LINES_GZIP
    tenants: frozenset[str] = frozenset()
    apps: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()
    labels: Mapping[str, str] = field(default_factory=dict)
    keep: Mapping[str, str] = field(default_factory=dict)
    idle: int | None = None
    age: int | None = None

    def concerns(self, tenant: str) -> bool:
        """Reports whether sessions of the tenant can be selected."""
        return not self.tenants or tenant in self.tenants

    def takes(self, session: Session, now: int) -> bool:
        """Reports whether the policy selects a session of a tenant that it concerns."""
        ref = session.ref
        if self.age is not None and now - stored_time(session) < min(self.age, RESTORED_STAYS):
            return False
        named = (not self.apps or ref.app in self.apps) and (not self.users or ref.user_id in self.users)
        old = _reached(session.update_time, self.idle, now) and _reached(session.create_time, self.age, now)
        return named and old and _all(self.labels, session.labels) and not self.holds(session)

    def holds(self, session: Session) -> bool:
        """Reports whether a label keeps the session."""
        return any(_has(session.labels, name, value) for name, value in self.keep.items())


def stored_time(session: Session) -> int:
    """Returns when the session was stored, which is later than its creation if it was imported or restored: the time in its
    uid, a UUIDv7, to a millisecond; 0 if it has none."""
    digits = session.uid.replace("-", "")
    known = len(digits) == 32 and digits[12] == "7" and all(each in "0123456789abcdef" for each in digits)
    return int(digits[:12], 16) * _MILLISECOND if known else 0


def policy_for(policies: Sequence[RetentionPolicy], tenant: str, session: Session, now: int) -> RetentionPolicy | None:
    """Returns the first policy that selects the session. One that any policy holds stays."""
    concerned = [policy for policy in policies if policy.concerns(tenant)]
    if any(policy.holds(session) for policy in concerned):
        return None
    return next((policy for policy in concerned if policy.takes(session, now)), None)


def _reached(since: int, span: int | None, now: int) -> bool:
    return span is None or now - since >= span


def _all(wanted: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return all(_has(labels, name, value) for name, value in wanted.items())


def _has(labels: Mapping[str, str], name: str, value: str) -> bool:
    return name in labels and value in (ANY_VALUE, labels[name])
