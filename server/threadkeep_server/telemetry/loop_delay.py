"""Watches the event loop: work that blocks it makes every call wait."""

from __future__ import annotations

import asyncio
from typing import Final

from .instruments import Histogram

_EVERY_S: Final = 0.5


async def watch_loop(delays: Histogram, every_s: float = _EVERY_S) -> None:
    """Measures by how much a timer is late, until canceled."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + every_s
        await asyncio.sleep(every_s)
        delays.add(max(0.0, loop.time() - due))
