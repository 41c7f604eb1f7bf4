"""The server as the ASGI app that Envoy runs in its own process: `app` serves gRPC and HTTP on one port.

Over a socket of the process that started Envoy come the settings and the request to drain, and go the results, a line each.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import logging
import os
import signal
import socket
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import Any, Final

from ..config.settings import Settings, split_address
from ..domain.errors import ServerDraining
from ..logs import setup_logging
from ..transport.asgi import ASGIApp, Receive, Scope, Send
from ..transport.client_certificates import CLIENT_NAMES, FORWARDED, forwarded_names
from ..transport.envoy.app import GrpcApp, is_grpc
from ..transport.envoy.public import HealthServicer, health_service, reflection_service
from ..transport.envoy.receiving import Looks, until_departure
from ..transport.http.responses import respond_error
from .failures import EXPECTED, log_failure
from .server import Opened, connection_limits, open_services, serve_app
from .tuning import tune_interpreter

SOCKET: Final = "THREADKEEP_ENVOY_SOCKET"
"""The variable with the number of the inherited socket."""
DRAIN: Final = b"drain\n"
_MOST_SETTINGS_BYTES: Final = 256 << 20  # fleets have many tokens
_CANCELED_WITHIN_S: Final = 1.0
_PR_SET_PDEATHSIG: Final = 1

_log = logging.getLogger(__name__)


class _App:
    """Opens the server at the first event, that of the lifespan."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._running: set[asyncio.Task[Any]] = set()
        self._draining = False
        self._has_client_ca = False
        self._looks = Looks()
        self._opened: Opened
        self._grpc: GrpcApp
        self._gateway: ASGIApp
        self._health: HealthServicer
        self._control: asyncio.Task[None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - an app runs in a task
        self._running.add(task)
        if self._has_client_ca:
            CLIENT_NAMES.set(forwarded_names(next((value for name, value in scope["headers"] if name == FORWARDED), b"")))
        try:
            if is_grpc(next((value for name, value in scope["headers"] if name == b"content-type"), b"")):
                await self._grpc(scope, receive, send)
            elif self._draining:
                await respond_error(send, ServerDraining())
            else:
                await self._over_http(scope, receive, send)
        finally:
            self._running.discard(task)

    async def _over_http(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._looks.calls += 1
        try:
            await self._gateway(scope, until_departure(receive, self._looks), send)
        finally:
            self._looks.calls -= 1

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        _handle_signals()
        control = socket.socket(fileno=int(os.environ[SOCKET]))
        reader, writer = await asyncio.open_connection(sock=control, limit=_MOST_SETTINGS_BYTES)
        line = await reader.readline()
        if not line:  # the process that started Envoy was killed before
            os.kill(os.getpid(), signal.SIGKILL)
        settings = Settings.model_validate_json(line)
        self._has_client_ca = settings.tls_client_ca is not None
        setup_logging(settings.log_level, settings.log_format)
        try:
            await self._open(settings)
        except Exception as exc:
            if isinstance(exc, EXPECTED):
                status = log_failure(settings, exc)
            else:
                _log.exception("cannot serve")
                status = 1
            writer.write(json.dumps({"status": status}).encode() + b"\n")
            await writer.drain()
            os._exit(status)  # Envoy would log another line
        writer.write(json.dumps({"store": asdict(self._opened.store) | {"token_key": ""}}).encode() + b"\n")
        self._control = asyncio.create_task(self._drain_on_request(settings, reader, writer))
        tune_interpreter()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        reader.feed_eof()  # Envoy may end before anyone requests it
        await self._control
        await send({"type": "lifespan.shutdown.complete"})

    async def _open(self, settings: Settings) -> None:
        self._opened = opened = await self._stack.enter_async_context(open_services(settings))
        names = [service.descriptor.full_name for service in opened.services]
        self._health = HealthServicer(names)
        addresses = {"grpc": settings.grpc_address, "http": settings.http_address, "admin": settings.admin_address}
        ports = {name: split_address(address)[1] for name, address in addresses.items() if address}
        opened.telemetry.ports.update({name: port for name, port in ports.items() if port})
        self._gateway = opened.gateway()
        if settings.admin_address:  # without Envoy, whose work would be in the way of a look at the server
            await self._stack.enter_async_context(serve_app(settings, opened.admin(), settings.admin_address))
        services = [*opened.services, *([reflection_service(names)] if settings.reflection else [])]
        self._grpc = GrpcApp(
            services,
            [health_service(self._health)],
            opened.authenticator,
            max_request_bytes=settings.max_batch_bytes,
            calls=opened.calls,
            connections=connection_limits(settings),
            looks=self._looks,
            rpcs=opened.telemetry.rpcs,
        )

    async def _drain_on_request(self, settings: Settings, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Drains when the process that started Envoy requests it, or when either process ends."""
        await reader.readline()
        self._draining = True
        self._health.drain()
        self._grpc.drain()
        for drain in self._opened.drains:
            drain()
        # Gives clients that watch health time to reconnect elsewhere.
        await asyncio.sleep(min(0.1, settings.drain_grace.total_seconds()))
        await self._finish(settings.drain_grace.total_seconds())
        await self._stack.aclose()
        writer.write(b"drained\n")
        await writer.drain()

    async def _finish(self, grace: float) -> None:
        """Waits for the calls in flight, and cancels those that have not finished after so many seconds."""
        for seconds in (grace, _CANCELED_WITHIN_S):
            if self._running:
                await asyncio.wait(self._running, timeout=seconds)
            for task in self._running:
                task.cancel()


def _handle_signals() -> None:
    """Without the process that started it, Envoy would hold the port and the database. pyvoy has requested SIGTERM for its own
    thread, at which Envoy waits for the calls in flight. The system sends both signals.

    At the limit of a file's size, writes must fail instead of ending the process, as a Python of its own arranges.
    """
    library = ctypes.CDLL(None)
    library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    library.signal(signal.SIGXFSZ, ctypes.c_void_p(signal.SIG_IGN))


app = _App()
