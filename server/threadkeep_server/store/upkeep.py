"""What a store promises to what runs beside the calls: part of the Store contract."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..domain.model import Session


class UpkeepStore(Protocol):
    """Sessions that are about to go, and notes of background work that outlive the server."""

    async def expired_sessions(self, tenant: str | None, now: int, limit: int, skip: int = 0) -> Sequence[tuple[str, Session]]:
        """Up to `limit` sessions whose expire_time <= now (tenant None: of all), each with its tenant: the first to
        expire first, without `skip` of them."""
        ...

    async def delete_seen(self, tenant: str, seen: Session, now: int) -> bool:
        """Deletes an expired session like delete_expired, unless it has been extended or appended to since it was seen, or is
        gone; whether it did."""
        ...

    async def note(self, name: str) -> str | None:
        """What is noted under the name, of at most 60 characters; None if nothing is."""
        ...

    async def put_note(self, name: str, value: str, expected: str | None) -> bool:
        """Notes the value, durably, if what is noted is still `expected` (None: nothing); whether it was. Of concurrent callers
        that expect the same one wins."""
        ...
