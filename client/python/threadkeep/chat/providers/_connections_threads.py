"""The client of a model's endpoint in each process. `_connections_aio` is the same for callers that await."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Generic, TypeVar

_C = TypeVar("_C")


class Connections(Generic[_C]):
    """A process that was forked has the connections of its parent, and the answers on them are the parent's."""

    def __init__(self, make: Callable[[], _C]) -> None:
        """Makes the first at once: what is wrong is told where the model is made."""
        self._make = make
        self.first = make()
        self._client = os.getpid(), self.first

    @property
    def here(self) -> _C:
        """The client of this process."""
        process, client = self._client
        if process != os.getpid():
            client = self._make()
            self._client = os.getpid(), client
        return client
