"""Forks in the SQL store.

A fork is copied into rows of a session that does not exist yet: events and values without a row of `sessions` are found by
nobody. The last transaction adds that row. Until then `unfinished_forks` says that the rows are wanted.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from functools import partial

import sqlalchemy as sa
from sqlalchemy import Connection

from ....domain.model import Session
from ....domain.removals import Outcome
from ...contract.forks import Forked, ForkRequest
from ...notifier import CommitNotifier
from ..event_removals.tombstones import Eraser
from ..log.rows import find_id, require, session_of
from ..log.slices.removals import removals
from ..log.slices.worker import Slices
from ..log.unit_runner import UnitRunner, translate_errors
from ..schema.forks import unfinished_forks
from .beginnings import LEASE_NS, Run, begin, look
from .copying import Part, copy_events, copy_values
from .endings import finish

_POLL_S = 30.0
_u = unfinished_forks.c
_log = logging.getLogger(__name__)


class SqlForks:
    """ForkStore on a database. `run` must be running. `deleted`: called when there are rows to remove."""

    def __init__(
        self,
        units: UnitRunner,
        archiver: Slices,
        eraser: Eraser,
        commits: CommitNotifier,
        deleted: Sequence[Callable[[], None]],
        clock: Callable[[], int],
    ) -> None:
        self._units = units
        self._archiver = archiver
        self._eraser = eraser
        self._commits = commits
        self._deleted = deleted
        self._clock = clock
        self._running: set[int] = set()
        self._failed: set[int] = set()
        self._given_up = asyncio.Event()

    async def fork(self, request: ForkRequest) -> Forked:
        units, codec = self._units, self._units.codec
        found = await units.of(request.tenant).read(
            lambda connection: look(connection, units.statements, request), snapshot=True
        )
        if isinstance(found, Outcome):
            return await self._replayed(request, found)
        request.admit(found[1].seq)
        await translate_errors(units.engine, codec.ready(request.tenant))
        run = await self._begin(request)
        if isinstance(run, Outcome):
            return await self._replayed(request, run)
        self._running.add(run.session)
        made: Session | Outcome | None = None
        try:
            made = await self._copy(request, run)
        finally:
            self._running.discard(run.session)
            if not isinstance(made, Session):
                self._failed.add(run.session)
                self._given_up.set()
        if isinstance(made, Outcome):
            return await self._replayed(request, made)
        self._commits.committed()
        return Forked(made)

    async def _begin(self, request: ForkRequest) -> Run | Outcome:
        while True:
            await self._settle(request)
            # The row of the fork does not exist yet, so row-level security would hide what is copied.
            begun = await self._units.write(
                lambda connection: begin(
                    connection, self._units.engine, self._units.codec, self._units.statements, request, self._until()
                )
            )
            if begun is not None:
                return begun

    async def _settle(self, request: ForkRequest) -> None:
        """Marks what a compaction archived, and finishes the erasure of a cleared log."""
        session = await self._archiver.settle(request.tenant, partial(find_id, tenant=request.tenant, ref=request.origin))
        if session is not None:
            await self._eraser.settle(session)

    async def _copy(self, request: ForkRequest, run: Run) -> Session | Outcome:
        units, codec, tenant = self._units, self._units.codec, request.tenant
        parts: list[Part] = []
        reached = 0
        while reached < run.point.seq:
            copy = partial(copy_events, codec=codec, tenant=tenant, run=run, after=reached, until=self._until())
            parts.append(await units.write(copy))
            reached = parts[-1].last_seq
        past, after, more = 0, None, run.state is not None
        while more:
            values = partial(copy_values, codec=codec, tenant=tenant, run=run, after=after, until=self._until())
            after, count = await units.write(values)
            past, more = past + count, after is not None
        end = partial(finish, engine=units.engine, codec=codec, request=request, run=run, parts=parts, past=past)
        return await units.write(end)

    async def _replayed(self, request: ForkRequest, known: Outcome) -> Forked:
        def unit(connection: Connection) -> Session:
            origin = session_of(require(connection, request.tenant, request.origin))
            return session_of(require(connection, request.tenant, origin.ref._replace(session_id=known.fork)))

        return Forked(await self._units.of(request.tenant).read(unit), replayed=True)

    def _until(self) -> int:
        return self._clock() + LEASE_NS

    # --- what is left of unfinished ones

    async def run(self) -> None:
        """Has the rows of forks removed that failed, or whose server stopped, until canceled."""
        # Where no other server can share the database, what is there at the start was left by an earlier one.
        left = not self._units.engine.sql.exclusive
        while True:
            self._given_up.clear()
            try:
                await self._give_up(left=left)
            except Exception as exc:  # a full disk, a lost database, a defect: the task must keep running
                _log.warning("removing unfinished forks failed (%s), retrying in %g s", type(exc).__name__, _POLL_S)
            left = False
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_POLL_S):
                    await self._given_up.wait()

    async def _give_up(self, *, left: bool) -> None:
        failed, running, now = frozenset(self._failed), frozenset(self._running), self._clock()

        def unit(connection: Connection) -> tuple[set[int], bool]:
            known = set(connection.execute(sa.select(_u.session)).scalars())
            if not known:
                return known, False
            rows = connection.execute(sa.select(unfinished_forks).with_for_update(skip_locked=True)).all()
            gone = [row.session for row in rows if left or row.session in failed or row.until < now]
            gone = [key for key in gone if key not in running]
            if gone:
                connection.execute(unfinished_forks.delete().where(_u.session.in_(gone)))
                connection.execute(removals.insert(), [{"session": key} for key in gone])
            return known - set(gone), bool(gone)

        known, some = await self._units.write(unit)
        self._failed -= failed - known
        if some:
            for hint in self._deleted:
                hint()
