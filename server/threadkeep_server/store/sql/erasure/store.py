"""Erasures on a database."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row

from ....domain.erasure import Erased, Erasure
from ....domain.memories import Forget, MemoryScope
from ...contract.erasure import LastStep, UserName, UserPage
from ..engine.base import Unit
from ..log.session_deletions import SessionDeletions
from ..log.unit_runner import UnitRunner
from ..schema.erasures import COUNTS
from ..search.term_index import TermIndex
from ..state.statements import StateStatements
from . import erasure_queries as queries
from . import state_queries, users


class SqlErasures:
    """ErasureStore and UserStore on a database. `memory_index`: that of the memories. `deleted`: called after deletions."""

    def __init__(
        self,
        units: UnitRunner,
        memory_index: TermIndex | None,
        deleted: Sequence[Callable[[], None]],
        clock: Callable[[], int],
    ) -> None:
        self._units = units
        self._memory_index = memory_index
        self._deleted = deleted
        self._clock = clock

    async def erase(self, wanted: Erasure, seconds: float, last: LastStep | None = None) -> Erased:
        units = self._units.of(wanted.tenant)
        call = _Call(units, self._memory_index, wanted, time.monotonic() + seconds, self._clock, self._hint)
        row = await call.begin()
        if row.finish_time is None:
            row = await call.work(row, last)
        if row.finish_time is not None:
            await self._forget_ids()
        counts = {name: getattr(row, name) for name in COUNTS}
        return Erased(row.start_time, row.finish_time, **counts, ids_digest=row.ids_digest)

    async def list_users(self, tenant: str, app: str | None, limit: int, after: UserName | None = None) -> UserPage:
        unit = partial(users.list_users, tenant=tenant, app=app, limit=limit, after=after)
        return await self._units.of(tenant).read(unit, snapshot=True)

    def _hint(self) -> None:
        for hint in self._deleted:
            hint()

    async def _forget_ids(self) -> None:
        while await self._units.write(queries.forget_ids):
            pass


class _OutOfTime(Exception):
    pass


class _Call:
    """One call of an erasure. `until`: by time.monotonic(). `hint`: called after each part."""

    def __init__(
        self,
        units: UnitRunner,
        index: TermIndex | None,
        wanted: Erasure,
        until: float,
        clock: Callable[[], int],
        hint: Callable[[], None],
    ) -> None:
        self._units = units
        self._engine = units.engine
        self._deletions = SessionDeletions(units.engine, units.statements)
        self._index = index
        self._wanted = wanted
        self._until = until
        self._clock = clock
        self._hint = hint

    async def begin(self) -> Row[Any]:
        return await self._units.write(partial(queries.begin, engine=self._engine, wanted=self._wanted))

    async def work(self, erasure: Row[Any], last: LastStep | None) -> Row[Any]:
        """Returns the row of the erasure afterwards."""
        tenant, scope = self._wanted.tenant, self._wanted.scope
        try:
            await self._erase_sessions(erasure)
            if scope.memories and scope.labels:
                await self._forget_sessions(erasure)
            elif scope.memories:
                await self._forget_all(erasure)
                await self._in_parts(lambda connection: queries.erase_tombstones(connection, tenant, scope))
            if not scope.labels:
                await self._erase_states(erasure)
            if last is not None and not await last(erasure.start_time):
                raise _OutOfTime
            return await self._finish(erasure.id)
        except _OutOfTime:
            return await self._units.read(partial(queries.current, erasure=erasure.id))

    async def _finish(self, erasure: int) -> Row[Any]:
        while True:
            digest, count = await self._units.read(
                lambda connection: queries.ids_digest(connection, self._engine, erasure), snapshot=True
            )
            end = partial(queries.finish, erasure=erasure, wanted=self._wanted, digest=digest, count=count, now=self._clock())
            if (row := await self._units.write(end)) is not None:
                return row

    async def _erase_sessions(self, erasure: Row[Any]) -> None:
        place = queries.BEFORE_ALL

        def part(connection: Connection) -> bool:
            nonlocal place
            erase = partial(queries.erase_sessions, connection, self._engine, self._deletions, erasure, self._wanted.scope)
            following = erase(place, self._clock())
            place = following or place
            return following is not None

        await self._in_parts(part)

    async def _erase_states(self, erasure: Row[Any]) -> None:
        """Deletes the state of the user or the app."""
        newest = await self._units.read(partial(state_queries.newest_state, tenant=erasure.tenant))
        if not newest:
            return
        codec, scope = self._units.codec, self._wanted.scope
        if codec.covers(erasure.tenant):
            await codec.ready(erasure.tenant)
        statements = StateStatements(self._units.statements)
        await self._in_parts(
            lambda connection: state_queries.erase_state(
                connection, self._engine, codec, statements, erasure, scope, newest, self._clock()
            )
        )

    async def _forget_sessions(self, erasure: Row[Any]) -> None:
        """Deletes the memories that came from the erased sessions."""
        newest = await self._units.read(lambda connection: queries.newest_memory(connection, erasure.tenant))
        after = ""
        while lines := await self._units.read(
            partial(queries.erased_sessions, engine=self._engine, erasure=erasure.id, after=after)
        ):
            for line in lines:
                _, app, user_id, session_id = line.split("\t")
                await self._forget(erasure, MemoryScope(app, user_id), Forget(session_id=session_id), newest)
            after = lines[-1]

    async def _forget_all(self, erasure: Row[Any]) -> None:
        """Deletes the memories of the user or the app."""
        newest = await self._units.read(lambda connection: queries.newest_memory(connection, self._wanted.tenant))
        find = partial(queries.memory_scope, erasure=erasure, scope=self._wanted.scope, newest=newest)
        while (scope := await self._units.read(find)) is not None:
            await self._forget(erasure, scope, Forget(), newest)

    async def _forget(self, erasure: Row[Any], scope: MemoryScope, what: Forget, newest: int) -> None:
        await self._in_parts(
            lambda connection: queries.erase_memories(
                connection, self._engine, self._index, erasure, scope, what, newest, self._clock()
            )
        )

    async def _in_parts(self, unit: Unit[bool]) -> None:
        """Runs a unit until nothing is left. Rests for as long as each took, so that others have half of the time. Raises
        _OutOfTime."""
        while True:
            began = time.monotonic()
            if not await self._units.write(unit):
                return
            self._hint()
            ended = time.monotonic()
            if ended > self._until:
                raise _OutOfTime
            await asyncio.sleep(ended - began)
