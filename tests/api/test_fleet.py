"""Servers that share a database know each other; one that crashed is gone, and then forgotten."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.databases.postgres import PostgresCluster
from tests.support.servers.server_process import ServerProcess, fork_server
from threadkeep import Client
from threadkeep.v1.server_service_pb2 import FleetServer
from threadkeep_server.app.server import Running
from threadkeep_server.service import fleet

from .conftest import running

TOKENS: dict[str, Any] = {
    "token-of-operators": {"tenant": "acme", "roles": ["ops"]},
    "token-of-the-ann": {"tenant": "acme", "user_id": "ann"},
}


def servers(server: Running, token: str = "token-of-operators") -> list[FleetServer]:
    with Client(f"127.0.0.1:{server.grpc_port}", token=token) as client:
        return list(client.info().servers)


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_server_on_sqlite_knows_itself(tmp_path: Path) -> None:
    with running(data_dir=tmp_path, auth_tokens=TOKENS) as server:
        [own] = servers(server)
        assert own.answering
        assert not own.gone
        assert 0 <= time.time() - own.start_time.seconds < 600
        assert servers(server, "token-of-the-ann") == []


@pytest.mark.postgres
def test_servers_of_a_fleet_see_each_other_come_crash_and_leave(
    tmp_path: Path, postgres: PostgresCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "BEATS_EVERY_S", 0.1)
    url = postgres.create_database("fleet_of_two")
    one_of = {"database_url": url, "auth_tokens": TOKENS, "admin_address": "127.0.0.1:0"}
    try:
        with running(data_dir=tmp_path / "one", **one_of) as one:
            with running(data_dir=tmp_path / "two", **one_of) as two:
                eventually(lambda: len(servers(one)) == 2)
                seen_by = [[(each.id, each.answering, each.gone) for each in servers(which)] for which in (one, two)]
                first, second = (each[0] for each in seen_by[0])
                assert seen_by == [
                    [(first, True, False), (second, False, False)],
                    [(first, False, False), (second, True, False)],
                ]
            eventually(lambda: [each.id for each in servers(one)] == [first])
            now = time.time_ns()
            for name, age in (("crashed", 100), ("long-gone", 4_000)):
                row = f"'{name}', '1', 1, {now - age * 10**9}, ''"
                postgres.execute(f"INSERT INTO servers VALUES ({row})", database="fleet_of_two")
            eventually(lambda: len(servers(one)) == 2)
            assert [(each.id, each.gone) for each in servers(one)] == [("crashed", True), (first, False)]
            (tmp_path / "three").mkdir()
            with ServerProcess(fork_server(), tmp_path / "three", database_url=url) as three:
                three.start()
                eventually(lambda: [each.gone for each in servers(one)] == [True, False, False])
                three.kill()
                monkeypatch.setattr(fleet, "GONE_AFTER_NS", 10**9)
                eventually(lambda: [each.gone for each in servers(one)] == [True, False, True])
    finally:
        postgres.drop_database("fleet_of_two")
