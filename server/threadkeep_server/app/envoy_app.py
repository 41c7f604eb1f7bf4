"""The server as the ASGI app that Envoy runs in its own process: `app` serves gRPC and HTTP on one port.

Over a socket of the process that started Envoy come the settings and the request to drain, and go the results, a line each.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import Final

from ..config.settings import Settings
from ..logs import setup_logging
from ..transport.asgi import Receive, Scope, Send
from ..transport.envoy.app import GrpcApp, is_grpc
from ..transport.envoy.public import HealthServicer, health_service, reflection_service
from .failures import EXPECTED, log_failure
from .server import Opened, open_services
from .tuning import tune_interpreter

SOCKET: Final = "THREADKEEP_ENVOY_SOCKET"
"""The variable with the number of the inherited socket."""
DRAIN: Final = b"drain\n"

_log = logging.getLogger(__name__)


class _App:
    """Opens the server at the first event, that of the lifespan."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._opened: Opened
        self._grpc: GrpcApp
        self._control: asyncio.Task[None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif is_grpc(next((value for name, value in scope["headers"] if name == b"content-type"), b"")):
            await self._grpc(scope, receive, send)
        else:
            await self._opened.gateway(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        reader, writer = await asyncio.open_connection(sock=socket.socket(fileno=int(os.environ[SOCKET])))
        settings = Settings.model_validate_json(await reader.readline())
        setup_logging(settings.log_level, settings.log_format)
        try:
            health = await self._open(settings)
        except Exception as exc:
            if not isinstance(exc, EXPECTED):
                _log.exception("cannot serve")
            status = log_failure(settings, exc) if isinstance(exc, EXPECTED) else 1
            writer.write(json.dumps({"status": status}).encode() + b"\n")
            await writer.drain()
            await send({"type": "lifespan.startup.failed", "message": type(exc).__name__})
            return
        writer.write(json.dumps({"store": asdict(self._opened.store)}).encode() + b"\n")
        self._control = asyncio.create_task(self._drain_on_request(settings, health, reader, writer))
        tune_interpreter()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._stack.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def _open(self, settings: Settings) -> HealthServicer:
        self._opened = opened = await self._stack.enter_async_context(open_services(settings))
        names = [service.descriptor.full_name for service in opened.services]
        health = HealthServicer(names)
        public = [health_service(health), *([reflection_service(names)] if settings.reflection else [])]
        most = settings.max_batch_bytes
        self._grpc = GrpcApp(opened.services, public, opened.authenticator, max_request_bytes=most)
        return health

    async def _drain_on_request(
        self, settings: Settings, health: HealthServicer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Drains when the starting process says so, or is gone."""
        await reader.readline()
        health.drain()
        for drain in self._opened.drains:
            drain()
        await self._grpc.drain(settings.drain_grace.total_seconds())
        await self._stack.aclose()
        writer.write(b"drained\n")
        await writer.drain()


app = _App()
