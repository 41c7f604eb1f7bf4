"""Conversion of branches, and of usage by turn."""

from __future__ import annotations

from threadkeep.v1 import event_service_pb2 as pb

from ...domain import validation
from ...store.contract.breakdowns import Branch, UsageEntry, UsageQuery
from .sessions import set_time, usage_to


def branch_to(branch: Branch) -> pb.Branch:
    result = pb.Branch(name=branch.name, event_count=branch.events)
    if branch.first is not None:
        result.first_seq = branch.first.seq
        set_time(result.first_time, branch.first.time)
    if branch.last is not None:
        result.last_seq = branch.last.seq
        set_time(result.last_time, branch.last.time)
    return result


def usage_query_of(request: pb.ListUsageRequest, limits: validation.Limits, cursor: int | None) -> UsageQuery:
    """Returns the query. Raises InvalidField."""
    most = limits.max_page_size
    return UsageQuery(
        branch=validation.branch("branch", request.branch) if request.HasField("branch") else None,
        after_seq=request.after_seq if request.HasField("after_seq") else None,
        before_seq=request.before_seq if request.HasField("before_seq") else None,
        limit=validation.page_size("page_size", request.page_size, default=most, most=most),
        cursor=cursor,
    )


def usage_entry_to(entry: UsageEntry) -> pb.UsageEntry:
    return pb.UsageEntry(
        turn_seq=entry.turn_seq,
        invocation_id=entry.invocation_id,
        branch=entry.branch,
        events=len(entry.seqs),
        first_seq=min(entry.seqs),
        last_seq=max(entry.seqs),
        usage=usage_to(entry.usage),
    )
