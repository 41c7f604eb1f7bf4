"""Facts about the store, notes of background work, and its end: part of the Store contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from ...domain.model import SECOND_NS


@dataclass(frozen=True, slots=True)
class Totals:
    sessions: int
    events: int


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """Facts about the store. `token_key`: the secret that seals tokens, in hex. `index_lag`: committed change batches that
    the search index does not hold yet."""

    store_id: str
    token_key: str = field(repr=False)
    engine: str
    durability: str
    schema_version: int
    indexed: bool
    index_lag: int
    totals: Totals | None = None


@dataclass(frozen=True, slots=True)
class ServerRow:
    """A server's sign of life. Times are nanoseconds since the epoch: `start_time` by the clock of that server, `seen_time` by
    that of the store."""

    id: str
    version: str
    start_time: int
    seen_time: int
    metrics_address: str


GONE_AFTER_NS: Final = 60 * SECOND_NS
"""A server without a sign of life for so long is gone: it gives one every 20 seconds."""


class Signs(NamedTuple):
    """The signs of life of all servers, in any order. `now`: the time of the store's clock when they were read."""

    rows: Sequence[ServerRow]
    now: int


class PoolUse(NamedTuple):
    """Connections to the database: how many are `used` now, and the `most` there may be; 0 where there are none."""

    used: int
    most: int


class MaintenanceStore(Protocol):
    """Facts, notes that outlive the server, and the end of the store."""

    async def note(self, name: str) -> str | None:
        """Returns the note of this name, of at most 60 characters; None if there is none."""
        ...

    async def put_note(self, name: str, value: str, expected: str | None) -> bool:
        """Stores the note, durably, if the stored value is still `expected` (None: there is none). Returns whether it was
        stored. Of concurrent callers that expect the same value, one wins."""
        ...

    async def put_server(self, own: ServerRow, forget_after: int) -> Signs:
        """Stores a sign of life of a server in the place of its last one, removes those of more than so many nanoseconds ago,
        and returns all. The store's clock decides: those of servers differ. A store that only one server can use writes
        nothing and returns `own`."""
        ...

    async def remove_server(self, server_id: str) -> None:
        """Removes the sign of life of a server, if there is one."""
        ...

    async def info(self, tenant: str, *, totals: bool) -> StoreInfo:
        """Returns facts; counting totals costs a scan of the tenant's sessions."""
        ...

    @property
    def pool(self) -> PoolUse: ...

    async def stored_bytes(self) -> int | None:
        """Returns the size of the database in bytes, with its indexes; None in memory."""
        ...

    async def ping(self) -> None:
        """Raises StoreUnavailable if the database does not answer, or may not take the next write."""
        ...

    async def aclose(self) -> None:
        """Completes accepted appends, then releases everything."""
        ...
