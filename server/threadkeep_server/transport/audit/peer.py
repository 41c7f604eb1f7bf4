"""The address that the current call came from. Each front end sets it; only the audit log computes it."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final
from urllib.parse import unquote

PEER: Final[ContextVar[Any]] = ContextVar("peer", default=None)
"""Set per call: the `peer` of a gRPC context, or the `client` of an ASGI scope: a host and a port."""


def peer() -> str | None:
    """Returns the address, as in 127.0.0.1:53412 or [::1]:53412; None if it is not known."""
    source = PEER.get()
    if source is None:
        return None
    if callable(source):
        return unquote(str(source())).removeprefix("ipv4:").removeprefix("ipv6:")
    return host_and_port(*source)


def host_and_port(host: str, port: int) -> str:
    """Returns `host:port`, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
