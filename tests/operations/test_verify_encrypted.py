"""Verification of a database that is encrypted at rest, with and without its keys."""

from __future__ import annotations

import base64
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.api.conftest import running
from threadkeep import Client, user

from .conftest import Command

KEY = base64.b64encode(bytes(range(32))).decode()
OTHER = base64.b64encode(bytes(range(1, 33))).decode()
_CHANGED = "UPDATE events SET body = CAST(substr(body, 1, length(body) - 1) || x'00' AS BLOB) WHERE id = 1"
_OF_NO_KEY = "UPDATE events SET body = CAST(x'0001000000000000ffff' || substr(body, 11) AS BLOB) WHERE id = 1"
_CUT = "UPDATE events SET body = substr(body, 1, 20) WHERE id = 1"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    settings = {"data_dir": tmp_path, "encryption_key": KEY, "http_address": ""}
    with running(**settings) as server, Client(f"127.0.0.1:{server.grpc_port}", app="shop", user_id="ann") as client:
        for number in range(3):
            client.append("trip", user(f"number {number}"), create_if_missing=True)
    return tmp_path


def _damage(place: Path, sql: str) -> None:
    with closing(sqlite3.connect(place / "threadkeep.db")) as connection, connection:
        assert connection.execute(sql).rowcount == 1


def test_texts_are_read_with_the_key_and_counted_without(place: Path, db: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    found = db("verify", "--data-dir", place)
    assert (found["status"], found["findings"], found["unread"], found["events"]) == (0, 0, 3, 3)
    monkeypatch.setenv("THREADKEEP_ENCRYPTION_KEY", KEY)
    found = db("verify", "--data-dir", place)
    assert (found["status"], found["findings"], found["unread"]) == (0, 0, 0)
    monkeypatch.setenv("THREADKEEP_ENCRYPTION_KEY", OTHER)
    found = db("verify", "--data-dir", place)
    assert (found["status"], found["by_kind"]) == (1, {"key": 1})


@pytest.mark.parametrize(
    ("sql", "without_the_key"),
    [(_CHANGED, False), (_OF_NO_KEY, True), (_CUT, True)],
    ids=["changed", "of an unknown key", "cut off"],
)
def test_a_damaged_text_is_found(
    place: Path, db: Command, monkeypatch: pytest.MonkeyPatch, sql: str, *, without_the_key: bool
) -> None:
    _damage(place, sql)
    assert ("encryption" in db("verify", "--data-dir", place)["by_kind"]) == without_the_key
    monkeypatch.setenv("THREADKEEP_ENCRYPTION_KEY", KEY)
    found = db("verify", "--data-dir", place)
    assert (found["status"], found["by_kind"]["encryption"]) == (1, 1)
