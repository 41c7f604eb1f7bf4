"""Records of the audit log, and which of them a caller may read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .errors import PermissionDenied
from .model import Caller

MOST_RECORDS = 100
"""The number of records of a page, by default."""


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """A call. `time_ns`: when it began, since the epoch. The caller's user and app are None if its credential has none."""

    time_ns: int
    method: str
    tenant: str
    caller_user_id: str | None
    caller_app: str | None
    peer: str
    session_id: str
    target_json: str
    outcome: str
    duration_ms: float


class AuditPlace(NamedTuple):
    """Where a read of the log continues: the number of the file, and the offset before which its records end."""

    file: int
    offset: int


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Conditions on records; None and empty match all. Times are nanoseconds since the epoch."""

    method: str = ""
    caller_user_id: str | None = None
    session_id: str = ""
    outcome: str = ""
    from_ns: int | None = None
    to_ns: int | None = None

    def matches(self, record: AuditRecord) -> bool:
        return (
            self.method in ("", record.method, record.method.rpartition("/")[2])
            and self.caller_user_id in (None, record.caller_user_id or "")
            and self.session_id in ("", record.session_id)
            and self.outcome in ("", record.outcome)
            and (self.from_ns is None or record.time_ns >= self.from_ns)
            and (self.to_ns is None or record.time_ns < self.to_ns)
        )


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """What a caller reads: the newest `limit` records before a place."""

    caller: Caller
    filter: AuditFilter
    limit: int
    before: AuditPlace | None = None

    def check(self) -> None:
        """Raises PermissionDenied for a filter by a user that the caller does not reach."""
        if self.caller.user_id is not None and self.filter.caller_user_id not in (None, self.caller.user_id):
            raise PermissionDenied("caller_user_id")

    def admits(self, record: AuditRecord) -> bool:
        """Whether the caller may read the record: its tenant's, and if it is bound, those of its own binding."""
        return (
            bool(record.tenant)
            and record.tenant == self.caller.tenant
            and self.caller.user_id in (None, record.caller_user_id)
            and self.caller.app in (None, record.caller_app)
        )


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Records, newest first. `next`: where the next page ends; None at the beginning of the log."""

    records: tuple[AuditRecord, ...] = ()
    next: AuditPlace | None = None
