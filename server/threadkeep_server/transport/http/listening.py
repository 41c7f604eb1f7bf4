"""Opens the socket of the HTTP port."""

from __future__ import annotations

import asyncio
import errno
import socket
from typing import Final

_OTHER_PORT: Final = "set another --http-address (THREADKEEP_HTTP_ADDRESS)"


class AddressInUse(OSError):
    """Another process listens on the address."""


async def listen(host: str, port: int) -> socket.socket:
    """Returns a listening socket. Raises AddressInUse, or another OSError if it cannot listen."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        raise OSError(f"cannot listen for HTTP on {host}:{port}: the host does not exist; {_OTHER_PORT}") from None
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
            raise AddressInUse(error.errno, f"HTTP address {host}:{port} is in use; {_OTHER_PORT}") from None
        raise OSError(error.errno, f"cannot listen for HTTP on {host}:{port}: {error.strerror}; {_OTHER_PORT}") from None
    return listener
