"""What logs consist of, in memory."""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.filters import matches
from ...domain.model import SessionRef
from ..contract.breakdowns import (
    MOST_BYTES,
    MOST_COUNTED,
    Branch,
    BranchPage,
    Place,
    Spent,
    UsagePage,
    UsageQuery,
    root_branch,
    summed,
)
from .logs import Entry, InMemoryLogs


class InMemorySessionReads(InMemoryLogs):
    """BreakdownStore in memory."""

    async def list_branches(self, tenant: str, ref: SessionRef, limit: int, after: str | None) -> BranchPage:
        log = self._existing(tenant, ref)
        by_name: dict[str, list[Entry]] = {}
        for entry in log.entries:
            by_name.setdefault(entry.branch, []).append(entry)
        names = [name for name in sorted(by_name) if after is None or name > after]
        branches = [_branch(name, log.entries, by_name[name]) for name in names[:limit]]
        return BranchPage(branches, names[limit - 1] if len(names) > limit else None)

    async def list_usage(self, tenant: str, ref: SessionRef, query: UsageQuery) -> UsagePage:
        entries = self._existing(tenant, ref).entries
        wanted, after = query.read, query.cursor or 0
        left = [entry for entry in entries if entry.position > after and matches(entry, wanted)]
        page, size = left[: query.limit], 0
        for count, entry in enumerate(page):
            size += entry.size
            if size > MOST_BYTES and count:
                page = page[:count]
                break
        spent = self._spent(entries, {entry.key for entry in page})
        return UsagePage(summed(spent, query), page[-1].position if len(page) < len(left) else None)

    def _spent(self, entries: list[Entry], keys: set[int]) -> Iterator[Spent]:
        turn_seq = 0
        for entry in entries:
            turn_seq = entry.seq if entry.turn_start else turn_seq
            if entry.key in keys:
                invocation_id, usage = self._codec.usage(entry.sealed)
                yield Spent(entry.seq, turn_seq, entry.branch, invocation_id, usage)


def _branch(name: str, log: list[Entry], mine: list[Entry]) -> Branch:
    first, last = (Place(entry.seq, entry.time) for entry in (mine[0], mine[-1]))
    if name:
        return Branch(name, min(len(mine), MOST_COUNTED + 1), first, last)
    found = [
        next((entry for entry in some if not entry.branch), None)
        for some in (log[:MOST_COUNTED], log[: -MOST_COUNTED - 1 : -1])
    ]
    places = [None if entry is None else Place(entry.seq, entry.time) for entry in found]
    root = root_branch(len(log), len(log) - len(mine), *places)
    assert root is not None  # noqa: S101 - it has an event
    return root
