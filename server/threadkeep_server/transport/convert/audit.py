"""Records of the audit log, and requests for them."""

from __future__ import annotations

from threadkeep.v1 import server_service_pb2 as pb

from ...domain import validation
from ...domain.audit import MOST_RECORDS, AuditFilter, AuditPlace, AuditQuery, AuditRecord
from ...domain.model import Caller
from .sessions import set_time, time_of


def audit_query_of(
    request: pb.ListAuditRecordsRequest, caller: Caller, limits: validation.Limits, before: AuditPlace | None
) -> AuditQuery:
    """Returns what the request reads. Raises InvalidField."""
    limit = validation.page_size("page_size", request.page_size, default=MOST_RECORDS, most=limits.max_page_size)
    conditions = AuditFilter(
        method=request.method,
        caller_user_id=request.caller_user_id if request.HasField("caller_user_id") else None,
        session_id=request.session_id,
        outcome=request.outcome,
        from_ns=time_of("from_time", request.from_time) if request.HasField("from_time") else None,
        to_ns=time_of("to_time", request.to_time) if request.HasField("to_time") else None,
    )
    return AuditQuery(caller, conditions, limit, before)


def audit_record_to(record: AuditRecord) -> pb.AuditRecord:
    made = pb.AuditRecord(
        method=record.method,
        caller_user_id=record.caller_user_id,
        caller_app=record.caller_app,
        peer=record.peer,
        target_json=record.target_json,
        outcome=record.outcome,
        duration_ms=record.duration_ms,
    )
    set_time(made.begin_time, record.time_ns)
    return made
