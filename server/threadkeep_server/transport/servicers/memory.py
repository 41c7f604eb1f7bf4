"""threadkeep.v1.MemoryService."""

from __future__ import annotations

from collections.abc import Callable

from threadkeep.v1 import memory_pb2, search_pb2
from threadkeep.v1 import memory_service_pb2 as pb

from ...domain import validation
from ...domain.model import Caller
from ...service.memory.memories import MemoryService
from ..convert.memories import (
    drafts_of,
    entry_to,
    forget_of,
    ingestion_of,
    is_replacing,
    lookups_to,
    memory_filter_of,
    memory_to,
    names_of,
    namespaces_of,
    query_of,
    scope_of,
    writes_of,
    written_to,
)
from ..convert.sessions import ref_of, set_time
from ..page_tokens import PageTokens


class MemoryServicer:
    """`new_id` returns an id for a memory without one."""

    def __init__(self, memory: MemoryService, limits: validation.Limits, tokens: PageTokens, new_id: Callable[[], str]) -> None:
        self._memory = memory
        self._limits = limits
        self._tokens = tokens
        self._new_id = new_id

    async def AddSessionToMemory(self, request: pb.AddSessionToMemoryRequest, caller: Caller) -> pb.AddSessionToMemoryResponse:
        done = await self._memory.add_session(caller, ref_of(request.session), ingestion_of(request))
        return pb.AddSessionToMemoryResponse(
            added=done.added, existing=done.existing, skipped=done.skipped, deleted=done.deleted
        )

    async def AddMemories(self, request: pb.AddMemoriesRequest, caller: Caller) -> pb.AddMemoriesResponse:
        scope = scope_of(request)
        self._memory.check_count(len(request.memories))
        added = await self._memory.add(caller, scope, drafts_of(request.memories, self._new_id))
        return pb.AddMemoriesResponse(memories=[pb.AddedMemory(id=each.id, replayed=each.replayed) for each in added])

    async def UpsertMemories(self, request: pb.UpsertMemoriesRequest, caller: Caller) -> pb.UpsertMemoriesResponse:
        scope, replacing = scope_of(request), is_replacing(request)
        self._memory.check_count(len(request.writes), "writes")
        written = await self._memory.upsert(caller, scope, writes_of(request.writes, self._new_id), replacing=replacing)
        return pb.UpsertMemoriesResponse(memories=map(written_to, written))

    async def GetMemories(self, request: pb.GetMemoriesRequest, caller: Caller) -> pb.GetMemoriesResponse:
        names = names_of("names", request.names)
        read = await self._memory.get(caller, scope_of(request), names, refresh=request.refresh_ttl)
        return pb.GetMemoriesResponse(memories=lookups_to(request.names, read))

    async def SearchMemory(self, request: pb.SearchMemoryRequest, caller: Caller) -> pb.SearchMemoryResponse:
        found = await self._memory.search(caller, query_of(request))
        return pb.SearchMemoryResponse(
            entries=map(entry_to, found.entries),
            mode=search_pb2.SearchMode.ValueType(found.mode),
            semantic_lag=found.semantic_lag,
            rerank_failed=found.rerank_failed,
            incomplete=found.unsearched > 0,
            unsearched_memories=found.unsearched,
        )

    async def ListMemories(self, request: pb.ListMemoriesRequest, caller: Caller) -> pb.ListMemoriesResponse:
        size = validation.page_size(
            "page_size", request.page_size, default=validation.DEFAULT_PAGE_SIZE, most=self._limits.max_page_size
        )
        scope, wanted = scope_of(request), memory_filter_of(request.filter)
        cursor = self._tokens.read(request, caller, request.page_token, 1)[0] if request.page_token else None
        page = await self._memory.list(caller, scope, wanted, size, cursor, refresh=request.refresh_ttl)
        return pb.ListMemoriesResponse(
            entries=map(memory_to, page.memories),
            next_page_token="" if page.cursor is None else self._tokens.make(request, caller, page.cursor),
        )

    async def ListMemoryNamespaces(
        self, request: pb.ListMemoryNamespacesRequest, caller: Caller
    ) -> pb.ListMemoryNamespacesResponse:
        size = validation.page_size(
            "page_size", request.page_size, default=validation.DEFAULT_PAGE_SIZE, most=self._limits.max_page_size
        )
        scope, wanted = scope_of(request), namespaces_of(request)
        cursor = self._tokens.read_text(request, caller, request.page_token) if request.page_token else None
        page = await self._memory.namespaces(caller, scope, wanted, size, cursor)
        return pb.ListMemoryNamespacesResponse(
            namespaces=(memory_pb2.MemoryNamespace(labels=each) for each in page.namespaces),
            next_page_token="" if page.cursor is None else self._tokens.make_text(request, caller, page.cursor),
        )

    async def DeleteMemories(self, request: pb.DeleteMemoriesRequest, caller: Caller) -> pb.DeleteMemoriesResponse:
        field = "names.names" if request.HasField("names") else "ids.ids"
        receipt = await self._memory.forget(caller, scope_of(request), forget_of(request), field)
        response = pb.DeleteMemoriesResponse(
            deleted=receipt.deleted, embeddings_deleted=receipt.embeddings, not_found=receipt.not_found
        )
        set_time(response.delete_time, receipt.time)
        return response
