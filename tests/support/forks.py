"""Short forms of forks."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from tests.support.clock import NOW
from tests.support.removals import operation
from tests.support.sessions import TENANT, ref
from threadkeep_server.domain.model import Session, SessionRef
from threadkeep_server.store.contract import forks as contract
from threadkeep_server.store.contract.forks import Forked, ForkRequest
from threadkeep_server.store.contract.history import AsOf
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.sql.forks import copying

_numbers = count(1)


async def fork(
    store: Store,
    session_id: str = "f",
    *,
    of: SessionRef | None = None,
    seq: int | None = None,
    version: int | None = None,
    tenant: str = TENANT,
    **fields: Any,
) -> Session:
    return (await forked(store, session_id, of=of, seq=seq, version=version, tenant=tenant, **fields)).session


async def forked(
    store: Store,
    session_id: str = "f",
    *,
    of: SessionRef | None = None,
    seq: int | None = None,
    version: int | None = None,
    tenant: str = TENANT,
    **fields: Any,
) -> Forked:
    """Forks at a seq, at a log version, or now; with an operation and a uid of its own."""
    number = next(_numbers)
    given: dict[str, Any] = {"operation": operation(f"fork-{number}"), "uid": f"fork-{number}", "now": NOW + 9} | fields
    at = None if seq is None and version is None else AsOf(seq, version, prefix="at_")
    return await store.fork(ForkRequest(tenant, of or ref(), session_id, at=at, **given))


def copy_few_at_once(patch: pytest.MonkeyPatch, count: int) -> None:
    """Copies are made in parts of so many events."""
    for module in (contract, copying):
        patch.setattr(module, "COPIED_AT_ONCE", count)
