"""recollect.v1.ServerService."""

from __future__ import annotations

from recollect.v1 import server_service_pb2 as pb

from ...domain.model import SECOND_NS, Caller
from ...domain.rules import Limits
from ...service.server import ServerService


class ServerServicer:
    def __init__(self, server: ServerService, limits: Limits, version: str, token_counter: str, summarizer_model: str) -> None:
        self._server = server
        self._limits = limits
        self._version = version
        self._token_counter = token_counter
        self._summarizer_model = summarizer_model

    async def GetServerInfo(self, request: pb.GetServerInfoRequest, caller: Caller) -> pb.GetServerInfoResponse:
        info = await self._server.info(caller, totals=request.include_totals)
        return pb.GetServerInfoResponse(
            version=self._version,
            engine=info.engine,
            durability=info.durability,
            limits=limits_to(self._limits),
            capabilities=["search-index"] if info.indexed else [],
            schema_version=info.schema_version,
            search_index=pb.SearchIndexStatus(enabled=info.indexed, lag_batches=info.index_lag),
            total_sessions=info.totals.sessions if info.totals else 0,
            total_events=info.totals.events if info.totals else 0,
            store_id=info.store_id,
            token_counter=self._token_counter,
            summarizer_model=self._summarizer_model,
        )


def limits_to(limits: Limits) -> pb.ServerLimits:
    return pb.ServerLimits(
        max_event_bytes=limits.max_event_bytes,
        max_batch_events=limits.max_batch_events,
        max_batch_bytes=limits.max_batch_bytes,
        max_page_size=limits.max_page_size,
        max_response_bytes=limits.max_response_bytes,
        default_session_ttl_seconds=(limits.default_ttl or 0) // SECOND_NS,
        default_context_bytes=limits.context_bytes,
    )
