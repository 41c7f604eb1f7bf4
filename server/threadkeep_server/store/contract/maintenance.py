"""What a store promises to what runs beside the calls: part of the Store contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ...domain.model import Session


@dataclass(frozen=True, slots=True)
class Expired:
    """Which expired sessions: those of an app and a user (None: of any) whose expire_time is at or before `before`."""

    app: str | None = None
    user_id: str | None = None
    before: int | None = None

    def until(self, now: int) -> int:
        """The latest expire_time of them."""
        return now if self.before is None else min(self.before, now)


EXPIRED = Expired()
"""All of them."""


class UpkeepStore(Protocol):
    """Sessions that are about to go, and notes of background work that outlive the server."""

    async def expired_sessions(
        self, tenant: str | None, now: int, limit: int, skip: int = 0, which: Expired = EXPIRED
    ) -> Sequence[tuple[str, Session]]:
        """Up to `limit` of these sessions whose expire_time <= now (tenant None: of all), each with its tenant: the first to
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
