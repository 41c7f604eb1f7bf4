"""threadkeep.v1.ServerService."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from threadkeep.v1 import access_pb2
from threadkeep.v1 import server_service_pb2 as pb

from ...domain.audit import AuditPlace
from ...domain.model import SECOND_NS, Caller
from ...domain.rates import QuotaUse
from ...domain.roles import NAMES
from ...domain.validation import Limits
from ...service.audit import AuditService
from ...service.fleet import Fleet, FleetServer
from ...service.retention.service import RetentionService
from ...service.server import ServerService
from ..convert.audit import audit_query_of, audit_record_to
from ..convert.sessions import set_time
from ..page_tokens import PageTokens
from .retention import RetentionMethods

_LATEST_S = 253_402_300_799
"""The last second of a timestamp, the end of the year 9999. Issuers may have tokens expire later."""


@dataclass(frozen=True, slots=True)
class About:
    """Properties of the server; empty if not configured."""

    version: str
    token_counter: str
    summarizer_model: str
    memory: bool = False
    semantic: bool = False
    """Whether semantic search of events is enabled."""
    authenticated: bool = False
    """Whether calls need a credential."""


class ServerServicer(RetentionMethods):
    def __init__(
        self,
        server: ServerService,
        audit: AuditService,
        fleet: Fleet,
        limits: Limits,
        tokens: PageTokens,
        about: About,
        retention: RetentionService,
        used: Callable[[Caller], Sequence[QuotaUse]] = lambda _: (),
    ) -> None:
        """`used`: the quotas of a caller."""
        super().__init__(retention, tokens)
        self._used = used
        self._server = server
        self._audit = audit
        self._fleet = fleet
        self._tokens = tokens
        self._limits = limits
        self._about = about

    async def GetServerInfo(self, request: pb.GetServerInfoRequest, caller: Caller) -> pb.GetServerInfoResponse:
        info = await self._server.info(caller, totals=request.include_totals)
        model = self._server.embedder_model
        return pb.GetServerInfoResponse(
            version=self._about.version,
            engine=info.engine,
            durability=info.durability,
            limits=limits_to(self._limits),
            capabilities=self._capabilities(indexed=info.indexed),
            schema_version=info.schema_version,
            search_index=pb.SearchIndexStatus(enabled=info.indexed, lag_batches=info.index_lag),
            total_sessions=info.totals.sessions if info.totals else 0,
            total_events=info.totals.events if info.totals else 0,
            store_id=info.store_id,
            token_counter=self._about.token_counter,
            summarizer_model=self._about.summarizer_model,
            embedder_model=model,
            embeddings=pb.EmbeddingStatus(enabled=bool(model), waiting=await self._server.waiting(caller)),
            caller=self._caller(caller),
            servers=map(_server_to, self._fleet.servers(caller)),
        )

    async def ListAuditRecords(self, request: pb.ListAuditRecordsRequest, caller: Caller) -> pb.ListAuditRecordsResponse:
        before = self._place(request, caller) if request.page_token else None
        page = await self._audit.list(audit_query_of(request, caller, self._limits, before))
        return pb.ListAuditRecordsResponse(
            records=map(audit_record_to, page.records),
            next_page_token="" if page.next is None else self._tokens.make(request, caller, *page.next),
        )

    def _place(self, request: pb.ListAuditRecordsRequest, caller: Caller) -> AuditPlace:
        file, offset = self._tokens.read(request, caller, request.page_token, 2)
        return AuditPlace(file or 0, offset or 0)

    def _caller(self, caller: Caller) -> pb.CallerStatus:
        roles = [access_pb2.AccessRole.Value(f"ACCESS_ROLE_{name.upper()}") for name in NAMES if name in caller.roles]
        status = pb.CallerStatus(
            authenticated=self._about.authenticated,
            tenant=caller.tenant,
            app=caller.app or "",
            user_id=caller.user_id or "",
            roles=roles,
            quotas=[pb.QuotaStatus(name=name, limit=limit, used=used) for name, limit, used in self._used(caller)],
        )
        if caller.expires_at is not None:
            status.expire_time.FromMilliseconds(int(min(caller.expires_at, _LATEST_S) * 1000))
        return status

    def _capabilities(self, *, indexed: bool) -> list[str]:
        has = {
            "search-index": indexed,
            "ranked-search": True,
            "semantic-search": self._about.semantic,
            "memory": self._about.memory,
            "tools": True,
        }
        return [name for name, there in has.items() if there]


def _server_to(server: FleetServer) -> pb.FleetServer:
    row = server.row
    made = pb.FleetServer(
        id=row.id, version=row.version, metrics_address=row.metrics_address, answering=server.answering, gone=server.gone
    )
    set_time(made.start_time, row.start_time)
    set_time(made.seen_time, row.seen_time)
    return made


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
