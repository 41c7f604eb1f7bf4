"""The `receive` of pyvoy as apps expect it."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any, Final

from ..asgi import Receive

# Most calls are over by then.
FIRST_LOOK_S: Final = 0.05
LOOKS_WITHIN_S: Final = 5.0
"""How long the departure of a client may remain unnoticed."""
_LOOKS_PER_S: Final = 1000


class Looks:
    """How often calls look for the departure of their clients: the fewer there are, the more often. A look costs some 20
    microseconds."""

    def __init__(self) -> None:
        self.calls = 0

    @property
    def first_s(self) -> float:
        return max(FIRST_LOOK_S, min(LOOKS_WITHIN_S, self.calls / _LOOKS_PER_S))

    @property
    def longest_s(self) -> float:
        return max(2 * FIRST_LOOK_S, self.first_s)


async def received(receive: Receive) -> MutableMapping[str, Any]:
    """Receives an event. May be canceled, which pyvoy's own awaitable may not."""
    return await asyncio.shield(receive())


def until_departure(receive: Receive, looks: Looks) -> Receive:
    """Returns a `receive` that after the end of the request returns when the client is gone, as the ASGI specification says.

    pyvoy's returns an empty part at once. For a request without a body it does not even suspend, so that an app that waits for
    the departure of its client would stop the event loop.
    """
    ended, pause_s = False, FIRST_LOOK_S

    async def receiving() -> MutableMapping[str, Any]:
        nonlocal ended, pause_s
        while ended:
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, looks.longest_s)
            event = await received(receive)
            if event["type"] == "http.disconnect":
                return event
        event = await received(receive)
        ended = not event.get("more_body", False)
        return event

    return receiving
