"""Sessions, appends and reads of the logs; see the package."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from ...domain import errors
from ...domain.feed import ChangeKind
from ...domain.filters import select
from ...domain.model import NewSession, Session, SessionChange, SessionRef, StoredEvent
from ...domain.removals import Operation, Outcome
from ...domain.state.state import StatePage, StateQuery, state_name
from ...domain.updates.session_updates import require_uid, updated
from ..contract.events import (
    Appended,
    AppendedEvent,
    AppendRequest,
    ContextPage,
    Cursor,
    EventPage,
    EventQuery,
    replayed_append,
)
from ..contract.feed import change_snapshot
from ..contract.loading import Loaded, LoadQuery, fitting_state, limited
from ..contract.maintenance import PoolUse, StoreInfo, Totals
from ..contract.search import SearchCursor, SearchHit, SearchPage, SearchQuery
from ..contract.sessions import EXPIRED, MOST_COUNTED, Expired, SessionPage, SessionQuery
from .erasure import InMemoryErasures
from .feed import InMemoryFeed
from .forks import InMemoryForks
from .logs import Entry, Log
from .maintenance import InMemoryMaintenance
from .moves import InMemoryMoves
from .removals import InMemoryRemovals, known_outcome, note_outcome
from .session_reads import InMemorySessionReads


class InMemoryStore(
    InMemoryRemovals,
    InMemoryForks,
    InMemoryMoves,
    InMemoryFeed,
    InMemoryErasures,
    InMemorySessionReads,
    InMemoryMaintenance,
):
    """Store in memory."""

    async def create_session(
        self, tenant: str, new: NewSession, *, return_existing: bool, unique: bool = False
    ) -> tuple[Session, bool]:
        if unique and any(_shares_id(log.session.ref, new.ref) for log in self._of(tenant)):
            raise errors.SessionAlreadyExists(new.ref)
        existing = self._logs.get((tenant, new.ref))
        if existing is None:
            return self._create(tenant, new).session, True
        if not return_existing:
            raise errors.SessionAlreadyExists(new.ref)
        return existing.session, False

    async def get_session(self, tenant: str, ref: SessionRef) -> Session:
        return self._existing(tenant, ref).session

    async def list_sessions(self, tenant: str, query: SessionQuery) -> SessionPage:
        by = _updated if query.order.by_update else _created
        ascending = query.order.ascending
        matching = [log for log in sorted(self._of(tenant), key=by, reverse=not ascending) if _listed(log.session, query)]
        cursor = query.cursor
        if cursor is None:
            found = matching
        else:
            found = [log for log in matching if (by(log) > cursor if ascending else by(log) < cursor)]
        found = found[query.offset :]
        page = found[: query.limit]
        return SessionPage(
            [log.session for log in page],
            by(page[-1]) if len(page) < len(found) else None,
            min(len(matching), MOST_COUNTED + 1) if query.count else None,
            _newest(page, query.max_bytes) if query.newest else (),
            _states(page, query.max_bytes // 2) if query.states else (),
            [by(log) for log in page],
        )

    async def update_session(
        self, tenant: str, ref: SessionRef, change: SessionChange, operation: Operation | None = None
    ) -> Session:
        log = self._existing(tenant, ref)
        if known_outcome(log, operation, change.update_time) is not None:
            return log.session
        before = log.session.labels
        log.session = session = updated(log.session, change)
        labels_before = None if session.labels == before else before
        after = change_snapshot(session)
        self._record(tenant, log, ChangeKind.UPDATED, change.update_time, after=after, labels_before=labels_before)
        note_outcome(log, operation, change.update_time, Outcome(versions=session.versions))
        return session

    async def delete_session(self, tenant: str, ref: SessionRef, uid: str = "") -> int | None:
        log = self._find(tenant, ref)
        if log is None:
            return None
        require_uid(log.session, uid)
        self._drop(tenant, log, self._clock())
        return len(log.entries)

    async def delete_expired(self, tenant: str | None, now: int, limit: int, which: Expired = EXPIRED) -> int:
        expired = self._expired(tenant, which, now)[:limit]
        for owner, log in expired:
            self._drop(owner, log, now, expired=True)
        return len(expired)

    async def append(self, request: AppendRequest) -> Appended:
        began = time.monotonic()
        try:
            appended = self._append(request)
        except errors.ThreadkeepError as error:
            self.meters.count_refusal(error)
            raise
        replayed = sum(each.replayed for each in appended.events)
        self.meters.count_append(len(appended.events), replayed, request.size, time.monotonic() - began)
        return appended

    def _append(self, request: AppendRequest) -> Appended:
        log = self._find(request.tenant, request.ref)
        if log is None and request.create is None:
            raise errors.SessionNotFound(request.ref)
        if (outcome := known_outcome(log, request.operation, request.now)) is not None:
            return replayed_append(outcome)
        known = [log.find(draft.event_id) if log else None for draft in request.drafts]
        if not request.ignore_existing:
            for index, (draft, entry) in enumerate(zip(request.drafts, known, strict=True)):
                if entry is not None and entry.sent != draft.body:
                    raise errors.EventIdConflict(f"events[{index}].event_id", draft.event_id, entry.seq)
        created = log is None
        if None in known:
            _check_expectations(request, log)
        planned = self._plan_delta(request, log) if None in known else []
        if log is None:
            assert request.create is not None  # noqa: S101 - checked above; mypy cannot see it
            log = self._create(request.tenant, request.create)
        since = log.session.last_seq
        if None in known:
            update_time = max(log.session.update_time, request.now)
            log.session = replace(log.session, log_version=log.session.log_version + 1, update_time=update_time)
        version = log.session.log_version
        events = [
            AppendedEvent(entry.event_id, entry.seq, replayed=True) if entry else self._add(log, draft, request.now, version)
            for draft, entry in zip(request.drafts, known, strict=True)
        ]
        session = log.session
        appended = Appended(events, session.log_version, session.last_seq, session.window, created)
        note_outcome(log, request.operation, request.now, appended.outcome)
        if None in known:
            record = self._apply_delta(log, planned)
            self._record(request.tenant, log, ChangeKind.APPENDED, request.now, since=since, state=record)
            self._change_shared(request.tenant, planned, request.now)
            self._commits.appended(request, appended)
        return appended

    async def get_event(self, tenant: str, ref: SessionRef, event_id: str) -> StoredEvent:
        entry = self._existing(tenant, ref).find(event_id)
        if entry is None:
            raise errors.EventNotFound(ref, event_id)
        return entry.stored

    async def list_events(self, tenant: str, ref: SessionRef, query: EventQuery) -> EventPage:
        log = self._find(tenant, ref)
        if log is None:
            if query.as_of is not None:
                query.as_of.refuse_future(0, 0)
            return EventPage([])
        log = log.as_of(query.as_of)
        cursor = query.cursor
        if cursor is None:
            found = select(log.entries, query.filter)
        else:
            first, last = (cursor.stop, cursor.position) if query.descending else (cursor.position, cursor.stop)
            found = [
                entry
                for entry in select(log.entries, query.filter.without_window())
                if entry.position != cursor.position
                and (first is None or entry.position >= first)
                and (last is None or entry.position <= last)
            ]
        if query.descending:
            found.reverse()
        page = _cut(found, query.limit, query.max_bytes)
        following = None
        if len(page) < len(found):
            # The first page fixes the window: later appends are not in it.
            fixed = query.filter.has_window or (cursor is not None and cursor.stop is not None)
            following = Cursor(page[-1].position, found[-1].position if fixed else None)
        return EventPage([entry.stored for entry in page], following, log.session.log_version, log.session.last_seq)

    async def load_session(self, tenant: str, ref: SessionRef, query: LoadQuery) -> Loaded:
        # Nothing else runs meanwhile: none of these suspends.
        session, left = self._existing(tenant, ref).session, query.max_bytes
        states, budget = {}, query.state_bytes
        for scope in query.scopes:
            page = await self.get_state(tenant, state_name(scope, session.ref), StateQuery(max_bytes=budget))
            states[scope], budget = fitting_state(page, budget)
        left -= query.state_bytes - budget
        log = self._existing(tenant, session.ref)
        newest = _newest([log], left // 2)[0] if query.newest else None
        found: EventPage | ContextPage | None = None
        if query.log is not None:
            wanted = limited(query.log, left - (0 if newest is None else log.entries[-1].size))
            if isinstance(wanted, EventQuery):
                found = await self.list_events(tenant, session.ref, wanted)
            else:
                found = await self.get_context(tenant, session.ref, wanted, query.context_bytes)
        return Loaded(session, states, newest, found)

    async def search(self, tenant: str, query: SearchQuery) -> SearchPage:
        logs = {log.number: log for log in self._within(tenant, query.scope)}
        # One session is read in window order; several are interleaved by time.
        order = _in_window if isinstance(query.scope, SessionRef) else _in_time
        entries = sorted((entry for log in logs.values() for entry in log.entries), key=order)
        if query.cursor is None:
            found = select(entries, query.filter)
        else:
            beyond = (query.cursor.time, query.cursor.session, query.cursor.position)
            found = select([entry for entry in entries if order(entry) > beyond], query.filter.without_window())
        page = _cut(found, query.most, query.max_bytes)
        following = None
        if len(page) < len(found):
            following = SearchCursor.after(*order(page[-1]), query=query, taken=len(page))
        return SearchPage([SearchHit(logs[entry.session].session.ref, entry.stored) for entry in page], following)

    async def info(self, tenant: str, *, totals: bool) -> StoreInfo:
        logs = list(self._of(tenant))
        return StoreInfo(
            store_id=self._store_id,
            token_key=self._token_key,
            engine="memory",
            durability="none: nothing survives a restart of the server",
            schema_version=0,
            indexed=False,
            index_lag=0,
            totals=Totals(len(logs), sum(len(log.entries) for log in logs)) if totals else None,
        )

    @property
    def pool(self) -> PoolUse:
        return PoolUse(0, 0)

    async def stored_bytes(self) -> int | None:
        return None

    async def ping(self) -> None:
        """Memory always answers."""

    async def aclose(self) -> None:
        """Does nothing: there is nothing to release."""


def _created(log: Log) -> tuple[int, int]:
    return log.session.create_time, log.number


def _updated(log: Log) -> tuple[int, int]:
    return log.session.update_time, log.number


def _shares_id(ref: SessionRef, other: SessionRef) -> bool:
    """Whether they are sessions of two users of an app with one id."""
    return (ref.app, ref.session_id) == (other.app, other.session_id) and ref.user_id != other.user_id


def _listed(session: Session, query: SessionQuery) -> bool:
    return (
        query.app in (None, session.ref.app)
        and query.user_id in (None, session.ref.user_id)
        and query.labels.items() <= session.labels.items()
        and session.ref.session_id.startswith(query.prefix)
        and (not query.forked_from or (session.parent is not None and session.parent.session_id == query.forked_from))
        and (query.updated_after is None or session.update_time > query.updated_after)
        and (query.updated_before is None or session.update_time < query.updated_before)
    )


def _newest(logs: Sequence[Log], max_bytes: int) -> list[StoredEvent | None]:
    newest: list[StoredEvent | None] = []
    for log in logs:
        last = log.entries[-1] if log.entries else None
        if last is not None and last.size > max_bytes:
            last = None
        max_bytes -= 0 if last is None else last.size
        newest.append(None if last is None else last.stored)
    return newest


def _states(logs: Sequence[Log], max_bytes: int) -> list[StatePage]:
    states: list[StatePage] = []
    for log in logs:
        totals = log.state.totals
        fits = totals.bytes <= max_bytes
        max_bytes -= totals.bytes if fits else 0
        states.append(StatePage(dict(log.state.values) if fits else {}, totals.version, more=not fits))
    return states


def _check_expectations(request: AppendRequest, log: Log | None) -> None:
    """Raises VersionMismatch. A session that does not exist is at version 0 and has no last event."""
    version, last = (log.session.log_version, log.last_event_id) if log else (0, "")
    if request.expected_log_version is not None and request.expected_log_version != version:
        raise errors.VersionMismatch(request.ref, expected=str(request.expected_log_version), actual=str(version))
    if request.expected_last_event_id is not None and request.expected_last_event_id != last:
        raise errors.VersionMismatch(request.ref, expected=request.expected_last_event_id, actual=last)


def _in_window(entry: Entry) -> tuple[int, int, int]:
    return 0, entry.session, entry.position


def _in_time(entry: Entry) -> tuple[int, int, int]:
    return entry.time, entry.session, entry.position


def _cut(found: Sequence[Entry], limit: int, max_bytes: int) -> Sequence[Entry]:
    """Returns as many as fit, but at least one."""
    size = 0
    for taken, entry in enumerate(found):
        size += len(entry.sent)
        if taken == limit or (taken and size > max_bytes):
            return found[:taken]
    return found
