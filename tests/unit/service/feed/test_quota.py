"""Quotas of concurrent uses."""

from __future__ import annotations

import asyncio

import pytest

from threadkeep_server.domain.errors import QuotaExceeded
from threadkeep_server.domain.model import Caller
from threadkeep_server.service.feed.subscriptions import Quota

ALICE = Caller("acme", "alice")


async def test_a_use_waits_for_another_that_ends() -> None:
    quota = Quota("subscriptions", most=10, most_per_caller=1)

    async def use() -> None:
        async with quota.soon(ALICE):
            pass

    with quota.one(ALICE):
        waiting = asyncio.create_task(use())
        await asyncio.sleep(0.05)
        assert not waiting.done()
    await waiting


@pytest.mark.parametrize(("most", "per_caller", "named"), [(10, 1, "subscriptions per caller"), (1, 10, "1 subscriptions is")])
async def test_a_use_beyond_the_limit_is_refused_after_a_moment(most: int, per_caller: int, named: str) -> None:
    quota = Quota("subscriptions", most=most, most_per_caller=per_caller)
    with quota.one(ALICE), pytest.raises(QuotaExceeded, match=named):
        async with quota.soon(ALICE):
            pass
