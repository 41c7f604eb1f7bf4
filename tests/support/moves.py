"""Short forms of changes of owners."""

from __future__ import annotations

from itertools import count
from typing import Any

from tests.support.clock import NOW
from tests.support.removals import operation
from tests.support.sessions import TENANT, ref
from threadkeep_server.domain.model import Session, SessionRef
from threadkeep_server.store.contract.moves import Moved, MoveRequest
from threadkeep_server.store.contract.store import Store

_numbers = count(1)


async def move(store: Store, user_id: str = "bob", *, of: SessionRef | None = None, **fields: Any) -> Session:
    return (await moved(store, user_id, of=of, **fields)).session


async def moved(
    store: Store, user_id: str = "bob", *, of: SessionRef | None = None, tenant: str = TENANT, **fields: Any
) -> Moved:
    """Moves with an operation of its own."""
    given: dict[str, Any] = {"operation": operation(f"move-{next(_numbers)}"), "now": NOW + 9} | fields
    return await store.move_session(MoveRequest(tenant, of or ref(), user_id, **given))
