"""HTTP clients of a model, one per event loop. `_connections_threads` is the synchronous counterpart."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

_C = TypeVar("_C")


class AsyncConnections(Generic[_C]):
    """Holds one client per event loop: connections belong to the loop that opened them, and a model may outlive it."""

    def __init__(self, make: Callable[[], _C]) -> None:
        """Makes the first client at once, so that errors are raised where the model is created."""
        self._make = make
        self.first = make()
        self._unused = [self.first]
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, _C] = WeakKeyDictionary()

    @property
    def here(self) -> _C:
        """Returns the client of the running loop."""
        loop = asyncio.get_running_loop()
        found = self._clients.get(loop)
        if found is None:
            found = self._clients[loop] = self._unused.pop() if self._unused else self._make()
        return found
