"""The unit of work that loads a session with its state and its log, as of one moment."""

from __future__ import annotations

from ....domain.model import SessionRef
from ....domain.state.state import StatePage, StateQuery, StateScope, state_name
from ...contract.events import ContextPage, EventPage, EventQuery
from ...contract.loading import Loaded, LoadQuery, fitting_state, limited
from ..log import context_queries, list_queries
from ..log.rows import require_prepared, session_of
from ..log.scan import Scanner
from ..log.session_queries import newest_events
from ..scan_budget import ScanLimits
from ..state.queries import get_state, session_state


def load_session(scanner: Scanner, tenant: str, ref: SessionRef, query: LoadQuery, limits: ScanLimits) -> Loaded:
    """Runs in a snapshot."""
    row = require_prepared(scanner.connection, scanner.statements, tenant, ref)
    session = session_of(row)
    states: dict[StateScope, StatePage] = {}
    budget = query.state_bytes
    for scope in query.scopes:
        wanted = StateQuery(max_bytes=budget)
        if scope is StateScope.SESSION:
            page = session_state(scanner, row.id, wanted)
        else:
            page = get_state(scanner, tenant, state_name(scope, session.ref), wanted)
        states[scope], budget = fitting_state(page, budget)
    left = query.max_bytes - query.state_bytes + budget
    newest, size = newest_events(scanner, [row.id], left // 2)[0] if query.newest else (None, 0)
    found: EventPage | ContextPage | None = None
    if query.log is not None:
        log = limited(query.log, left - size)
        if isinstance(log, EventQuery):
            found = list_queries.events_of(scanner, session.ref, row, log, limits)
        else:
            found = context_queries.context_of(scanner, session.ref, row, log, query.context_bytes)
    return Loaded(session, states, newest, found)
