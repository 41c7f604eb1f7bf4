"""The limit of searches that run at a time, of all kinds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ...domain.errors import RateLimited
from ...domain.model import Caller
from ...domain.search import SearchMode
from ...telemetry.instruments import Family, Histogram
from ...telemetry.spans import span
from ..feed.subscriptions import Quota


class SearchSlots(Quota):
    """Searches of events and of memories. A search above the limit raises RateLimited: waiting would occupy the server too."""

    def __init__(self, *, most: int, most_per_caller: int, durations: Family[Histogram] | None = None) -> None:
        """`durations`: of searches, by what they search and their mode."""
        super().__init__("searches", most=most, most_per_caller=most_per_caller, refuse=lambda name, _: RateLimited(name))
        self._durations = durations

    @contextmanager
    def search(self, caller: Caller, of: str, mode: SearchMode) -> Iterator[None]:
        """Counts, measures and traces a search while the context is open. Raises RateLimited."""
        name = mode.name.lower()
        began = time.perf_counter()
        with self.one(caller), span(f"search {of}", {"threadkeep.search.mode": name}):
            try:
                yield
            finally:
                if self._durations is not None:
                    self._durations.child(of, name).add(time.perf_counter() - began)


UNLIMITED = SearchSlots(most=sys.maxsize, most_per_caller=sys.maxsize)
