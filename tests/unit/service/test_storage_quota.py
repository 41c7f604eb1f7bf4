"""The quota of what a tenant stores."""

from __future__ import annotations

import pytest

from threadkeep_server.domain.errors import QuotaExceeded
from threadkeep_server.service import storage_quota
from threadkeep_server.service.storage_quota import StorageQuota
from threadkeep_server.store.contract.maintenance import Totals


class Stored(dict[str, Totals]):
    async def count(self, tenant: str) -> Totals:
        return self.get(tenant, Totals(0, 0))


def test_what_a_server_admits_counts_before_it_is_counted() -> None:
    quota = StorageQuota(Stored().count, sessions=2, events=10)
    quota.admit("acme", sessions=2, events=10)
    with pytest.raises(QuotaExceeded) as refused:
        quota.admit("acme", sessions=1)
    assert refused.value.metadata == {"quota": "sessions_per_tenant", "limit": "2"}
    with pytest.raises(QuotaExceeded, match="the limit of 10 events per tenant"):
        quota.admit("acme", events=1)
    quota.admit("other", sessions=2)


async def test_a_count_replaces_what_was_known() -> None:
    stored = Stored(acme=Totals(1, 9))
    quota = StorageQuota(stored.count, sessions=2, events=10)
    quota.admit("acme", sessions=1)
    await quota.recount()
    quota.admit("acme", sessions=1, events=1)
    with pytest.raises(QuotaExceeded):
        quota.admit("acme", events=1)
    stored["acme"] = Totals(0, 0)
    await quota.recount()
    quota.admit("acme", events=10)


async def test_what_is_admitted_during_a_count_is_added_to_it() -> None:
    async def count(tenant: str) -> Totals:
        quota.admit(tenant, events=3)
        return Totals(0, 4)

    quota = StorageQuota(count, sessions=0, events=10)
    quota.admit("acme", events=1)
    await quota.recount()
    quota.admit("acme", events=3)
    with pytest.raises(QuotaExceeded):
        quota.admit("acme", events=1)


async def test_few_tenants_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_quota, "_REMEMBERED", 1)
    counted: list[str] = []

    async def count(tenant: str) -> Totals:
        counted.append(tenant)
        return Totals(0, 0)

    quota = StorageQuota(count, sessions=1, events=0)
    for tenant in ("acme", "other"):
        quota.admit(tenant, sessions=1)
    await quota.recount()
    assert counted == ["other"]


def test_a_limit_of_zero_admits_everything() -> None:
    StorageQuota(Stored().count, sessions=0, events=0).admit("acme", sessions=10**9, events=10**9)


async def test_who_may_not_know_the_totals_has_nothing_counted() -> None:
    counted = []

    async def count(tenant: str) -> Totals:
        counted.append(tenant)
        return Totals(1, 2)

    quota = StorageQuota(count, sessions=2, events=10)
    for known, expected in ((False, [None, None]), (True, [1, 2])):
        quota.used("acme", counted=known)
        await quota.recount()
        assert [each.used for each in quota.used("acme", counted=known)] == expected
        assert bool(counted) is known
