"""Removals of events in the SQL store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ....domain.model import Versions
from ....domain.removals import Outcome
from ...contract.events import Appended, AppendedEvent, AppendRequest
from ...contract.removals import Clear, RemovalRequest, Removed, Rewind
from ...notifier import CommitNotifier
from ..log.rows import find_id
from ..log.slices.worker import Slices
from ..log.unit_runner import UnitRunner, translate_errors
from ..schema.removals import operations
from . import remove_queries
from .tombstones import Eraser


class SqlRemovals:
    """RemovalStore on a database."""

    def __init__(
        self, units: UnitRunner, archiver: Slices, eraser: Eraser, commits: CommitNotifier, clock: Callable[[], int]
    ) -> None:
        self._units = units
        self._archiver = archiver
        self._eraser = eraser
        self._commits = commits
        self._clock = clock

    async def remove(self, request: RemovalRequest) -> Removed:
        engine, codec = self._units.engine, self._units.codec
        await translate_errors(engine, codec.ready(request.tenant))
        await self._settle(request)
        done = await self._units.of(request.tenant).write(
            lambda connection: remove_queries.remove(connection, engine, codec, self._units.statements, request)
        )
        self._archiver.hint()
        self._commits.committed()
        removed = done.removed
        if done.added:
            self._commits.appended(*_as_append(request, done))
        if removed.outcome.erased is None:
            return removed
        try:
            await self._eraser.finish(done.session)
        finally:
            self._eraser.hint()
        if removed.outcome.erased.finish_time is None:
            return replace(removed, outcome=await self._complete(request, done.session, removed.outcome))
        return removed

    async def _settle(self, request: RemovalRequest) -> None:
        """Marks the events that a compaction archived."""
        session = await self._archiver.settle(request.tenant, partial(find_id, tenant=request.tenant, ref=request.ref))
        if session is not None and isinstance(request.what, Clear | Rewind):
            await self._eraser.settle(session)

    async def _complete(self, request: RemovalRequest, session: int, outcome: Outcome) -> Outcome:
        """Returns the outcome with the facts of a whole log that was erased, and keeps it for repeated calls."""
        assert outcome.erased is not None  # noqa: S101 - the caller checked it
        digest = await self._units.of(request.tenant).read(
            partial(
                remove_queries.log_digest,
                engine=self._units.engine,
                tenant=request.tenant,
                ref=request.ref,
                last_seq=outcome.erased.events,
            ),
            snapshot=True,
        )
        whole = replace(outcome, erased=replace(outcome.erased, finish_time=self._clock(), ids_digest=digest))
        if request.operation is not None:
            o = operations.c
            mine = (o.session == session, o.operation_id == request.operation.operation_id)
            kept = operations.update().where(*mine).values(outcome=whole.encode())
            await self._units.of(request.tenant).write(lambda connection: connection.execute(kept))
        return whole


def _as_append(request: RemovalRequest, done: remove_queries.Done) -> tuple[AppendRequest, Appended]:
    """Returns what the listeners of appends receive."""
    versions: Versions = done.removed.outcome.versions
    events = [AppendedEvent(*each) for each in done.removed.outcome.added]
    appended = Appended(events, versions.log_version, versions.last_seq, versions.window)
    return AppendRequest(request.tenant, request.ref, done.added, request.now), appended
