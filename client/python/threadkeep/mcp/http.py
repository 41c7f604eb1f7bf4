"""MCP over streamable HTTP."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Callable

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from .. import AsyncClient
from .server import Binding, RecallServer

PATH = "/mcp"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_REFUSED = b'{"error":"send authorization: Bearer and the token that this server was started with"}\n'


class TokenMissing(ValueError):
    """Rejects an address beyond this machine without a token: anyone could read the user's conversations."""

    def __init__(self, host: str) -> None:
        super().__init__(f"{host} is not this machine alone: set THREADKEEP_MCP_TOKEN, or listen on 127.0.0.1")


class _Guarded:
    """Requires a bearer token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._wanted = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._wanted):
                headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": _REFUSED})
                return
        await self._app(scope, receive, send)


def http_app(client: AsyncClient, binding: Binding, *, host: str, token: str = "") -> ASGIApp:
    """The ASGI app: MCP at /mcp. Raises TokenMissing for a host beyond this machine without a token."""
    local = host in _LOOPBACK
    if not local and not token:
        raise TokenMissing(host)
    # Other names of this machine are unknown here; the token protects it in that case.
    security = None if local else TransportSecuritySettings(enable_dns_rebinding_protection=False)
    server = RecallServer(client, binding).mcp
    app: Starlette = server.streamable_http_app(
        streamable_http_path=PATH, host=host, transport_security=security, json_response=True, stateless_http=True
    )
    return _Guarded(app, token) if token else app


async def serve_http(
    client: AsyncClient,
    binding: Binding,
    *,
    host: str,
    port: int,
    token: str = "",
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serves MCP clients at http://host:port/mcp until it is canceled or the process receives a signal.

    Port 0 picks a free one. `ready` is called with the URL when connections are accepted. Raises TokenMissing, and OSError if
    it cannot listen.
    """
    app = http_app(client, binding, host=host, token=token)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5)
    with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as listening:
        shown = f"[{host}]" if ":" in host else host
        ready(f"http://{shown}:{listening.getsockname()[1]}{PATH}")
        await uvicorn.Server(config).serve(sockets=[listening])
