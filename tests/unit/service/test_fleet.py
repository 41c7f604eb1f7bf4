"""Which servers a caller sees, and what becomes of one that gives no sign of life."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from threadkeep_server.app.fleet import metrics_address
from threadkeep_server.config.settings import load_settings
from threadkeep_server.domain.model import SECOND_NS, Caller
from threadkeep_server.domain.roles import DATA, EVERY, granted
from threadkeep_server.service import fleet as module
from threadkeep_server.service.fleet import Fleet
from threadkeep_server.store.contract.maintenance import ServerRow, Signs

OWN = ServerRow("own", "1.0", 100 * SECOND_NS, 100 * SECOND_NS, "a:1")
NOW = 1_000_000 * SECOND_NS
DAY_NS = 86_400 * SECOND_NS
OPERATOR = Caller("acme", roles=granted(["ops"]))


class FakeStore:
    def __init__(self, *others: ServerRow) -> None:
        self.rows = list(others)
        self.forgotten = 0
        self.failures = 0
        self.stored = asyncio.Event()

    async def put_server(self, own: ServerRow, forget_after: int) -> Signs:
        if self.failures:
            self.failures -= 1
            raise OSError
        self.rows = [row for row in self.rows if row.id != own.id] + [own]
        self.forgotten = forget_after
        self.stored.set()
        return Signs(list(self.rows), NOW)

    async def remove_server(self, server_id: str) -> None:
        self.rows = [row for row in self.rows if row.id != server_id]


def opened(store: FakeStore, timer: Callable[[], int] = lambda: 0) -> Fleet:
    """A server whose clock is a day behind that of the store."""
    kept: Any = store
    return Fleet(kept, OWN, lambda: NOW - DAY_NS, timer)


async def test_a_server_without_a_sign_of_life_is_gone() -> None:
    quick, slow = (
        replace(OWN, id=name, start_time=at, seen_time=NOW - age * SECOND_NS) for name, at, age in (("b", 2, 50), ("a", 1, 61))
    )
    store = FakeStore(quick, slow)
    passed = [0]
    fleet = opened(store, lambda: passed[0] * SECOND_NS)
    assert [each.row.id for each in fleet.servers(OPERATOR)] == ["own"]
    await fleet.beat()
    assert [(each.row.id, each.gone, each.answering) for each in fleet.servers(OPERATOR)] == [
        ("a", True, False),
        ("b", False, False),
        ("own", False, True),
    ]
    assert store.forgotten == 3_600 * SECOND_NS
    passed[0] = 11
    assert [each.gone for each in fleet.servers(OPERATOR)] == [True, True, False]


@pytest.mark.parametrize(
    ("caller", "address"),
    [
        (OPERATOR, "a:1"),
        (Caller("default", roles=EVERY), "a:1"),
        (Caller("acme", roles=DATA), ""),
        (Caller("acme", roles=granted(["writer", "compactor"])), None),
        (Caller("acme", "ann", roles=EVERY), None),
        (Caller("acme", roles=EVERY, app="shop"), None),
    ],
)
def test_a_caller_sees_what_its_roles_and_binding_allow(caller: Caller, address: str | None) -> None:
    seen = opened(FakeStore()).servers(caller)
    assert [each.row.metrics_address for each in seen] == ([] if address is None else [address])


async def test_beats_outlast_a_failure_and_the_row_is_removed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BEATS_EVERY_S", 0.001)
    store = FakeStore()
    store.failures = 2
    fleet = opened(store)
    task = asyncio.create_task(fleet.run())
    async with asyncio.timeout(10):
        await store.stored.wait()
        fleet.leave()
        await task
    assert store.rows == []


@pytest.mark.parametrize(
    ("settings", "address"),
    [
        ({"http_address": "127.0.0.1:7480"}, "127.0.0.1:7480"),
        ({"http_address": "127.0.0.1:7480", "admin_address": "[::1]:9000"}, "[::1]:9000"),
        ({"http_address": "127.0.0.1:0"}, ""),
        ({"http_address": ""}, ""),
        ({"http_address": "0.0.0.0:7480", "insecure": True}, "here:7480"),
    ],
)
def test_the_address_of_metrics_is_that_of_the_port_that_serves_them(
    settings: dict[str, Any], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "here")
    assert metrics_address(load_settings(**settings)) == address
