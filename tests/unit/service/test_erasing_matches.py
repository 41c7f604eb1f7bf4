"""EraseEvents by branch or invocation: in parts, and again."""

from __future__ import annotations

import pytest

from tests.support.clock import NOW
from tests.support.codec import CODEC, draft
from tests.support.removals import operation
from tests.support.sessions import TENANT, append, create, ref
from threadkeep_server.domain.errors import PermissionDenied, SessionNotFound
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.model import Caller
from threadkeep_server.domain.roles import granted
from threadkeep_server.domain.validation import Limits
from threadkeep_server.service import removals
from threadkeep_server.service.erasure import Receipts
from threadkeep_server.service.removals import RemovalOptions, RemovalService
from threadkeep_server.store.inmemory import InMemoryStore

CALLER = Caller(TENANT)
BRANCH = EventFilter(branch="a", exact_branch=True)


@pytest.fixture
async def service(monkeypatch: pytest.MonkeyPatch) -> RemovalService:
    """A session of five events on a branch, and a service that erases two at a time."""
    monkeypatch.setattr(removals, "MOST_REMOVED", 2)
    store = InMemoryStore(CODEC)
    await create(store)
    await append(store, *(draft(str(n), branch="a") for n in range(5)))
    return RemovalService(store, Receipts("store", None), Limits(), lambda: NOW)


async def test_more_is_true_until_all_are_erased(service: RemovalService) -> None:
    done = [await service.erase_matching(CALLER, ref(), BRANCH, RemovalOptions()) for _ in range(4)]
    assert [(each.removed.outcome.removed, each.more) for each in done] == [(2, True), (2, True), (1, False), (0, False)]


async def test_a_repeated_call_erases_nothing_and_says_whether_more_is_left(service: RemovalService) -> None:
    options = RemovalOptions(operation=operation())
    first = await service.erase_matching(CALLER, ref(), BRANCH, options)
    again = await service.erase_matching(CALLER, ref(), BRANCH, options)
    assert (again.removed.replayed, again.more, again.receipt) == (True, True, first.receipt)
    for _ in range(2):
        await service.erase_matching(CALLER, ref(), BRANCH, RemovalOptions())
    assert not (await service.erase_matching(CALLER, ref(), BRANCH, options)).more


async def test_who_may_not_erase_finds_nothing(service: RemovalService) -> None:
    writer = Caller(TENANT, roles=granted(["writer"]))
    with pytest.raises(PermissionDenied):
        await service.erase_matching(writer, ref("unknown"), BRANCH, RemovalOptions())
    with pytest.raises(SessionNotFound):
        await service.erase_matching(CALLER, ref("unknown"), BRANCH, RemovalOptions())
