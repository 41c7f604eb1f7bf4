"""The composition root: the only module that imports every layer. One exit stack owns all resources."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import grpc

from threadkeep.messages import new_event_id
from threadkeep.v1 import (
    compaction_service_pb2,
    consumer_service_pb2,
    event_service_pb2,
    memory_service_pb2,
    search_service_pb2,
    server_service_pb2,
    session_service_pb2,
    state_service_pb2,
    subscription_service_pb2,
    tool_service_pb2,
)

from ..config.settings import ConfigError, Settings, split_address
from ..domain.model import SECOND_NS
from ..domain.search import SearchMode
from ..domain.validation import Limits
from ..providers.tokenizers import CHARACTER_ESTIMATE, TokenCounter
from ..service.audit import AuditService
from ..service.call_limit import CallLimit
from ..service.erasure import ErasureService, Receipts
from ..service.events import EventService
from ..service.fleet import Fleet
from ..service.forks import ForkService
from ..service.removals import RemovalService
from ..service.retention.service import RetentionService
from ..service.server import ServerService
from ..service.sessions import SessionService
from ..service.state import StateService
from ..service.storage_quota import StorageQuota
from ..service.sweeper import Sweeper
from ..service.user_events import UserEventService
from ..store.contract.maintenance import StoreInfo
from ..store.contract.store import Store
from ..store.sql.encryption.master_keys import KeyProblem
from ..store.sql.engine.base import SqlOptions
from ..store.sql.store import open_store
from ..telemetry.meters import Meters
from ..transport.asgi import ASGIApp
from ..transport.audit.file import STDERR, AuditFile, audit_file
from ..transport.audit.reader import AuditReader
from ..transport.audit.trail import Trail
from ..transport.auth import DEFAULT_TENANT, Authenticator
from ..transport.connections import ConnectionLimits
from ..transport.convert.events import DraftMaker
from ..transport.convert.feed_encoder import delivery_change
from ..transport.failed_logins import FailedLogins
from ..transport.grpc.credentials import server_credentials
from ..transport.grpc.server import serve_grpc
from ..transport.http.console import Console
from ..transport.http.memory_route import MemoryRoute
from ..transport.http.metrics import Metrics
from ..transport.http.server import http_app, serve_http
from ..transport.pace import Pace, paced
from ..transport.page_tokens import PageTokens
from ..transport.resume_tokens import ResumeTokens
from ..transport.rpc import Service
from ..transport.sealed import Seal
from ..transport.servicers.append_stream import AppendStreams
from ..transport.servicers.compaction import CompactionServicer
from ..transport.servicers.consumers import ConsumerServicer
from ..transport.servicers.events import EventServicer
from ..transport.servicers.memory import MemoryServicer
from ..transport.servicers.search import SearchServicer
from ..transport.servicers.server import About, ServerServicer
from ..transport.servicers.sessions import SessionServicer
from ..transport.servicers.state import StateServicer
from ..transport.servicers.subscriptions import SubscriptionServicer
from ..transport.servicers.tools import ToolServicer
from ..transport.wire.codec import EventCodec
from . import identity
from .compaction import CompactionServices, open_compaction, open_counter
from .console import console_of
from .feed import FeedServices, open_feed
from .fleet import open_fleet
from .master_keys import key_setting, open_master_keys
from .open_files import most_connections
from .quotas import Quotas, open_storage_quota, quotas_of
from .receipts import open_receipt_key
from .retention import archive_erasure, open_archive, open_retention, sweep_guard
from .search import SearchServices, open_search
from .telemetry import Telemetry, exporting, open_telemetry, with_ports

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Running:
    """A running server. Ports are the bound ones; http_port is None without HTTP, admin_port without admin_address.
    `ended`: done if it ends by itself."""

    grpc_port: int
    http_port: int | None
    store: StoreInfo
    ended: asyncio.Future[int] | None = None
    admin_port: int | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """What a front end serves. `gateway` and `admin` make the apps of HTTP and of admin_address. `drains` end the open streams:
    without them, closing would wait for the whole grace."""

    services: Sequence[Service]
    authenticator: Authenticator
    calls: CallLimit
    gateway: Callable[[], ASGIApp]
    admin: Callable[[], ASGIApp]
    drains: Sequence[Callable[[], None]]
    store: StoreInfo
    telemetry: Telemetry


@asynccontextmanager
async def serve_grpc_and_http(settings: Settings) -> AsyncIterator[Running]:
    """Serves while the context is open, then drains.

    Raises CannotListen or AddressInUse for a port, DatabaseInUse, SchemaTooNew and StoreUnavailable for the database.
    """
    async with open_services(settings) as opened:
        ports = {"grpc": _grpc(settings, opened)}
        if settings.http_address:
            ports["http"] = serve_app(settings, opened.gateway(), settings.http_address)
        if settings.admin_address:
            ports["admin"] = serve_app(settings, opened.admin(), settings.admin_address)
        async with _together(list(ports.values()), opened.drains) as numbers:
            bound = dict(zip(ports, numbers, strict=True))
            opened.telemetry.ports.update(bound)
            yield Running(bound["grpc"], bound.get("http"), opened.store, admin_port=bound.get("admin"))


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncIterator[Opened]:
    """Opens the store and everything on it. Raises DatabaseInUse, SchemaTooNew and StoreUnavailable."""
    async with AsyncExitStack() as stack:
        telemetry = await stack.enter_async_context(open_telemetry(settings))
        audit = _audit(stack, settings)
        trail = None if audit is None else Trail(audit.write, reads=settings.audit_reads)
        counter = open_counter(settings)
        codec = EventCodec("" if counter.name == CHARACTER_ESTIMATE else counter.name)
        store = await _open_store(stack, settings, codec, telemetry.meters)
        info, limits = await store.info(DEFAULT_TENANT, totals=False), _limits(settings)
        search = await stack.enter_async_context(open_search(settings, store, codec, limits, telemetry.meters))
        quota = await stack.enter_async_context(open_storage_quota(settings, store))
        sessions = SessionService(store, limits, time.time_ns, new_event_id, search.before_delete, quota)
        receipts, archive = Receipts(info.store_id, open_receipt_key(settings.receipt_key_file)), open_archive(settings, info)
        erasures = ErasureService(store, receipts, time.time_ns, archive_erasure(archive, store, trail))
        removals = RemovalService(store, receipts, limits, time.time_ns, quota)
        events = EventService(store, sessions, limits, time.time_ns, quota)
        compacting = await stack.enter_async_context(open_compaction(settings, store, codec, counter, limits, telemetry.meters))
        feed = await stack.enter_async_context(open_feed(settings, store))
        seal = Seal(info.store_id, bytes.fromhex(info.token_key))
        append_streams, quotas = AppendStreams(), quotas_of(settings, quota)
        services = _services(
            store, sessions, quota, erasures, events, removals, limits, seal, counter, compacting, feed, search, append_streams
        )
        fleet = await stack.enter_async_context(open_fleet(settings, store, version("threadkeep")))
        retained = open_retention(settings, store, archive, services, search.before_delete, trail)
        retention = await stack.enter_async_context(retained)
        services.append(_about(settings, store, search, limits, seal, quotas, counter, compacting.model, fleet, retention))
        services = _around(services, quotas, trail)
        sweeper, logins = _sweeper(stack, settings, sessions, store), FailedLogins(settings.max_failed_logins)
        authenticator = identity.authenticator(settings, logins, None if trail is None else trail.refused)
        calls, memory = CallLimit(settings.max_calls), MemoryRoute(search.memory, authenticator, trail)
        sources = replace(search.measured(feed.sources(store)), compaction=compacting.stats, retention=retention.stats)
        sources = with_ports(sources, telemetry, store, audit, logins if settings.authenticated else None, sweeper, calls)
        page = await stack.enter_async_context(exporting(settings, telemetry, Metrics(sources)))

        def app(served: Sequence[Service], metrics: bool, memory: MemoryRoute | None, console: Console | None) -> ASGIApp:
            return http_app(
                served,
                authenticator,
                ready=store.ping,
                # Twice: a batch is a third larger in base64, and the rest of the request has a size as well.
                max_bytes=settings.max_batch_bytes * 2,
                metrics=page if metrics else None,
                memory=memory,
                calls=calls,
                connections=connection_limits(settings),
                metrics_need_role=settings.metrics_need_role,
                console=console,
                rpcs=telemetry.rpcs,
            )

        def gateway() -> ASGIApp:
            return app(services, not settings.admin_address, memory, console_of(settings))

        def admin() -> ASGIApp:
            of_server = [service for service in services if service.descriptor.name == "ServerService"]
            return app(of_server, True, None, None)

        yield Opened(services, authenticator, calls, gateway, admin, (feed.drain, append_streams.drain), info, telemetry)


def _sweeper(stack: AsyncExitStack, settings: Settings, sessions: SessionService, store: Store) -> Sweeper:
    sweeper = Sweeper(sessions, store, sweep_guard(settings), settings.sweep_interval.total_seconds())
    stack.callback(asyncio.create_task(sweeper.run(), name="sweeper").cancel)
    return sweeper


def _audit(stack: AsyncExitStack, settings: Settings) -> AuditFile | None:
    if not settings.audit_log:
        return None
    try:
        return stack.enter_context(audit_file(settings.audit_log))
    except OSError as error:
        raise ConfigError(
            [f"audit_log: cannot open {settings.audit_log!r}: {error.strerror}; give the path of a file"]
        ) from None


async def _open_store(stack: AsyncExitStack, settings: Settings, codec: EventCodec, meters: Meters) -> Store:
    if settings.in_memory:
        from ..store.inmemory import InMemoryStore  # other servers need not load it

        _log.warning("database_url is memory://: sessions are stored in RAM and are lost when the server stops")
        in_memory = InMemoryStore(codec)
        in_memory.meters = meters.store
        return in_memory
    options = replace(_sql_options(settings), meters=meters.store)
    options = replace(options, master_keys=await asyncio.to_thread(open_master_keys, settings))
    try:
        return await stack.enter_async_context(open_store(settings.resolved_database_url, codec, options=options))
    except KeyProblem as problem:
        raise ConfigError([f"{key_setting(settings)}: {problem}"]) from None


@asynccontextmanager
async def _together(
    ports: Sequence[AbstractAsyncContextManager[int]], drains: Sequence[Callable[[], None]]
) -> AsyncIterator[list[int]]:
    """Opens ports in sequence and closes them at the same time, so that none accepts calls while another drains."""
    opened: list[AbstractAsyncContextManager[int]] = []
    numbers: list[int] = []
    try:
        for port in ports:
            numbers.append(await port.__aenter__())
            opened.append(port)
        yield numbers
    finally:
        for drain in drains:
            drain()
        await asyncio.gather(*(port.__aexit__(None, None, None) for port in opened))


def connection_limits(settings: Settings) -> ConnectionLimits:
    """Returns the limits of each port."""
    most = most_connections(settings.max_connections, ports=1 + bool(settings.http_address) + bool(settings.admin_address))
    return ConnectionLimits(most, settings.request_timeout.total_seconds(), settings.max_connection_calls)


def _grpc(settings: Settings, opened: Opened) -> AbstractAsyncContextManager[int]:
    return serve_grpc(
        opened.services,
        opened.authenticator,
        settings.grpc_address,
        max_request_bytes=settings.max_batch_bytes,
        drain_grace=settings.drain_grace.total_seconds(),
        credentials=_credentials(settings),
        with_reflection=settings.reflection,
        with_channelz=settings.channelz,
        calls=opened.calls,
        connections=connection_limits(settings),
        rpcs=opened.telemetry.rpcs,
    )


def _services(
    store: Store,
    sessions: SessionService,
    quota: StorageQuota | None,
    erasures: ErasureService,
    events: EventService,
    removals: RemovalService,
    limits: Limits,
    seal: Seal,
    counter: TokenCounter,
    compacting: CompactionServices,
    feed: FeedServices,
    search: SearchServices,
    append_streams: AppendStreams,
) -> list[Service]:
    tokens = PageTokens(seal)
    forks = ForkService(store, sessions, time.time_ns, new_event_id, quota)
    make_draft = DraftMaker(new_event_id, counter.count)
    compactions = CompactionServicer(compacting.compaction, compacting.policies, limits, tokens, make_draft)
    subscriptions = SubscriptionServicer(feed.subscriptions, ResumeTokens(seal, store.incarnations))
    user_events = UserEventService(store, limits)
    reading = EventServicer(events, removals, limits, tokens, make_draft, append_streams, user_events)
    consumers = ConsumerServicer(feed.consumers, limits, tokens, delivery_change, compacting.requests.due)
    servicers = (
        (session_service_pb2, "SessionService", SessionServicer(sessions, forks, erasures, limits, tokens)),
        (event_service_pb2, "EventService", reading),
        (state_service_pb2, "StateService", StateServicer(StateService(store, time.time_ns), limits)),
        (compaction_service_pb2, "CompactionService", compactions),
        (subscription_service_pb2, "SubscriptionService", subscriptions),
        (consumer_service_pb2, "ConsumerService", consumers),
        (search_service_pb2, "SearchService", SearchServicer(search.literal, search.ranked, limits, tokens)),
        (memory_service_pb2, "MemoryService", MemoryServicer(search.memory, limits, tokens, new_event_id)),
        (tool_service_pb2, "ToolService", ToolServicer(search.tools)),
    )
    most = limits.max_request_fields
    return [
        Service(module.DESCRIPTOR.services_by_name[name], servicer, most_fields=most) for module, name, servicer in servicers
    ]


def _around(services: Sequence[Service], quotas: Quotas, trail: Trail | None) -> list[Service]:
    """Returns the services with what happens around their calls, from the inside to the outside."""
    optional = (quotas.limiting(), None if trail is None else trail.audited)
    around = (*(each for each in optional if each is not None), paced(Pace()))
    return [replace(service, around=around) for service in services]


def _about(
    settings: Settings,
    store: Store,
    search: SearchServices,
    limits: Limits,
    seal: Seal,
    quotas: Quotas,
    counter: TokenCounter,
    summarizer: str,
    fleet: Fleet,
    retention: RetentionService,
) -> Service:
    semantic = search.ranked.best_mode is SearchMode.HYBRID
    about = About(
        version("threadkeep"), counter.name, summarizer, search.memory.enabled, semantic, authenticated=settings.authenticated
    )
    log = AuditReader(Path(settings.audit_log)) if settings.audit_log not in ("", STDERR) else None
    server, tokens = ServerService(store, search.facts), PageTokens(seal)
    servicer = ServerServicer(server, AuditService(log), fleet, limits, tokens, about, retention, quotas.used)
    descriptor = server_service_pb2.DESCRIPTOR.services_by_name["ServerService"]
    return Service(descriptor, servicer, most_fields=limits.max_request_fields)


def _limits(settings: Settings) -> Limits:
    return Limits(
        max_event_bytes=settings.max_event_bytes,
        max_batch_events=settings.max_batch_events,
        max_batch_bytes=settings.max_batch_bytes,
        max_page_size=settings.max_page_size,
        max_response_bytes=settings.max_response_bytes,
        default_ttl=int(settings.default_ttl.total_seconds() * SECOND_NS) or None,
        context_bytes=settings.context_bytes,
    )


def _sql_options(settings: Settings) -> SqlOptions:
    return SqlOptions(
        sqlite_synchronous=settings.sqlite_synchronous,
        sqlite_readers=settings.sqlite_readers,
        postgres_pool_size=settings.postgres_pool_size,
        row_security=settings.row_security,
        stall_alarm=settings.feed_stall_alarm.total_seconds(),
        postgres_listen_url=settings.resolved_listen_url,
        postgres_read_url=settings.resolved_read_url,
        postgres_read_wait=settings.database_read_wait.total_seconds(),
        postgres_pooler=settings.database_pooler,
        search_index=settings.search_index,
        search_scan_bytes=settings.search_scan_bytes,
        search_scan_seconds=settings.search_scan_time.total_seconds(),
        max_pending_bytes=settings.max_pending_bytes,
        encrypted_tenants=[name.strip() for name in settings.encrypted_tenants.split(",") if name.strip()],
        encrypted_search=settings.encrypted_search,
    )


def _credentials(settings: Settings) -> grpc.ServerCredentials | None:
    files = identity.tls_files(settings)
    return None if files is None else server_credentials(files)


def serve_app(settings: Settings, app: ASGIApp, address: str) -> AbstractAsyncContextManager[int]:
    """Serves an app over HTTP while the context is open. Raises AddressInUse."""
    return serve_http(
        app,
        *split_address(address),
        tls=identity.tls_files(settings),
        grace_s=settings.drain_grace.total_seconds(),
        connections=connection_limits(settings),
    )
