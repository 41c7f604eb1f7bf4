"""The HTTP port: RPCs as JSON, Connect and gRPC-Web, probes, metrics and an overview page."""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from functools import partial
from urllib.parse import parse_qs, urlsplit

import uvicorn

from ...domain.errors import InvalidField, RateLimited, ServerDraining, StoreUnavailable, ThreadkeepError
from ...domain.roles import OPS
from ...service.call_limit import UNLIMITED, CallLimit
from ...telemetry.prometheus import CONTENT_TYPE
from ...telemetry.rpcs import Rpcs
from ..asgi import ASGIApp, Receive, Scope, Send
from ..audit.peer import PEER
from ..auth import Authenticator
from ..client_certificates import CLIENT_NAMES
from ..connections import DEFAULT_LIMITS, ConnectionLimits
from ..errors import as_domain_error
from ..rpc import Method, Service
from ..tls_files import TlsFiles
from .connect_adapter import connect_app
from .connection import CERTIFIED, Connection, bounded
from .console import ROOT, Console
from .headers import ambiguous, cors, with_challenge, with_content_type, with_headers, with_line_end
from .listening import listen
from .memory_route import PATTERN, SHOWN, MemoryRoute
from .metrics import Metrics
from .responses import JSON, TEXT, respond, respond_error, respond_json

Ready = Callable[[], Awaitable[None]]

_READY_TIMEOUT_S = 5.0
_TICK_S = 1.0
# The content types of `curl -d` and of clients that set none; no RPC accepts forms.
_MEANS_JSON = frozenset({b"", b"application/x-www-form-urlencoded"})
_GRPC_WEB = frozenset({b"application/grpc-web", b"application/grpc-web+proto", b"application/grpc-web+json"})
_UNARY = frozenset({JSON, b"application/proto"}) | _GRPC_WEB
_STREAM = frozenset({b"application/connect+json", b"application/connect+proto"}) | _GRPC_WEB
_ENCODINGS = frozenset({"json", "proto"})
_EXAMPLE = "`curl -d '{...}'`"
_ALSO_HERE = {"/healthz": "the process is alive", "/readyz": "it can serve", "/metrics": "for Prometheus"}
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class _Gateway:
    def __init__(
        self,
        services: Sequence[Service],
        authenticator: Authenticator,
        ready: Ready,
        max_bytes: int,
        metrics: Metrics | None,
        memory: MemoryRoute | None,
        calls: CallLimit,
        connections: ConnectionLimits,
        metrics_need_role: bool,
        console: Console | None,
        rpcs: Rpcs,
    ) -> None:
        self._authenticator = authenticator
        self._guarded = {"/metrics"} if metrics_need_role else set()
        self._rpcs = connect_app(services, authenticator, max_bytes=max_bytes, calls=calls, rpcs=rpcs)
        self._measured = rpcs
        self._calls = calls
        self._connections = connections
        methods = [method for service in services for method in service.methods()]
        self._endless = frozenset(method.path for method in methods if method.client_streaming)
        self._kinds = {method.path: _kinds(method) for method in methods}
        self._reads = frozenset(method.path for method in methods if method.read_only and not method.streaming)
        self._memory = memory
        self._console = console
        self._ready = ready
        self._open = authenticator.anonymous is not None
        self._pages = {"/": self._home, "/healthz": self._healthz, "/readyz": self._readyz}
        if metrics is not None:
            self._pages["/metrics"] = partial(_send_metrics, metrics)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"only HTTP is served here, not {scope['type']}")
        if CERTIFIED in scope.get("state", ()):
            CLIENT_NAMES.set(scope["state"][CERTIFIED])
        # Only a shutdown cancels a call. Its client has a response by then, and the server logs the number of such calls.
        with contextlib.suppress(asyncio.CancelledError):
            if problem := ambiguous(scope["headers"]):
                await respond_error(send, problem)
            else:
                await self._answer(scope, receive, with_challenge(send))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        PEER.set(scope.get("client"))
        path, headers = scope["path"], dict(scope["headers"])
        origin = headers.get(b"origin")
        if origin is not None:
            if not self._admits(origin.decode("latin-1")):
                await respond_json(send, 403, _FOREIGN_ORIGIN)
                return
            send = with_headers(send, cors(headers))
            if scope["method"] == "OPTIONS":
                await respond(send, 204, TEXT, b"")
                return
        elif scope["method"] == "GET" and path in self._kinds and not self._admits(_origin_of_host(headers)):
            # A browser sends no origin with a GET to the host of the page, which DNS rebinding can make this server.
            await respond_json(send, 403, _FOREIGN_ORIGIN)
            return
        if path in self._guarded and not await self._is_operator(headers, send):
            return
        if path in self._kinds:
            body = receive if path in self._endless else bounded(receive, self._connections)
            await self._rpc(scope, body, send, headers.get(b"content-type", b""))
        elif self._console is not None and self._console.matches(path):
            await self._console(scope, send)
        else:
            await self._plain(scope, receive, send, path)

    async def _plain(self, scope: Scope, receive: Receive, send: Send, path: str) -> None:
        if self._memory is not None and self._memory.matches(scope):
            await self._remember(self._memory, scope, receive, send)
        elif page := self._pages.get(path):
            if scope["method"] in {"GET", "HEAD"}:
                await page(send)
            else:
                await respond_error(send, InvalidField("method", f"must be GET for {path}"), 405, [(b"allow", b"GET, HEAD")])
        else:
            if scope["method"] == "POST":
                self._measured.count_unknown()
            message = f"{path} does not exist; call RPCs by POST with JSON"
            paths = sorted(self._kinds) + sorted(self._pages) + ([] if self._memory is None else [PATTERN])
            await respond_json(send, 404, {"code": "unimplemented", "message": message, "paths": paths})

    async def _remember(self, memory: MemoryRoute, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with self._calls:
                await memory(scope, bounded(receive, self._connections), send)
        except RateLimited as error:
            await respond_error(send, error)

    async def _is_operator(self, headers: dict[bytes, bytes], send: Send) -> bool:
        """Reports whether the caller has the role ops; otherwise it gets the error."""
        try:
            credential = headers.get(b"authorization")
            authorization = None if credential is None else credential.decode("latin-1")
            await self._authenticator.admit(OPS, authorization, CLIENT_NAMES.get(), method="GET /metrics")
        except ThreadkeepError as error:
            await respond_error(send, error)
            return False
        return True

    async def _rpc(self, scope: Scope, receive: Receive, send: Send, content_type: bytes) -> None:
        path, kind = scope["path"], content_type.partition(b";")[0].strip().lower()
        if scope["method"] != "POST":
            if await self._refuses(scope, send):
                return
            scope = with_content_type(scope, JSON)  # which a GET has none of; that of gRPC would be read as gRPC's
            send = with_line_end(send)
        else:
            if kind in _MEANS_JSON:
                kind = JSON
                scope = with_content_type(scope, kind)
            if kind not in self._kinds[path]:
                await respond_error(send, InvalidField("content-type", self._wanted(path)), 415)
                return
            if kind == JSON:
                send = with_line_end(send)
        await self._rpcs(scope, receive, send)

    async def _refuses(self, scope: Scope, send: Send) -> bool:
        """Responds to a request other than POST, except to a valid GET of a read."""
        path = scope["path"]
        if scope["method"] != "GET" or path not in self._reads:
            how = "send frames by POST" if self._kinds[path] is _STREAM else f"POST JSON, as in {_EXAMPLE}"
            allowed = b"GET, POST" if path in self._reads else b"POST"
            problem = f"{scope['method']} is not supported by {path}; {how}"
            await respond_error(send, InvalidField("method", problem), 405, [(b"allow", allowed)])
            return True
        try:
            query = scope.get("query_string", b"").decode()
        except UnicodeDecodeError:
            query = ""
        if parse_qs(query).get("encoding", [""])[0] in _ENCODINGS:
            return False
        problem = f"must be ?encoding=json&message= and the request as JSON for a GET; or POST JSON to {path}, as in {_EXAMPLE}"
        await respond_error(send, InvalidField("query", problem))
        return True

    def _wanted(self, path: str) -> str:
        """Returns the problem of an unsupported content type."""
        kinds = b", ".join(sorted(self._kinds[path])).decode()
        if self._kinds[path] is not _STREAM:
            return f"must be one of {kinds}; gRPC is served on its own port"
        return (
            f"must be one of {kinds}: {path} is a stream and does not support plain JSON; use an SDK, gRPC on its own port, or "
            "frames; AppendEvents and ListEvents support plain JSON"
        )

    def _admits(self, origin: str) -> bool:
        """Reports whether pages of the origin may call. Without configured tokens only pages of this machine may; otherwise
        any web page that a user visits could read the sessions on the user's machine."""
        if not self._open:
            return True
        try:
            return urlsplit(origin).hostname in _LOOPBACK
        except ValueError:
            return False

    async def _home(self, send: Send) -> None:
        lines = ["Threadkeep: one session memory for every agent, in every language.", "", "POST JSON to one of:"]
        lines += [f"  {path}" for path, kinds in sorted(self._kinds.items()) if kinds is not _STREAM]
        lines += ["", "Streams (SDKs, gRPC on its own port, Connect with application/connect+json, gRPC-Web):"]
        lines += [f"  {path}" for path, kinds in sorted(self._kinds.items()) if kinds is _STREAM]
        if self._memory is not None:
            lines += ["", "PATCH JSON to:", f"  {SHOWN}"]
        also = [f"{path} ({what})" for path, what in _ALSO_HERE.items() if path in self._pages]
        also += [] if self._console is None else [f"{ROOT} (in a browser)"]
        lines += ["", f"Also here: {', '.join(also)}.", ""]
        await respond(send, 200, TEXT, "\n".join(lines).encode())

    async def _healthz(self, send: Send) -> None:
        await respond(send, 200, TEXT, b"ok\n")

    async def _readyz(self, send: Send) -> None:
        error: ThreadkeepError
        try:
            async with asyncio.timeout(_READY_TIMEOUT_S):
                await self._ready()
        except asyncio.CancelledError:  # the server is shutting down
            error = ServerDraining()
        except TimeoutError:
            error = StoreUnavailable(f"no answer within {_READY_TIMEOUT_S:.0f} s")
        except Exception as exc:
            error = as_domain_error(exc)
        else:
            await respond_json(send, 200, {"status": "ready"})
            return
        await respond_json(send, 503, {"status": "not ready", "reason": error.reason, "message": error.message})


_FOREIGN_ORIGIN = {
    "code": "permission_denied",
    "message": "without auth_tokens only web pages of the same machine may call this server; configure auth_tokens",
}


def http_app(
    services: Sequence[Service],
    authenticator: Authenticator,
    *,
    ready: Ready,
    max_bytes: int,
    metrics: Metrics | None = None,
    memory: MemoryRoute | None = None,
    calls: CallLimit = UNLIMITED,
    connections: ConnectionLimits = DEFAULT_LIMITS,
    metrics_need_role: bool = False,
    console: Console | None = None,
    rpcs: Rpcs | None = None,
) -> ASGIApp:
    """Returns the app of the HTTP port. `ready` raises if the server cannot serve. Rejects requests over `max_bytes`.
    `metrics_need_role`: with authentication, the metrics are for callers with the role ops."""
    rpcs = rpcs or Rpcs()
    return _Gateway(
        services, authenticator, ready, max_bytes, metrics, memory, calls, connections, metrics_need_role, console, rpcs
    )


@contextlib.asynccontextmanager
async def serve_http(
    app: ASGIApp,
    host: str,
    port: int,
    *,
    tls: TlsFiles | None = None,
    grace_s: float = 10.0,
    connections: ConnectionLimits = DEFAULT_LIMITS,
) -> AsyncIterator[int]:
    """Serves in the running event loop and yields the bound port. On exit, calls in flight have `grace_s` to finish.

    Raises AddressInUse, or another OSError if it cannot listen or cannot use the TLS files.
    """
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(await listen(host, port))
        server = _Server(_config(app, tls, grace_s), tls, connections)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            task.add_done_callback(lambda _: server.settled.set())
            await server.settled.wait()
            if task.done():
                await task
            yield listener.getsockname()[1]
        finally:
            server.leave()
            await task


def _config(app: ASGIApp, tls: TlsFiles | None, grace_s: float) -> uvicorn.Config:
    config = uvicorn.Config(
        app,
        lifespan="off",
        ws="none",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ssl_certfile=None if tls is None else tls.certificate,
        ssl_keyfile=None if tls is None else tls.private_key,
        timeout_graceful_shutdown=math.ceil(grace_s),
    )
    try:
        config.load()
    except ssl.SSLError:
        raise OSError("tls_certificate and tls_private_key must be PEM files that belong together") from None
    if config.ssl is not None and tls is not None and tls.client_ca is not None:
        config.ssl.verify_mode = ssl.CERT_OPTIONAL
        config.ssl.load_verify_locations(tls.client_ca)
    return config


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, tls: TlsFiles | None, connections: ConnectionLimits) -> None:
        super().__init__(config)
        self._tls = tls
        self._connections = connections
        self.settled = asyncio.Event()
        self._leaving = asyncio.Event()

    def leave(self) -> None:
        self.should_exit = True
        self._leaving.set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listens as the library does, with connections and a limit of handshakes of our own."""
        loop = asyncio.get_running_loop()
        options = {"config": self.config, "server_state": self.server_state, "app_state": self.lifespan.state}
        connection = partial(Connection, self._connections, **options)
        timeout = self._connections.request_timeout_s if self.config.ssl else None
        context, backlog = self.config.ssl, self.config.backlog
        self.servers = [
            await loop.create_server(connection, sock=each, backlog=backlog, ssl=context, ssl_handshake_timeout=timeout)
            for each in sockets or ()
        ]
        self.started = True
        self.settled.set()

    async def main_loop(self) -> None:
        """Runs once per second, for the Date header and for new certificates, until `leave` is called."""
        while not await self.on_tick(0):
            if self._tls is not None and self.config.ssl is not None and self._tls.changed():
                self.config.ssl.load_cert_chain(self._tls.certificate, self._tls.private_key)
                if self._tls.client_ca is not None:
                    self.config.ssl.load_verify_locations(self._tls.client_ca)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._leaving.wait(), _TICK_S)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shuts down. The library cancels calls after the grace; this waits until they have released their resources."""
        await super().shutdown(sockets)
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=_TICK_S)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals to the process."""
        yield


def _kinds(method: Method) -> frozenset[bytes]:
    """Returns the content types of a method."""
    return _STREAM if method.streaming else _UNARY


def _origin_of_host(headers: dict[bytes, bytes]) -> str:
    return "http://" + headers.get(b"host", b"").decode("latin-1")


async def _send_metrics(metrics: Metrics, send: Send) -> None:
    await respond(send, 200, CONTENT_TYPE.encode(), await metrics.page())
