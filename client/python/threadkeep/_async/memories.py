"""One user's long-term memory; see `searches`."""
# ruff: noqa: SLF001 - a part of the client

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Unpack

from .._arguments import NamesArguments
from .._convert import Metadata, SessionLike, json_text, session_ref, timestamp
from .._search import MemorySelection, entries, memory_filter, recency_of, search_mode
from ..v1 import memory_service_pb2 as ms
from ..v1.memory_pb2 import MemoryEntry, MemoryScope
from ..v1.message_pb2 import ChatMessage
from ..v1.search_pb2 import Recency, SearchMode
from ..v1.session_pb2 import SessionRef
from .connection import AsyncConnection


class AsyncUserMemory(NamesArguments):
    """The long-term memory of one user in one app, across sessions. Made by the client's `memory`; closes with the client.

    All methods are limited to that user and app: an empty app is memories without an app, not those of every app. Every method
    may raise MemoryNotConfigured in addition to the errors of the client's methods.
    """

    def __init__(self, connection: AsyncConnection, app: str, user_id: str) -> None:
        self._connection = connection
        self.app = app
        self.user_id = user_id

    async def add_session(
        self,
        session: SessionLike,
        *,
        event_ids: Iterable[str] = (),
        include_tools: bool = False,
        include_reasoning: bool = False,
        include_synthetic: bool = False,
        metadata: Metadata = None,
        timeout: float | None = None,
    ) -> ms.AddSessionToMemoryResponse:
        """Add a session of this user: one entry for each event with text, or for those of `event_ids` (at most 1,000).

        Existing entries stay unchanged and deleted ones stay deleted, so the call can be repeated. `metadata` is that of every
        added entry. Raises SessionNotFound, AmbiguousSession, EventNotFound; ValueError for a session that
        names another user or app.
        """
        if isinstance(event_ids, str):
            raise TypeError("event_ids must be several ids, not str")
        request = ms.AddSessionToMemoryRequest(
            session=self._own(session),
            event_ids=event_ids,
            include_tools=include_tools,
            include_reasoning=include_reasoning,
            include_synthetic=include_synthetic,
            metadata_json=json_text(metadata, "metadata"),
        )
        stubs = await self._connection._stubs()
        return await self._connection._call(stubs.memories.AddSessionToMemory, request, timeout)

    async def add(self, *memories: str | ChatMessage | MemoryEntry, timeout: float | None = None) -> Sequence[ms.AddedMemory]:
        """Add entries, all or none; `memory_entry` makes those with more than text. Returns one result per entry, in order.

        Entries without an id get one before they are sent, so the client's retries add nothing twice. The same id with
        the same content is a replay. Raises MemoryIdConflict, EventTooLarge, BatchTooLarge.
        """
        request = ms.AddMemoriesRequest(scope=self._scope(), memories=entries(memories))
        stubs = await self._connection._stubs()
        return (await self._connection._call(stubs.memories.AddMemories, request, timeout)).memories

    async def search(
        self,
        query: str,
        *,
        mode: SearchMode.ValueType | str = SearchMode.SEARCH_MODE_UNSPECIFIED,
        top_k: int = 0,
        min_score: float | None = None,
        recency: Recency | timedelta | None = None,
        reference_time: datetime | int | None = None,
        timeout: float | None = None,
        **selection: Unpack[MemorySelection],
    ) -> ms.SearchMemoryResponse:
        """Return the entries that match the query (at most 1,024 characters), best first; an empty query finds nothing.

        `mode`: "auto" (the default), "substring", "ranked", "semantic" or "hybrid"; see SearchOptions for it and for
        `min_score`, the minimum score of an entry. `top_k`: 0 is 5 with "semantic", else 10; at most 1,000. `recency`: boosts
        newer entries, see SearchOptions. `reference_time`: what "yesterday" refers to, by default now. Searches the entries
        selected by `session_ids`, `authors`, `from_time`, `to_time` and `metadata` (see MemorySelection). Raises
        EmbedderNotConfigured, EmbedderFailed.
        """
        request = ms.SearchMemoryRequest(
            scope=self._scope(),
            query=query,
            mode=search_mode(mode),
            top_k=top_k,
            filter=memory_filter(selection),
            recency=recency_of(recency),
            reference_time=timestamp(reference_time, "reference_time"),
        )
        if min_score is not None:
            request.min_score = min_score
        stubs = await self._connection._stubs()
        return await self._connection._call(stubs.memories.SearchMemory, request, timeout)

    async def list_page(
        self, *, page_size: int = 0, page_token: str = "", timeout: float | None = None, **selection: Unpack[MemorySelection]
    ) -> ms.ListMemoriesResponse:
        """Return one page of entries, the last added first; `page_size` 0 is 100, at most 1,000. Raises InvalidPageToken."""
        request = ms.ListMemoriesRequest(
            scope=self._scope(), filter=memory_filter(selection), page_size=page_size, page_token=page_token
        )
        stubs = await self._connection._stubs()
        return await self._connection._call(stubs.memories.ListMemories, request, timeout)

    async def list(
        self, *, page_size: int = 0, timeout: float | None = None, **selection: Unpack[MemorySelection]
    ) -> AsyncIterator[MemoryEntry]:
        """Iterate over all entries that `list_page` finds."""
        token, more = "", True
        while more:
            page = await self.list_page(page_size=page_size, page_token=token, timeout=timeout, **selection)
            for entry in page.entries:
                yield entry
            token, more = page.next_page_token, bool(page.next_page_token)

    async def delete(
        self,
        ids: Iterable[str] | None = None,
        *,
        session_id: str | None = None,
        all: bool = False,  # noqa: A002
        timeout: float | None = None,
    ) -> ms.DeleteMemoriesResponse:
        """Delete entries: those with these ids (at most 1,000), those of a session, or all. The response is a receipt.

        Give exactly one of the three. Empty ids delete nothing; the session may have been deleted.
        """
        if (ids is not None) + (session_id is not None) + all != 1:
            raise ValueError("give exactly one of ids, session_id and all=True")
        if isinstance(ids, str):
            raise TypeError("ids must be several ids, not str")
        request = ms.DeleteMemoriesRequest(scope=self._scope())
        if ids is not None:
            request.ids.ids.extend(ids)
            if not request.ids.ids:
                return ms.DeleteMemoriesResponse()
        elif session_id is not None:
            request.session_id = session_id
        else:
            request.all = True
        stubs = await self._connection._stubs()
        return await self._connection._call(stubs.memories.DeleteMemories, request, timeout)

    def _scope(self) -> MemoryScope:
        return MemoryScope(app=self.app, user_id=self.user_id)

    def _own(self, session: SessionLike) -> SessionRef:
        """The session's reference. Raises ValueError for another user or app than this memory's."""
        ref = session_ref(session, self.app, self.user_id)
        named = ref.app or ref.user_id
        if named and (ref.app != self.app or (ref.user_id and self.user_id and ref.user_id != self.user_id)):
            raise ValueError(
                f"the session is of app {ref.app!r} and user {ref.user_id!r}, this memory of {self.app!r} and {self.user_id!r}"
            )
        return ref
