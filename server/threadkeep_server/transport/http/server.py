"""The HTTP port: the RPCs as JSON, Connect and gRPC-Web, and pages for probes and people."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import math
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import uvicorn

from ...domain.errors import ServerDraining, StoreUnavailable, ThreadkeepError, Unauthenticated
from ..auth import Authenticator
from ..errors import as_domain_error
from ..rpc import Method, Service
from .connect_adapter import ASGIApp, Receive, Scope, Send, connect_app
from .memory_route import PATTERN, SHOWN, MemoryRoute
from .metrics import CONTENT_TYPE, Metrics
from .responses import JSON, TEXT, answer, answer_json

Ready = Callable[[], Awaitable[None]]

_READY_TIMEOUT_S = 5.0
_TICK_S = 1.0
# What `curl -d` and a bare client send: nobody means a form by it here.
_MEANS_JSON = frozenset({b"", b"application/x-www-form-urlencoded"})
_GRPC_WEB = frozenset({b"application/grpc-web", b"application/grpc-web+proto", b"application/grpc-web+json"})
_UNARY = frozenset({JSON, b"application/proto"}) | _GRPC_WEB
_STREAM = frozenset({b"application/connect+json", b"application/connect+proto"}) | _GRPC_WEB
_ENCODINGS = frozenset({"json", "proto"})
_EXAMPLE = "`curl -d '{...}'`"
_EXPOSED = b"grpc-status, grpc-message, grpc-status-details-bin, content-encoding, connect-content-encoding"
_ALSO_HERE = {"/healthz": "the process lives", "/readyz": "it can serve", "/metrics": "for Prometheus"}
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_OTHER_PORT = "give another --http-address (THREADKEEP_HTTP_ADDRESS)"


class AddressInUse(OSError):
    """Another process listens there."""


class _Gateway:
    def __init__(
        self,
        services: Sequence[Service],
        authenticator: Authenticator,
        ready: Ready,
        max_bytes: int,
        metrics: Metrics | None,
        memory: MemoryRoute | None,
    ) -> None:
        self._rpcs = connect_app(services, authenticator, max_bytes=max_bytes)
        methods = [method for service in services for method in service.methods()]
        self._kinds = {method.path: _kinds(method) for method in methods}
        self._reads = frozenset(method.path for method in methods if method.read_only and not method.streaming)
        self._memory = memory
        self._ready = ready
        self._open = _is_open(authenticator)
        self._pages = {"/": self._home, "/healthz": self._healthz, "/readyz": self._readyz}
        if metrics is not None:
            self._pages["/metrics"] = partial(_send_metrics, metrics)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Only leaving cancels a call. It is answered by then, and the line that tells how many were cut off says enough.
        with contextlib.suppress(asyncio.CancelledError):
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"only HTTP is served here, not {scope['type']}")
        path, headers = scope["path"], dict(scope["headers"])
        origin = headers.get(b"origin")
        if origin is not None:
            if not self._admits(origin.decode("latin-1")):
                await answer_json(send, 403, _FOREIGN_ORIGIN)
                return
            send = _with_headers(send, _cors(headers))
            if scope["method"] == "OPTIONS":
                await answer(send, 204, TEXT, b"")
                return
        elif scope["method"] == "GET" and path in self._kinds and not self._admits(_origin_of_host(headers)):
            # A page gives no origin when it reads by GET from what it takes for its own host.
            await answer_json(send, 403, _FOREIGN_ORIGIN)
            return
        if path in self._kinds:
            await self._rpc(scope, receive, send, headers.get(b"content-type", b""))
        elif self._memory is not None and self._memory.matches(scope):
            await self._memory(scope, receive, send)
        elif page := self._pages.get(path):
            if scope["method"] in {"GET", "HEAD"}:
                await page(send)
            else:
                await answer_json(send, 405, {"code": "unimplemented", "message": f"{path} answers GET only"})
        else:
            message = f"there is nothing at {path}; RPCs are called by POST with JSON"
            paths = sorted(self._kinds) + sorted(self._pages) + ([] if self._memory is None else [PATTERN])
            await answer_json(send, 404, {"code": "unimplemented", "message": message, "paths": paths})

    async def _rpc(self, scope: Scope, receive: Receive, send: Send, content_type: bytes) -> None:
        path, kind = scope["path"], content_type.partition(b";")[0].strip().lower()
        if scope["method"] != "POST":
            if problem := self._not_readable(scope):
                await answer_json(send, *problem)
                return
            send = _with_line_end(send)
        else:
            if kind in _MEANS_JSON:
                kind = JSON
                kept = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
                scope = {**scope, "headers": [*kept, (b"content-type", kind)]}
            if kind not in self._kinds[path]:
                await answer_json(send, 415, {"code": "unimplemented", "message": self._wanted(path)})
                return
            if kind == JSON:
                send = _with_line_end(send)
        await self._rpcs(scope, receive, send)

    def _not_readable(self, scope: Scope) -> tuple[int, dict[str, str]] | None:
        """Status and answer to a request that is no POST, unless it is a read by GET."""
        path = scope["path"]
        if scope["method"] != "GET" or path not in self._reads:
            how = "send it frames by POST" if self._kinds[path] is _STREAM else f"POST JSON, as in {_EXAMPLE}"
            return 405, {"code": "unimplemented", "message": f"{path} is not called by {scope['method']}; {how}"}
        encoding = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("encoding", [""])[0]
        if encoding in _ENCODINGS:
            return None
        message = f"POST JSON to {path}, as in {_EXAMPLE}; a GET needs ?encoding=json&message= and the request's JSON"
        return 400, {"code": "invalid_argument", "message": message}

    def _wanted(self, path: str) -> str:
        """What to call a method with, for who called it with something else."""
        kinds = b", ".join(sorted(self._kinds[path])).decode()
        if self._kinds[path] is not _STREAM:
            return f"content-type must be one of {kinds}; gRPC is served on its own port"
        return (
            f"{path} is a stream, which plain JSON cannot carry: use it from an SDK or by gRPC, on its own port, or send "
            f"frames of one of {kinds}; without a stream, AppendEvents and ListEvents write and read by plain JSON"
        )

    def _admits(self, origin: str) -> bool:
        """Whether a page of that origin may call. Where no token is asked for, pages of this machine only: otherwise
        whatever page somebody visits could read the conversations on their own machine."""
        if not self._open:
            return True
        try:
            return urlsplit(origin).hostname in _LOOPBACK
        except ValueError:
            return False

    async def _home(self, send: Send) -> None:
        lines = ["Threadkeep: one session memory for every agent, in every language.", "", "POST JSON to one of:"]
        lines += [f"  {path}" for path, kinds in sorted(self._kinds.items()) if kinds is not _STREAM]
        lines += ["", "Streams, for SDKs, gRPC on its own port, Connect (application/connect+json) and gRPC-Web:"]
        lines += [f"  {path}" for path, kinds in sorted(self._kinds.items()) if kinds is _STREAM]
        if self._memory is not None:
            lines += ["", "PATCH JSON to:", f"  {SHOWN}"]
        also = [f"{path} ({what})" for path, what in _ALSO_HERE.items() if path in self._pages]
        lines += ["", f"Also here: {', '.join(also)}.", ""]
        await answer(send, 200, TEXT, "\n".join(lines).encode())

    async def _healthz(self, send: Send) -> None:
        await answer(send, 200, TEXT, b"ok\n")

    async def _readyz(self, send: Send) -> None:
        error: ThreadkeepError
        try:
            async with asyncio.timeout(_READY_TIMEOUT_S):
                await self._ready()
        except asyncio.CancelledError:  # leaving
            error = ServerDraining()
        except TimeoutError:
            error = StoreUnavailable(f"no answer within {_READY_TIMEOUT_S:.0f} s")
        except Exception as exc:
            error = as_domain_error(exc)
        else:
            await answer_json(send, 200, {"status": "ready"})
            return
        await answer_json(send, 503, {"status": "not ready", "reason": error.reason, "message": error.message})


_FOREIGN_ORIGIN = {
    "code": "permission_denied",
    "message": "without auth_tokens this server answers web pages of the same machine only; configure tokens to admit others",
}


def http_app(
    services: Sequence[Service],
    authenticator: Authenticator,
    *,
    ready: Ready,
    max_bytes: int,
    metrics: Metrics | None = None,
    memory: MemoryRoute | None = None,
) -> ASGIApp:
    """The whole HTTP port. `ready` raises what keeps the server from serving; a request over `max_bytes` is refused."""
    return _Gateway(services, authenticator, ready, max_bytes, metrics, memory)


@contextlib.asynccontextmanager
async def serve_http(
    app: ASGIApp,
    host: str,
    port: int,
    *,
    certificate: Path | None = None,
    private_key: Path | None = None,
    grace_s: float = 10.0,
) -> AsyncIterator[int]:
    """Serves in the running event loop and yields the bound port. On leaving, calls in flight have `grace_s` to finish.

    Raises AddressInUse, or another OSError, if it cannot listen there or cannot use the TLS files.
    """
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(await _listen(host, port))
        config = uvicorn.Config(
            app,
            lifespan="off",
            ws="none",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ssl_certfile=certificate,
            ssl_keyfile=private_key,
            timeout_graceful_shutdown=math.ceil(grace_s),
        )
        try:
            config.load()
        except ssl.SSLError:
            raise OSError("tls_certificate and tls_private_key must be PEM files that belong together") from None
        server = _Server(config)
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


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.settled = asyncio.Event()
        self._leaving = asyncio.Event()

    def leave(self) -> None:
        self.should_exit = True
        self._leaving.set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.settled.set()

    async def main_loop(self) -> None:
        """Wakes once a second, for the Date header, and at once when told to leave."""
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._leaving.wait(), _TICK_S)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """The library cancels the calls that outlive the grace; this waits until they have given up what they hold."""
        await super().shutdown(sockets)
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=_TICK_S)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals belong to the process, not to one of its ports."""
        yield


async def _listen(host: str, port: int) -> socket.socket:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        raise OSError(f"cannot listen for HTTP on {host}:{port}: there is no such host; {_OTHER_PORT}") from None
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setblocking(False)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(1024)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise AddressInUse(error.errno, f"HTTP address {host}:{port} is taken by another process; {_OTHER_PORT}") from None
        raise OSError(error.errno, f"cannot listen for HTTP on {host}:{port}: {error.strerror}; {_OTHER_PORT}") from None
    return listener


def _kinds(method: Method) -> frozenset[bytes]:
    """The content types a method can be called with."""
    return _STREAM if method.streaming else _UNARY


def _origin_of_host(headers: dict[bytes, bytes]) -> str:
    return "http://" + headers.get(b"host", b"").decode("latin-1")


def _is_open(authenticator: Authenticator) -> bool:
    try:
        authenticator.caller(None)
    except Unauthenticated:
        return False
    return True


def _cors(request: dict[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    """Credentials stay forbidden: a token is sent on purpose, by script, or not at all."""
    wanted = request.get(b"access-control-request-headers", b"*")
    return [
        (b"access-control-allow-origin", b"*"),
        (b"access-control-allow-methods", b"GET, POST, PATCH"),
        (b"access-control-allow-headers", wanted),
        (b"access-control-expose-headers", _EXPOSED),
        (b"access-control-max-age", b"7200"),
    ]


def _with_headers(send: Send, headers: list[tuple[bytes, bytes]]) -> Send:
    async def sending(event: MutableMapping[str, Any]) -> None:
        if event["type"] == "http.response.start":
            event = {**event, "headers": [*event.get("headers", ()), *headers]}
        await send(event)

    return sending


def _with_line_end(send: Send) -> Send:
    """Ends a JSON answer's line, so that a shell's prompt begins on the next; a compressed answer stays as it is."""
    ends = False

    async def sending(event: MutableMapping[str, Any]) -> None:
        nonlocal ends
        if event["type"] == "http.response.start":
            headers = dict(event["headers"])
            ends = headers.get(b"content-type") == JSON and headers.get(b"content-encoding", b"identity") == b"identity"
        elif ends and not event.get("more_body"):
            event = {**event, "body": event.get("body", b"") + b"\n"}
        await send(event)

    return sending


async def _send_metrics(metrics: Metrics, send: Send) -> None:
    await answer(send, 200, CONTENT_TYPE.encode(), await metrics.page())
