"""The headers of requests and responses over HTTP."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any

from ...domain.errors import InvalidField
from ..asgi import Scope, Send
from .responses import JSON

_EXPOSED = b"grpc-status, grpc-message, grpc-status-details-bin, content-encoding, connect-content-encoding"
_UNAUTHORIZED = 401


def ambiguous(headers: Sequence[tuple[bytes, bytes]]) -> InvalidField | None:
    """Returns the error of headers that programs read differently."""
    for name, value in headers:
        if not value.isascii():
            try:
                value.decode()
            except UnicodeDecodeError:
                return InvalidField(f"header {name.decode('latin-1')}", "must be UTF-8")
    names = [name for name, _ in headers]
    if b"transfer-encoding" in names and b"content-length" in names:
        return InvalidField("header content-length", "must be absent with transfer-encoding; send either")
    return None


def with_content_type(scope: Scope, kind: bytes) -> Scope:
    kept = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
    return {**scope, "headers": [*kept, (b"content-type", kind)]}


def cors(request: dict[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    """Returns CORS headers. They do not allow credentials: scripts must send tokens explicitly."""
    wanted = request.get(b"access-control-request-headers", b"*")
    return [
        (b"access-control-allow-origin", b"*"),
        (b"access-control-allow-methods", b"GET, POST, PATCH"),
        (b"access-control-allow-headers", wanted),
        (b"access-control-expose-headers", _EXPOSED),
        (b"access-control-max-age", b"7200"),
    ]


def with_headers(send: Send, headers: list[tuple[bytes, bytes]]) -> Send:
    async def sending(event: MutableMapping[str, Any]) -> None:
        if event["type"] == "http.response.start":
            event = {**event, "headers": [*event.get("headers", ()), *headers]}
        await send(event)

    return sending


def with_challenge(send: Send) -> Send:
    """Names the scheme of credentials in responses that require one."""

    async def sending(event: MutableMapping[str, Any]) -> None:
        if event["type"] == "http.response.start" and event["status"] == _UNAUTHORIZED:
            event = {**event, "headers": [*event.get("headers", ()), (b"www-authenticate", b"Bearer")]}
        await send(event)

    return sending


def with_line_end(send: Send) -> Send:
    """Adds a line break to uncompressed JSON responses, so that a shell prompt starts on a new line."""
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
