# Generated from _async by `make sync-client`. Do not edit.
"""One user's long-term memory; see `searches`."""
# ruff: noqa: SLF001 - a part of the client

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Unpack

from .._arguments import NamesArguments
from .._convert import Metadata, SessionLike, json_text, session_ref, timestamp
from .._search import (
    MemorySelection,
    entries,
    if_exists_of,
    labels_of,
    memory_filter,
    memory_name,
    memory_names,
    memory_writes,
    recency_of,
    search_mode,
)
from ..v1 import memory_service_pb2 as ms
from ..v1.memory_pb2 import MemoryEntry, MemoryName, MemoryScope
from ..v1.message_pb2 import ChatMessage
from ..v1.search_pb2 import Recency, SearchMode
from ..v1.session_pb2 import SessionRef
from .connection import Connection
from .pages import paged


class UserMemory(NamesArguments):
    """The long-term memory of one user in one app, across sessions. Made by the client's `memory`; closes with the client.

    All methods are limited to that user and app: an empty app is memories without an app, not those of every app. Every method
    may raise MemoryNotConfigured in addition to the errors of the client's methods.
    """

    def __init__(self, connection: Connection, app: str, user_id: str) -> None:
        self._connection = connection
        self.app = app
        self.user_id = user_id

    def add_session(
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
        stubs = self._connection._stubs()
        return self._connection._call(stubs.memories.AddSessionToMemory, request, timeout)

    def add(self, *memories: str | ChatMessage | MemoryEntry, timeout: float | None = None) -> Sequence[ms.AddedMemory]:
        """Add entries, all or none; `memory_entry` makes those with more than text. Returns one result per entry, in order.

        Entries without an id get one before they are sent, so the client's retries add nothing twice. The same id with
        the same content is a replay. Raises MemoryIdConflict, EventTooLarge, BatchTooLarge.
        """
        request = ms.AddMemoriesRequest(scope=self._scope(), memories=entries(memories))
        stubs = self._connection._stubs()
        return self._connection._call(stubs.memories.AddMemories, request, timeout).memories

    def upsert(
        self,
        *memories: str | ChatMessage | MemoryEntry | ms.MemoryWrite,
        if_exists: ms.IfMemoryExists.ValueType | str = "replace",
        expected_etag: str | None = None,
        timeout: float | None = None,
    ) -> Sequence[ms.UpsertedMemory]:
        """Write entries, all or none: an entry with the same namespace and id is replaced. Returns one result per entry, in
        order.

        `if_exists`: "replace", or "ignore" to keep the stored entry. `expected_etag`: the etag of the stored entry if a single
        one is written; empty: there must be none. For several entries, `memory_write` sets it. Raises VersionMismatch if an
        entry has another etag, EventTooLarge, BatchTooLarge.
        """
        request = ms.UpsertMemoriesRequest(
            scope=self._scope(), writes=memory_writes(memories, expected_etag), if_exists=if_exists_of(if_exists)
        )
        stubs = self._connection._stubs()
        return self._connection._call(stubs.memories.UpsertMemories, request, timeout).memories

    def get(
        self,
        id: str,  # noqa: A002
        *,
        namespace: Iterable[str] = (),
        refresh_ttl: bool = False,
        timeout: float | None = None,
    ) -> MemoryEntry | None:
        """Return the entry with this id in the namespace; None if there is none. `refresh_ttl`: it expires one ttl from now."""
        found = self.get_many([memory_name(id, namespace)], refresh_ttl=refresh_ttl, timeout=timeout)
        return found[0]

    def get_many(
        self, names: Iterable[str | MemoryName], *, refresh_ttl: bool = False, timeout: float | None = None
    ) -> Sequence[MemoryEntry | None]:
        """Return the entries with these names (at most 1,000), in order; None in place of those that do not exist.

        A text is an id in the root namespace, `memory_name` makes the others. Large entries take several requests.
        """
        found: list[MemoryEntry | None] = []
        wanted = memory_names(names)
        stubs = self._connection._stubs()
        while wanted:
            request = ms.GetMemoriesRequest(scope=self._scope(), names=wanted, refresh_ttl=refresh_ttl)
            lookups = self._connection._call(stubs.memories.GetMemories, request, timeout).memories
            fit = next((index for index, each in enumerate(lookups) if each.omitted), len(lookups))
            if not fit:
                raise ValueError("the server returned no entry for the first name")
            found += [each.entry if each.HasField("entry") else None for each in lookups[:fit]]
            wanted = wanted[fit:]
        return found

    def search(
        self,
        query: str,
        *,
        mode: SearchMode.ValueType | str = SearchMode.SEARCH_MODE_UNSPECIFIED,
        top_k: int = 0,
        min_score: float | None = None,
        recency: Recency | timedelta | None = None,
        reference_time: datetime | int | None = None,
        refresh_ttl: bool = False,
        timeout: float | None = None,
        **selection: Unpack[MemorySelection],
    ) -> ms.SearchMemoryResponse:
        """Return the entries that match the query (at most 1,024 characters), best first; an empty query finds nothing.

        `mode`: "auto" (the default), "substring", "ranked", "semantic" or "hybrid"; see SearchOptions for it and for
        `min_score`, the minimum score of an entry. `top_k`: 0 is 5 with "semantic", else 10; at most 1,000. `recency`: boosts
        newer entries, see SearchOptions. `reference_time`: what "yesterday" refers to, by default now. Searches the entries
        selected by `session_ids`, `authors`, `from_time`, `to_time`, `metadata`, `conditions` and `namespace_prefix` (see
        MemorySelection). `refresh_ttl`: found entries expire one ttl from now. Raises EmbedderNotConfigured, EmbedderFailed.
        """
        request = ms.SearchMemoryRequest(
            scope=self._scope(),
            query=query,
            mode=search_mode(mode),
            top_k=top_k,
            filter=memory_filter(selection),
            recency=recency_of(recency),
            reference_time=timestamp(reference_time, "reference_time"),
            refresh_ttl=refresh_ttl,
        )
        if min_score is not None:
            request.min_score = min_score
        stubs = self._connection._stubs()
        return self._connection._call(stubs.memories.SearchMemory, request, timeout)

    def list_page(
        self,
        *,
        page_size: int = 0,
        page_token: str = "",
        refresh_ttl: bool = False,
        timeout: float | None = None,
        **selection: Unpack[MemorySelection],
    ) -> ms.ListMemoriesResponse:
        """Return one page of entries, the last written first; `page_size` 0 is 100, at most 1,000. `refresh_ttl`: its entries
        expire one ttl from now. Raises InvalidPageToken."""
        request = ms.ListMemoriesRequest(
            scope=self._scope(),
            filter=memory_filter(selection),
            page_size=page_size,
            page_token=page_token,
            refresh_ttl=refresh_ttl,
        )
        stubs = self._connection._stubs()
        return self._connection._call(stubs.memories.ListMemories, request, timeout)

    def list(
        self,
        *,
        page_size: int = 0,
        refresh_ttl: bool = False,
        timeout: float | None = None,
        **selection: Unpack[MemorySelection],
    ) -> Iterator[MemoryEntry]:
        """Iterate over all entries that `list_page` finds."""
        return paged(
            lambda token: self.list_page(
                page_size=page_size, page_token=token, refresh_ttl=refresh_ttl, timeout=timeout, **selection
            ),
            lambda page: page.entries,
        )

    def namespaces_page(
        self,
        *,
        prefix: Iterable[str] = (),
        suffix: Iterable[str] = (),
        max_depth: int = 0,
        page_size: int = 0,
        page_token: str = "",
        timeout: float | None = None,
    ) -> ms.ListMemoryNamespacesResponse:
        """Return one page of the namespaces that have entries; `page_size` 0 is 100, at most 1,000. A page may be empty and
        have a next one. Raises InvalidPageToken."""
        request = ms.ListMemoryNamespacesRequest(
            scope=self._scope(),
            prefix=labels_of(prefix, "prefix"),
            suffix=labels_of(suffix, "suffix"),
            max_depth=max_depth,
            page_size=page_size,
            page_token=page_token,
        )
        stubs = self._connection._stubs()
        return self._connection._call(stubs.memories.ListMemoryNamespaces, request, timeout)

    def namespaces(
        self,
        *,
        prefix: Iterable[str] = (),
        suffix: Iterable[str] = (),
        max_depth: int = 0,
        page_size: int = 0,
        timeout: float | None = None,
    ) -> Iterator[tuple[str, ...]]:
        """Iterate over the namespaces that have entries, in order; the root is ().

        `prefix`, `suffix`: their first and last labels, where "*" matches any. `max_depth`: of longer ones only so many labels,
        each result once; 0: no limit.
        """
        first, last = labels_of(prefix, "prefix"), labels_of(suffix, "suffix")
        return paged(
            lambda token: self.namespaces_page(
                prefix=first, suffix=last, max_depth=max_depth, page_size=page_size, page_token=token, timeout=timeout
            ),
            lambda page: (tuple(namespace.labels) for namespace in page.namespaces),
        )

    def delete(
        self,
        ids: Iterable[str | MemoryName] | None = None,
        *,
        session_id: str | None = None,
        namespace: Iterable[str] | None = None,
        all: bool = False,  # noqa: A002
        timeout: float | None = None,
    ) -> ms.DeleteMemoriesResponse:
        """Delete entries: those with these ids or names (at most 1,000), those of a session, those in a namespace and below it,
        or all. The response is a receipt.

        Give exactly one of the four. A text is an id in the root namespace, `memory_name` makes the others. Empty ids delete
        nothing; the session may have been deleted.
        """
        if (ids is not None) + (session_id is not None) + (namespace is not None) + all != 1:
            raise ValueError("give exactly one of ids, session_id, namespace and all=True")
        if isinstance(ids, str):
            raise TypeError("ids must be several ids, not str")
        request = ms.DeleteMemoriesRequest(scope=self._scope())
        if ids is not None:
            names = memory_names(ids)
            if not names:
                return ms.DeleteMemoriesResponse()
            if any(name.namespace for name in names):
                request.names.names.extend(names)
            else:
                request.ids.ids.extend(name.id for name in names)
        elif session_id is not None:
            request.session_id = session_id
        elif namespace is not None:
            request.namespace.labels.extend(labels_of(namespace))
            if not request.namespace.labels:
                raise ValueError("namespace must have a label; all=True deletes everything")
        else:
            request.all = True
        stubs = self._connection._stubs()
        return self._connection._call(stubs.memories.DeleteMemories, request, timeout)

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
