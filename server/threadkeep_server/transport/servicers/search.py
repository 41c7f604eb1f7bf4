"""threadkeep.v1.SearchService."""

from __future__ import annotations

from dataclasses import replace

from threadkeep.v1 import search_service_pb2 as pb

from ...domain import validation
from ...domain.errors import InvalidField, InvalidPageToken
from ...domain.filters import EventFilter
from ...domain.model import Caller
from ...domain.search import SearchMode, Understood
from ...domain.text import fold
from ...service.search.literal_search import LiteralSearch
from ...service.search.ranked_search import RankedSearch
from ...store.contract.search import SearchCursor, SearchQuery
from ..convert.responses import literal_events_response, ranked_events_response
from ..convert.search import check_substring, ranked_query_of, scope_of, understood_as
from ..convert.sessions import filter_of
from ..page_tokens import PageTokens


class SearchServicer:
    def __init__(self, literal: LiteralSearch, ranked: RankedSearch, limits: validation.Limits, tokens: PageTokens) -> None:
        self._literal = literal
        self._ranked = ranked
        self._limits = limits
        self._tokens = tokens

    async def SearchEvents(self, request: pb.SearchEventsRequest, caller: Caller) -> bytes:
        validation.term("query", request.query)
        how = understood_as(request, self._ranked.best_mode)
        if how.mode is not SearchMode.SUBSTRING:
            return await self._search_ranked(request, caller, how)
        check_substring(request)
        page = await self._literal.search(caller, self._query_of(request, how.text, caller), request.neighbors)
        cursor = page.cursor
        numbers = () if cursor is None else (cursor.time, cursor.session, cursor.position, cursor.left)
        token = self._tokens.make(request, caller, *numbers) if numbers else ""
        return literal_events_response(page, token)

    async def _search_ranked(self, request: pb.SearchEventsRequest, caller: Caller, how: Understood) -> bytes:
        offset = 0
        if request.page_token:
            offset = self._tokens.read(request, caller, request.page_token, 1)[0] or 0
            if offset < 0:
                raise InvalidPageToken("is not a page token of this server")
        query = ranked_query_of(request, how, self._page_size(request.page_size), offset)
        page = await self._ranked.search(caller, query)
        token = "" if page.next_offset is None else self._tokens.make(request, caller, page.next_offset)
        return ranked_events_response(page, token)

    def _query_of(self, request: pb.SearchEventsRequest, text: str, caller: Caller) -> SearchQuery:
        wanted = _with_query(filter_of(request.filter), text)
        if wanted.has_window and request.page_size:
            raise InvalidField("page_size", "and a window in filter are mutually exclusive")
        cursor = None
        if request.page_token:
            time, session, position, left = self._tokens.read(request, caller, request.page_token, 4)
            cursor = SearchCursor(time or 0, session or 0, position or 0, left)
        return SearchQuery(scope=scope_of(request), filter=wanted, limit=self._page_size(request.page_size), cursor=cursor)

    def _page_size(self, value: int) -> int:
        return validation.page_size("page_size", value, default=validation.DEFAULT_HITS, most=self._limits.max_page_size)


def _with_query(wanted: EventFilter, query: str) -> EventFilter:
    """Returns the filter with the query as an additional condition."""
    if not query.strip():
        return wanted
    if not wanted.keyword:
        return replace(wanted, keyword=query)
    if not wanted.keywords:
        return replace(wanted, keywords=(fold(query),))
    raise InvalidField("query", "cannot be combined with both filter.keyword and filter.keywords")
