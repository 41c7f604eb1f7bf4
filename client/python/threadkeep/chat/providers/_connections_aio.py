"""The client of a model's endpoint in each event loop. `_connections_threads` is the same for callers that block."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

_C = TypeVar("_C")


class AsyncConnections(Generic[_C]):
    """Connections belong to the event loop that opened them, and die with it; a model may outlive many."""

    def __init__(self, make: Callable[[], _C]) -> None:
        """Makes the first at once, for whichever loop asks first: what is wrong is told where the model is made."""
        self._make = make
        self.first = make()
        self._unused = [self.first]
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, _C] = WeakKeyDictionary()

    @property
    def here(self) -> _C:
        """The client of the running loop."""
        loop = asyncio.get_running_loop()
        found = self._clients.get(loop)
        if found is None:
            found = self._clients[loop] = self._unused.pop() if self._unused else self._make()
        return found
