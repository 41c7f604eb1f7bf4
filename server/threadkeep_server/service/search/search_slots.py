"""The limit of searches that run at a time, of all kinds."""

from __future__ import annotations

import sys

from ...domain.errors import RateLimited
from ..feed.subscriptions import Quota


class SearchSlots(Quota):
    """Searches of events and of memories. A search above the limit raises RateLimited: waiting would occupy the server too."""

    def __init__(self, *, most: int, most_per_caller: int) -> None:
        super().__init__("searches", most=most, most_per_caller=most_per_caller, refuse=lambda name, _: RateLimited(name))


UNLIMITED = SearchSlots(most=sys.maxsize, most_per_caller=sys.maxsize)
