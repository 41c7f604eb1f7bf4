"""recollect.v1.RecallService."""

from __future__ import annotations

from dataclasses import replace

from recollect.v1 import recall_service_pb2 as pb

from ...domain import rules
from ...domain.errors import InvalidField
from ...domain.filters import EventFilter
from ...domain.model import Caller, SessionRef
from ...domain.text import fold
from ...service.recall import RecallService
from ...store.base import SearchCursor, SearchQuery, UserScope
from ..convert import filter_of, ref_of
from ..tokens import PageTokens
from ..wire import search_events_response


class RecallServicer:
    def __init__(self, recall: RecallService, limits: rules.Limits, tokens: PageTokens) -> None:
        self._recall = recall
        self._limits = limits
        self._tokens = tokens

    async def SearchEvents(self, request: pb.SearchEventsRequest, caller: Caller) -> bytes:
        page = await self._recall.search(caller, self._query_of(request))
        cursor = page.cursor
        numbers = () if cursor is None else (cursor.time, cursor.session, cursor.position, cursor.left)
        return search_events_response(page, self._tokens.make(request, *numbers) if numbers else "")

    def _query_of(self, request: pb.SearchEventsRequest) -> SearchQuery:
        if request.mode not in pb.SearchMode.values():
            raise InvalidField("mode", "must be SEARCH_MODE_SUBSTRING")
        wanted = _with_query(filter_of(request.filter), rules.term("query", request.query))
        if wanted.has_window and request.page_size:
            raise InvalidField("page_size", "and a window in filter are mutually exclusive")
        cursor = None
        if request.page_token:
            time, session, position, left = self._tokens.read(request, request.page_token, 4)
            cursor = SearchCursor(time or 0, session or 0, position or 0, left)
        return SearchQuery(
            scope=_scope_of(request),
            filter=wanted,
            limit=rules.page_size("page_size", request.page_size, default=rules.DEFAULT_HITS, most=self._limits.max_page_size),
            cursor=cursor,
        )


def _with_query(wanted: EventFilter, query: str) -> EventFilter:
    """The filter with the query as one more condition beside the filter's own."""
    if not query.strip():
        return wanted
    if not wanted.keyword:
        return replace(wanted, keyword=query)
    if not wanted.keywords:
        return replace(wanted, keywords=(fold(query),))
    raise InvalidField("query", "cannot be combined with both filter.keyword and filter.keywords")


def _scope_of(request: pb.SearchEventsRequest) -> SessionRef | UserScope:
    scope = request.WhichOneof("scope")
    if scope == "session":
        return ref_of(request.session)
    if scope == "user":
        app = rules.identifier("user.app", request.user.app) if request.user.HasField("app") else None
        return UserScope(rules.identifier("user.user_id", request.user.user_id), app)
    raise InvalidField("scope", "is required: session or user")
