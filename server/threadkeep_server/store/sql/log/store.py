"""Sessions and events of the SQL store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from ....domain.context import ContextSpec
from ....domain.model import NewSession, Session, SessionChange, SessionRef, StoredEvent
from ....domain.removals import Operation
from ....domain.state.state import StatePatch
from ....domain.sweeping import SweepFacts
from ...contract.events import Appended, AppendRequest, ContextPage, EventPage, EventQuery
from ...contract.history import AsOf
from ...contract.sessions import EXPIRED, Expired, SessionPage, SessionQuery
from ...notifier import CommitNotifier
from ..engine.base import Capability, SessionName
from ..scan_budget import ScanLimits
from ..schema.tables import sessions
from ..state.writes import Patched, StateUpdate
from . import context_queries, list_queries, session_queries
from .group_commit import Writer
from .group_unit import GroupUnit, Outcome, Request, names_of
from .rows import require, session_of
from .session_deletions import Deleted, SessionDeletion, SessionDeletions
from .session_writes import Created, SessionCreation, SessionUpdate
from .slices.removals import REMOVED_AT_ONCE
from .unit_runner import FEW_ROWS, UnitRunner, translate_errors
from .writing.append_function import AppendFunction, changes_shared


class GroupedWrites:
    """Writes of sessions that are committed in groups: the Committer of its Writer. `run` must be running."""

    def __init__(self, units: UnitRunner, commits: CommitNotifier, *, max_pending_bytes: int) -> None:
        self._engine = units.engine
        self.problem = units.engine.problem
        self.waited_for_lock = units.engine.waited_for_lock
        self._commits = commits
        self._group = GroupUnit(units.engine, units.codec, units.statements)
        functions = Capability.FUNCTIONS in units.engine.capabilities
        self._function = AppendFunction(units.engine, units.codec, units.statements) if functions else None
        self._writer = writer = Writer(
            self, max_pending_bytes=max_pending_bytes, parts=by_way if functions else None, meters=units.meters
        )
        self._codec = units.codec
        encrypted = units.codec.vault is not None
        self.append: Callable[[AppendRequest], Awaitable[Appended]] = self._encrypted if encrypted else writer.write
        self.create: Callable[[SessionCreation], Awaitable[Created]] = self._encrypted if encrypted else writer.write
        self.patch: Callable[[StateUpdate], Awaitable[Patched]] = self._encrypted if encrypted else writer.write
        self.update: Callable[[SessionUpdate], Awaitable[Session]] = writer.write
        self.delete: Callable[[SessionDeletion], Awaitable[Deleted]] = writer.write
        self.run = writer.run
        self.busy = writer.busy
        self.close = writer.close

    @property
    def failure(self) -> tuple[str, float] | None:
        """See Writer."""
        return self._writer.failure

    async def commit(self, requests: Sequence[Request], wait_ms: int) -> Sequence[Outcome]:
        outcomes = await self._append(requests, wait_ms) or await self._run(requests, wait_ms)
        self._commits.committed()
        for request, outcome in zip(requests, outcomes, strict=True):
            if isinstance(request, AppendRequest) and isinstance(outcome, Appended):
                self._commits.appended(request, outcome)
        return outcomes

    async def _encrypted(self, request: Request) -> Any:
        """Writes what may contain texts of the caller."""
        if not isinstance(request, SessionCreation) or request.new.state:
            await translate_errors(self._engine, self._codec.ready(request.tenant))
        return await self._writer.write(request)

    async def held(self, names: Collection[SessionName]) -> Collection[SessionName]:
        return await self._engine.write(lambda connection: self._engine.locks.held(connection, names))

    async def _append(self, requests: Sequence[Request], wait_ms: int) -> Sequence[Outcome] | None:
        """Appends in one round trip. None if that is impossible."""
        if self._function is None:
            return None
        appends = [request for request in requests if isinstance(request, AppendRequest) and _is_plain(request)]
        if len(appends) < len(requests):
            return None
        return await self._function.append(appends, self._group.keys, wait_ms)

    async def _run(self, requests: Sequence[Request], wait_ms: int) -> Sequence[Outcome]:
        short = sum(_rows(request) for request in requests) <= FEW_ROWS
        tenants = {request.tenant for request in requests}
        unit = partial(self._group, requests=requests, wait_ms=wait_ms)
        decided = await self._engine.write(unit, short=short, tenants=tenants)
        self._group.remember(decided)
        if self._function is not None:
            self._function.remember(decided.heads, decided.states)
        return decided.outcomes


def _is_plain(request: Request) -> bool:
    """Whether the stored function may write the request."""
    return isinstance(request, AppendRequest) and request.operation is None and not changes_shared(request)


def by_way(requests: Sequence[Request]) -> Sequence[Sequence[int]] | None:
    """Splits a group: the appends that the stored function may write, then the others, if they are no more. They would take
    the way of several statements with them. Requests of the same names keep their order: a stream may have sent them. None: no
    split."""
    if all(map(_is_plain, requests)):
        return None
    plain: list[int] = []
    others: list[int] = []
    behind: set[SessionName] = set()
    for place, request in enumerate(requests):
        names = names_of(request)
        if _is_plain(request) and behind.isdisjoint(names):
            plain.append(place)
        else:
            others.append(place)
            behind.update(names)
    return [plain, others] if len(others) <= len(plain) else None


def _rows(request: Request) -> int:
    """Returns about as many rows as the request writes, or the most."""
    if isinstance(request, AppendRequest):
        return len(request.drafts) + sum(map(_patched, (request.state or {}).values()))
    if isinstance(request, StateUpdate):
        return _patched(request.patch)
    if isinstance(request, SessionDeletion):
        return REMOVED_AT_ONCE
    if isinstance(request, SessionCreation):
        return 1 + len(request.new.labels) + len(request.new.state)
    return 1 + len(request.change.labels)


def _patched(patch: StatePatch) -> int:
    return len(patch.set) + len(patch.remove)


class SqlSessions:
    """SessionStore on a database. `clock` returns nanoseconds."""

    def __init__(
        self,
        units: UnitRunner,
        writes: GroupedWrites,
        commits: CommitNotifier,
        clock: Callable[[], int],
        deleted: Sequence[Callable[[], None]],
    ) -> None:
        """`deleted`: called after deletions."""
        self._units = units
        self._engine = units.engine
        self._deletions = SessionDeletions(units.engine, units.statements)
        self._writes = writes
        self._commits = commits
        self._clock = clock
        self._after_deletions = deleted

    async def create_session(
        self, tenant: str, new: NewSession, *, return_existing: bool, unique: bool = False
    ) -> tuple[Session, bool]:
        return await self._writes.create(SessionCreation(tenant, new, return_existing, unique))

    async def get_session(self, tenant: str, ref: SessionRef) -> Session:
        return session_of(await self._units.of(tenant).read(lambda connection: require(connection, tenant, ref), short=True))

    async def list_sessions(self, tenant: str, query: SessionQuery) -> SessionPage:
        unit = partial(session_queries.list_page, tenant=tenant, query=query)
        return await self._units.of(tenant).scan(unit, snapshot=query.states)

    async def update_session(
        self, tenant: str, ref: SessionRef, change: SessionChange, operation: Operation | None = None
    ) -> Session:
        return await self._writes.update(SessionUpdate(tenant, ref, change, operation))

    async def delete_session(self, tenant: str, ref: SessionRef, uid: str = "") -> int | None:
        deleted = await self._writes.delete(SessionDeletion(tenant, ref, self._clock(), uid))
        if deleted.events is not None:
            self._hint()
        return deleted.events

    async def sweep_facts(self, now: int) -> SweepFacts:
        return await self._units.read(lambda connection: session_queries.sweep_facts(connection, self._engine, now))

    async def expired_sessions(
        self, tenant: str | None, now: int, limit: int, skip: int = 0, which: Expired = EXPIRED
    ) -> Sequence[tuple[str, Session]]:
        ordered = sa.select(sessions).where(*session_queries.expired(tenant, now, which))
        query = ordered.order_by(sessions.c.expire_time, sessions.c.id).limit(limit).offset(skip)
        rows = await self._units.read(lambda connection: connection.execute(query).all())
        return [(row.tenant, session_of(row)) for row in rows]

    async def delete_expired(self, tenant: str | None, now: int, limit: int, which: Expired = EXPIRED) -> int:
        deleted = await self._units.write(
            lambda connection: session_queries.delete_expired(
                connection, self._engine, self._deletions, tenant, now, limit, which
            )
        )
        self._deleted(deleted)
        return deleted

    async def delete_seen(self, tenant: str, seen: Session, now: int) -> bool:
        unit = partial(
            session_queries.delete_seen, engine=self._engine, deletions=self._deletions, tenant=tenant, seen=seen, now=now
        )
        deleted = await self._units.of(tenant).write(unit)
        self._deleted(deleted)
        return deleted

    async def delete_unchanged(self, tenant: str, seen: Session, state_version: int, now: int) -> bool:
        def unit(connection: Connection) -> bool:
            return session_queries.delete_unchanged(connection, self._engine, self._deletions, tenant, seen, state_version, now)

        deleted = await self._units.of(tenant).write(unit)
        self._deleted(deleted)
        return deleted

    async def tenants(self) -> Sequence[str]:
        return await self._units.read(session_queries.tenants)

    def _deleted(self, number: int) -> None:
        self._commits.committed()
        self._units.meters.sessions_deleted.add(number)
        if number:
            self._hint()

    def _hint(self) -> None:
        for hint in self._after_deletions:
            hint()


class SqlEvents:
    """EventStore on a database. `limits`: what one list with conditions on bodies decodes."""

    def __init__(self, units: UnitRunner, writes: GroupedWrites, commits: CommitNotifier, limits: ScanLimits) -> None:
        self._units = units
        self._limits = limits
        self.append = writes.append
        self.on_append = commits.subscribe_appends

    async def get_event(self, tenant: str, ref: SessionRef, event_id: str) -> StoredEvent:
        return await self._units.of(tenant).scan(lambda scanner: list_queries.get_event(scanner, tenant, ref, event_id))

    async def list_events(self, tenant: str, ref: SessionRef, query: EventQuery) -> EventPage:
        streams = query.filter.reads_body
        short = not streams and list_queries.most_rows(query) <= FEW_ROWS
        unit = partial(list_queries.list_events, tenant=tenant, ref=ref, query=query, limits=self._limits)
        return await self._units.of(tenant).scan(unit, snapshot=streams, short=short, replica=not short)

    async def get_context(
        self, tenant: str, ref: SessionRef, spec: ContextSpec, default_bytes: int, as_of: AsOf | None = None
    ) -> ContextPage:
        unit = partial(context_queries.get_context, tenant=tenant, ref=ref, spec=spec, default_bytes=default_bytes, as_of=as_of)
        short = spec.last_n is not None and spec.last_n <= FEW_ROWS
        return await self._units.of(tenant).scan(unit, short=short, replica=not short)
