"""The calls for searches, long-term memory and recall tools; see `client`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Unpack

from .._convert import SessionLike
from .._search import SearchOptions, arguments_text, with_options
from ..filters import FilterLike, filter_of
from ..v1 import search_service_pb2 as rs
from ..v1 import tool_service_pb2 as ts
from ..v1.session_pb2 import SessionRef
from ..values.pages import SearchHit
from .connection import AsyncConnection
from .memories import AsyncUserMemory
from .pages import paged


class AsyncSearches(AsyncConnection):
    """The calls for searches and memory. `SearchOptions` describes the options of searches."""

    async def search_page(
        self,
        query: str,
        *,
        session: SessionLike | None = None,
        user_id: str | None = None,
        app: str | None = None,
        any_user: bool = False,
        any_app: bool = False,
        filter: FilterLike | None = None,  # noqa: A002
        page_size: int = 0,
        page_token: str = "",
        timeout: float | None = None,
        **options: Unpack[SearchOptions],
    ) -> rs.SearchEventsResponse:
        """Return one page of the events that match `query` (at most 1,024 characters), including archived ones.

        Searches `session`, or all sessions of `user_id` (default the client's) in `app` (default the client's, else any, as
        with `any_app`), or, with `any_user`, those of every user of `app` (default the client's; "" is sessions without
        one), but not of every user in every app. By default ranks hits, best first, and matches text in double quotes
        literally, oldest first; see SearchOptions for `mode` and the other options. `page_size`: 0 is 10, at most 1,000.
        `incomplete` of the page: some events are not indexed yet and were too many to read; a literal page continues there.
        Raises SessionNotFound, AmbiguousSession, InvalidPageToken, EmbedderNotConfigured, EmbedderFailed, RateLimited.
        """
        if session is not None and (user_id is not None or app is not None or any_user or any_app):
            raise ValueError("give either session, or user_id and app, or any_user and app")
        if any_user and any_app:
            raise ValueError("a search is of one user or of one app: give either any_user or any_app")
        whose, where = self._user(user_id, any_user), self._app(app, any_app)
        request = rs.SearchEventsRequest(query=query, filter=filter_of(filter), page_size=page_size, page_token=page_token)
        if session is not None:
            request.session.CopyFrom(self._ref(session))
        elif any_user:
            request.app.CopyFrom(rs.AppScope(app=where or ""))
        else:
            request.user.CopyFrom(rs.UserScope(app=where, user_id=whose))
        return await self._call((await self._stubs()).search.SearchEvents, with_options(request, options), timeout)

    def search(
        self,
        query: str,
        *,
        session: SessionLike | None = None,
        user_id: str | None = None,
        app: str | None = None,
        any_user: bool = False,
        any_app: bool = False,
        filter: FilterLike | None = None,  # noqa: A002
        page_size: int = 0,
        timeout: float | None = None,
        **options: Unpack[SearchOptions],
    ) -> AsyncIterator[SearchHit]:
        """Iterate over all hits that `search_page` finds; stop early with ranked ones."""
        return paged(
            lambda token: self.search_page(
                query,
                session=session,
                user_id=user_id,
                app=app,
                any_user=any_user,
                any_app=any_app,
                filter=filter,
                page_size=page_size,
                page_token=token,
                timeout=timeout,
                **options,
            ),
            lambda page: (SearchHit(hit) for hit in page.hits),
        )

    def memory(self, *, user_id: str | None = None, app: str | None = None) -> AsyncUserMemory:
        """Return the long-term memory of a user in an app, by default the client's. Makes no call."""
        return AsyncUserMemory(self, app=self._app(app) or "", user_id=self._user(user_id))

    async def tools(self, *, timeout: float | None = None) -> Sequence[ts.ToolDefinition]:
        """Return the recall tools of the server. Declare them to a model, except those with `declared` false."""
        return (await self._call((await self._stubs()).tools.ListTools, ts.ListToolsRequest(), timeout)).tools

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        session: SessionLike | None = None,
        timeout: float | None = None,
    ) -> ts.CallToolResponse:
        """Run a recall tool with the arguments that the model wrote, as JSON text or parsed.

        `session`: the session of the call; without it the client's user and app, which suffices for all but
        conversation_search. A mistake of the model is a result with `is_error` and a text for the model. Raises
        MemoryNotConfigured, SessionNotFound, AmbiguousSession.
        """
        ref = SessionRef(app=self.app, user_id=self.user_id) if session is None else self._ref(session)
        request = ts.CallToolRequest(session=ref, name=name, arguments_json=arguments_text(arguments))
        return await self._call((await self._stubs()).tools.CallTool, request, timeout)
