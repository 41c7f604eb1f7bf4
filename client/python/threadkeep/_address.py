"""The address of a server: its gRPC target, TLS, and whether it is on this machine."""

from __future__ import annotations

import ipaddress
import os
import re
from typing import NamedTuple

DEFAULT_PORT = 7443
_RESOLVERS = re.compile(r"(unix|unix-abstract|vsock|dns|ipv4|ipv6|xds|passthrough):(?!\d+$)")
"""Targets of gRPC's resolvers are passed on unchanged. A host of such a name with a port is a host."""


class Endpoint(NamedTuple):
    """`target`: the gRPC target. `tls`: whether the address begins with https."""

    target: str
    tls: bool = False

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine."""
        if self.target.startswith("unix"):
            return True
        host = self.target.rpartition("/")[2].rpartition(":")[0].strip("[]").lower()
        if host == "localhost" or host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False


def endpoint(address: str | None) -> Endpoint:
    """The address given, else that of THREADKEEP_ADDRESS, else the local server's.

    `host:port`, or a host, whose port is then 7443; with `http://` before it, which changes nothing, or with `https://`, which
    turns TLS on. Raises ValueError for anything else.
    """
    if address is not None and not isinstance(address, str):
        raise TypeError(f"address must be str, not {type(address).__name__}")
    text = (address or os.environ.get("THREADKEEP_ADDRESS") or f"127.0.0.1:{DEFAULT_PORT}").strip()
    if _RESOLVERS.match(text):
        return Endpoint(text)
    scheme, is_url, rest = text.partition("://")
    if is_url and scheme.lower() not in ("http", "https"):
        raise _invalid(text)
    host, port = _split(rest.removesuffix("/") if is_url else text, text)
    return Endpoint(f"{host}:{port}", bool(is_url) and scheme.lower() == "https")


def _split(place: str, text: str) -> tuple[str, int]:
    bracketed = re.fullmatch(r"(\[[^\[\]/@?#]+\])(?::(\d+))?", place)
    plain = re.fullmatch(r"([^\[\]:/@?#\s]+)(?::(\d+))?", place)
    if place.count(":") > 1 and not bracketed:
        try:
            return f"[{ipaddress.IPv6Address(place)}]", DEFAULT_PORT
        except ValueError:
            raise _invalid(text) from None
    found = bracketed or plain
    port = int(found[2] or DEFAULT_PORT) if found else 0
    if found is None or not 0 < port < 1 << 16:
        raise _invalid(text)
    return found[1], port


def _invalid(text: str) -> ValueError:
    return ValueError(
        f"address must be HOST:PORT, http://HOST:PORT or https://HOST:PORT of the server's gRPC port "
        f"(by default {DEFAULT_PORT}), not {text!r}"
    )
