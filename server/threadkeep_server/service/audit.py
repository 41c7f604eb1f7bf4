"""Reads of the audit log."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from ..domain.audit import AuditPage, AuditQuery
from ..domain.errors import AuditLogUnavailable, RateLimited
from .feed.subscriptions import Quota

_MOST_READS: Final = 4
_MOST_READS_PER_CALLER: Final = 2


class AuditLog(Protocol):
    """A log that can be read."""

    def read(self, query: AuditQuery) -> AuditPage:
        """Returns a page of what the query admits. Reads a bounded part of the log and blocks for as long. Raises
        InvalidPageToken for a place that the log no longer has, and AuditLogUnavailable."""
        ...


class AuditService:
    """Use cases on the audit log. None: there is no log that can be read."""

    def __init__(self, log: AuditLog | None = None) -> None:
        self._log = log
        self._reads = Quota(
            "audit_reads", most=_MOST_READS, most_per_caller=_MOST_READS_PER_CALLER, refuse=lambda name, _: RateLimited(name)
        )

    async def list(self, query: AuditQuery) -> AuditPage:
        """Returns a page of records. Raises PermissionDenied, AuditLogUnavailable, InvalidPageToken, and RateLimited for too
        many reads at a time."""
        query.check()
        if self._log is None:
            raise AuditLogUnavailable("audit_log names no file")
        with self._reads.one(query.caller):
            return await asyncio.to_thread(self._log.read, query)
