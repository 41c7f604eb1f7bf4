"""This server among those that share its database."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from ..config.settings import Settings, split_address
from ..service.fleet import Fleet
from ..store.contract.maintenance import MaintenanceStore, ServerRow
from ..transport.audit.peer import host_and_port

_LEAVES_WITHIN_S: Final = 2.0
_EVERYWHERE = ("0.0.0.0", "::", "")


@asynccontextmanager
async def open_fleet(settings: Settings, store: MaintenanceStore, version: str) -> AsyncIterator[Fleet]:
    """Gives signs of life while the context is open."""
    now = time.time_ns()
    fleet = Fleet(store, ServerRow(secrets.token_hex(8), version, now, now, metrics_address(settings)))
    task = asyncio.create_task(fleet.run(), name="fleet")
    try:
        yield fleet
    finally:
        fleet.leave()
        with contextlib.suppress(Exception):  # another server removes the row later
            await asyncio.wait_for(task, _LEAVES_WITHIN_S)


def metrics_address(settings: Settings) -> str:
    """Returns host and port where the metrics are served; empty without HTTP, and for a port that is not known yet."""
    address = settings.admin_address or settings.http_address
    if not address:
        return ""
    host, port = split_address(address)
    if port == 0:
        return ""
    if host in _EVERYWHERE:
        host = socket.gethostname()
    return host_and_port(host, port)
