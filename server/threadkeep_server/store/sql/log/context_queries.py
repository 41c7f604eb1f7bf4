"""Units of work that read the active window or a context of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import starmap
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger
from sqlalchemy.sql import ClauseElement

from ....domain.context import ContextSpec, select_context
from ....domain.model import ROLES, ContextEvent, SessionRef, Tools, Versions, WindowEvent
from ...contract.compaction import WindowRead
from ...contract.events import ContextPage, budgeted, context_page
from ...contract.history import AsOf
from ..engine.statements import Record
from ..history.moments import Moment, Moments
from ..schema.history import ALL_LEADS
from ..schema.tables import ACTIVE_LEAD, LEAD, events
from .rows import counters_of, find_head, require, session_of
from .scan import Scanner, small_body
from .slices.archivings import archived_through, is_unlisted, was_active, window_of

_e = events.c
# Enough for most contexts; a larger one is read again with four times as many rows. The turn of the 50th newest event of
# tau-bench's agents starts at most 7 events before it.
_ROWS_AT_FIRST = 128
_ROWS_BEYOND_LAST_N = 8
_ROWS_AT_ONCE = 256

# As few as a context needs, in the order of ContextEvent; a column of text costs as much as three others.
_COLUMNS = (
    *(_e.seq, _e.position, _e.size, small_body()),
    *(_e.role, _e.branch, _e.synthetic, _e.turn_start, _e.tokens, _e.content_bytes, _e.tools),
)
_AUTHORS = (_e.author, _e.author_role)

_by_position = itemgetter(ContextEvent._fields.index("position"))

# As few as a window needs, in the order in which read_window takes them.
_OF_WINDOWS = (
    *(_e.seq, _e.time, _e.role, _e.author, _e.author_role, _e.branch, _e.synthetic),
    *(_e.event_id, _e.position, _e.tokens, _e.size, _e.content_bytes),
)
# Of events whose other columns do not have all that plans without text need.
_TIED_BODY = sa.case((sa.or_(_e.tools != int(Tools.NONE), _e.content_bytes < 0), _e.body))


def get_context(
    scanner: Scanner, tenant: str, ref: SessionRef, spec: ContextSpec, default_bytes: int, as_of: AsOf | None = None
) -> ContextPage:
    # The session is read before its events: expecting a version older than the events is safe, a newer one is not.
    head = find_head(scanner.connection, scanner.statements, tenant, ref)
    return context_of(scanner, ref, head, spec, default_bytes, as_of)


def context_of(
    scanner: Scanner, ref: SessionRef, head: Record | None, spec: ContextSpec, default_bytes: int, as_of: AsOf | None = None
) -> ContextPage:
    """Like get_context, of a session whose row was read."""
    if head is None:
        if as_of is not None:
            as_of.refuse_future(0, 0)
        return ContextPage()
    moment = None if as_of is None else Moments(scanner.connection, scanner.statements, ref, head).find(as_of)
    versions = Versions(head.log_version, head.window_version, head.last_seq, counters_of(head))
    if moment is not None:
        versions = moment.versions
    if not spec.reads:
        return ContextPage(versions=versions)
    spec = budgeted(spec, head.context_bytes, default_bytes)
    limit = _ROWS_AT_FIRST if spec.last_n is None else spec.last_n + _ROWS_BEYOND_LAST_N
    while True:
        found = _window(scanner, head.id, limit, moment, authors=bool(spec.authors))
        lead = [event for event in found if event.lead]
        conversation = [event for event in found if not event.lead]
        context = select_context(lead, conversation, spec, complete=len(conversation) < limit)
        if context is not None:
            break
        limit *= 4
    # Events appended since the session was read are included, and so in the seq that the caller may archive through.
    newest = max([event.seq for event in found], default=0)
    if newest > versions.last_seq:
        versions = replace(versions, last_seq=newest)
    stored = [scanner.stored(event, head.id) for event in context.events]
    return context_page(context, [event for event in stored if event is not None], versions, spec)


def _window(scanner: Scanner, session: int, limit: int, moment: Moment | None, *, authors: bool) -> list[ContextEvent]:
    """Returns the leading events and the newest others, in window order. One statement, so that no compaction comes between."""
    params = {"session": session, "limit": limit}
    query = _window_query
    if moment is not None:
        query = _window_then_query
        params |= moment.params | moment.floors
    prepared = scanner.statements.get((query, authors), scanner.connection, partial(query, authors=authors))
    events = sorted(starmap(ContextEvent, prepared.rows(scanner.connection, params)), key=_by_position)
    return [_with_ties(scanner, event, session) if event.tools or event.content_bytes < 0 else event for event in events]


def _with_ties(scanner: Scanner, event: ContextEvent, session: int) -> ContextEvent:
    """Returns the event with its tool calls and results, from its bytes."""
    stored = scanner.stored(event, session)
    if stored is None:
        return event._replace(content_bytes=event.size)
    calls, results = scanner.codec.ties(stored.body)
    size = event.content_bytes
    return event._replace(
        calls=calls,
        results=results,
        content_bytes=scanner.codec.reading(stored.body).content_bytes if size < 0 else size,
    )


def _read(lead: int, *, authors: bool) -> sa.Select[Any]:
    return sa.select(*_COLUMNS, sa.literal_column(str(lead)).label("lead"), *(_AUTHORS if authors else ()))


def _window_query(*, authors: bool) -> ClauseElement:
    """The conditions equal those of the partial indexes, so that the engines use them."""
    session = sa.bindparam("session", type_=BigInteger)
    mine = _e.session == session
    lead = _read(1, authors=authors).where(mine, sa.text(ACTIVE_LEAD), is_unlisted())
    others = _read(0, authors=authors).where(
        mine, sa.text("NOT archived"), sa.text(f"NOT ({LEAD})"), _e.position > archived_through(session), is_unlisted()
    )
    newest = others.order_by(_e.position.desc()).limit(sa.bindparam("limit", type_=BigInteger)).subquery()
    return sa.union_all(lead, sa.select(newest))


def _window_then_query(*, authors: bool) -> ClauseElement:
    """The same as of a moment. Events that were archived since are read too, and few that were archived before: those above the
    floors."""

    def number(name: str) -> sa.BindParameter[int]:
        return sa.bindparam(name, type_=BigInteger)

    def above(floor: str, lead: int) -> sa.Select[Any]:
        query = _read(lead, authors=authors).where(_e.session == number("session"))
        there = (_e.position < number("then_end"), _e.seq <= number("then_seq"))
        return query.where(_e.position > number(floor), *there, was_active())

    summaries = above("summaries_floor", 1).where(sa.text(ALL_LEADS), _e.synthetic)
    prompts = above("prompts_floor", 1).where(sa.text(ALL_LEADS), sa.not_(_e.synthetic))
    others = above("conversation_floor", 0).where(sa.text(f"NOT ({LEAD})"))
    newest = others.order_by(_e.position.desc()).limit(number("limit")).subquery()
    return sa.union_all(summaries, prompts, sa.select(newest))


def read_window(scanner: Scanner, tenant: str, ref: SessionRef, *, with_text: bool) -> WindowRead:
    session = require(scanner.connection, tenant, ref)
    query = sa.select(*_OF_WINDOWS, (_e.body if with_text else _TIED_BODY).label("body"))
    query = query.where(*window_of(session.id)).order_by(_e.position)
    found: list[WindowEvent] = []
    bodies: dict[str, bytes] = {}
    # Unpacked rows: there may be hundreds of thousands, and each attribute of a row costs as much as a field of the event.
    for (
        seq,
        time,
        role,
        author,
        author_role,
        branch,
        synthetic,
        event_id,
        position,
        tokens,
        size,
        content,
        body,
    ) in scanner.connection.execute(query.execution_options(yield_per=_ROWS_AT_ONCE)):
        event = WindowEvent(
            seq=seq,
            time=time,
            role=ROLES[role],
            author=author,
            author_role=author_role,
            branch=branch,
            synthetic=bool(synthetic),
            event_id=event_id,
            position=position,
            tokens=tokens,
            size=size,
            content_bytes=content,
        )
        if body is not None:
            bodies[event_id] = plain = scanner.codec.decrypt(body)
            read = scanner.codec.reading(plain)
            event.prompt_text, event.content_bytes, event.calls, event.results, event.result_names = read
        found.append(event)
    return WindowRead(found, bodies, session_of(session))
