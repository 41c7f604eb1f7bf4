"""HTTP clients of a model, one per process. `_connections_aio` is the asynchronous counterpart."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Generic, TypeVar

_C = TypeVar("_C")


class Connections(Generic[_C]):
    """Holds one client per process: a forked process must not read answers on its parent's connections."""

    def __init__(self, make: Callable[[], _C]) -> None:
        """Makes the first client at once, so that errors are raised where the model is created."""
        self._make = make
        self.first = make()
        self._client = os.getpid(), self.first

    @property
    def here(self) -> _C:
        """Returns the client of this process."""
        process, client = self._client
        if process != os.getpid():
            client = self._make()
            self._client = os.getpid(), client
        return client
