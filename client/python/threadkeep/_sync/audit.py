# Generated from _async by `make sync-client`. Do not edit.
"""The audit log."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from .._convert import encodable, timestamp
from ..v1 import server_service_pb2 as ns
from .connection import Connection
from .pages import paged


class Audit(Connection):
    """The calls on the audit log."""

    def audit_records_page(
        self,
        *,
        method: str = "",
        caller_user_id: str | None = None,
        session_id: str = "",
        outcome: str = "",
        from_time: datetime | int | None = None,
        to_time: datetime | int | None = None,
        page_size: int = 0,
        page_token: str = "",
        timeout: float | None = None,
    ) -> ns.ListAuditRecordsResponse:
        """Return one page of the audit log of the server that answers, newest first. It may be empty and not be the last.

        `method`: of the call, as in "threadkeep.v1.SessionService/DeleteSession" or "DeleteSession". `caller_user_id`: the user
        of its credential; "" is credentials without one. `session_id`: that the request named. `outcome`: "OK" or the reason of
        the error. `from_time`: inclusive, `to_time`: exclusive; aware datetimes or nanoseconds since the epoch. `page_size`: 0
        is 100, at most 1,000. Needs the role admin. Raises AuditLogUnavailable, InvalidPageToken, RateLimited.
        """
        request = ns.ListAuditRecordsRequest(
            method=encodable(method, "method"),
            session_id=encodable(session_id, "session_id"),
            outcome=encodable(outcome, "outcome"),
            from_time=timestamp(from_time, "from_time"),
            to_time=timestamp(to_time, "to_time"),
            page_size=page_size,
            page_token=page_token,
        )
        if caller_user_id is not None:
            request.caller_user_id = encodable(caller_user_id, "caller_user_id")
        return self._call(self._stubs().server.ListAuditRecords, request, timeout)

    def audit_records(
        self,
        *,
        method: str = "",
        caller_user_id: str | None = None,
        session_id: str = "",
        outcome: str = "",
        from_time: datetime | int | None = None,
        to_time: datetime | int | None = None,
        page_size: int = 0,
        timeout: float | None = None,
    ) -> Iterator[ns.AuditRecord]:
        """Iterate over all records that `audit_records_page` finds."""
        return paged(
            lambda token: self.audit_records_page(
                method=method,
                caller_user_id=caller_user_id,
                session_id=session_id,
                outcome=outcome,
                from_time=from_time,
                to_time=to_time,
                page_size=page_size,
                page_token=token,
                timeout=timeout,
            ),
            lambda page: page.records,
        )
