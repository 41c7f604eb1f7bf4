"""Issued tokens: the file has hashes only, and a server follows its changes."""

from __future__ import annotations

import json
import stat
import threading
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from threadkeep_server.domain.errors import Unauthenticated
from threadkeep_server.domain.model import Caller
from threadkeep_server.domain.roles import granted
from threadkeep_server.transport.auth import digest_of
from threadkeep_server.transport.identity import issued_tokens
from threadkeep_server.transport.identity.issued_tokens import IssuedTokens
from threadkeep_server.transport.identity.token_hashes import (
    InvalidTokenHashes,
    TokenHash,
    create_token,
    read_tokens,
    revoke_token,
)

ALICE = Caller("acme", "alice", granted(["reader"]))


@pytest.fixture(autouse=True)
def at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(issued_tokens, "_LOOKS_EVERY_S", 0.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens.jsonl"


def created(path: Path, *, expires: datetime | None = None, note: str = "") -> tuple[str, TokenHash]:
    return create_token(path, tenant="acme", user_id="alice", roles=("reader",), note=note, expires=expires)


async def caller(tokens: IssuedTokens, token: str) -> Caller | None:
    return await tokens.caller(token, digest_of(token))


def test_the_file_has_no_token_and_only_its_owner_reads_it(path: Path) -> None:
    token, entry = created(path, note="batch job ☂")
    assert token.startswith(f"tk_{entry.id}_")
    assert token.split("_", 2)[2] not in path.read_text("utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_tokens(path) == [entry]


async def test_a_running_server_follows_what_is_created_and_revoked(path: Path) -> None:
    first, entry = created(path)
    tokens = IssuedTokens(path)
    second, _ = created(path)
    assert [await caller(tokens, each) for each in (first, second, "tk_unknown")] == [ALICE, ALICE, None]
    assert revoke_token(path, entry.id)
    assert not revoke_token(path, entry.id)
    assert [await caller(tokens, each) for each in (first, second)] == [None, ALICE]


async def test_an_expired_token_is_refused(path: Path) -> None:
    token, _ = created(path, expires=datetime.now(UTC) - timedelta(seconds=1))
    later, _ = created(path, expires=datetime.now(UTC) + timedelta(days=1))
    tokens = IssuedTokens(path)
    with pytest.raises(Unauthenticated):
        await caller(tokens, token)
    assert await caller(tokens, later) == ALICE


def remove(path: Path) -> None:
    path.unlink()


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


async def test_while_the_file_is_invalid_or_missing_tokens_stay(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    token, _ = created(path)
    tokens, good = IssuedTokens(path), read_tokens(path)
    write(path, "{}\n")
    assert [await caller(tokens, token) for _ in range(3)] == [ALICE] * 3
    remove(path)
    assert await caller(tokens, token) == ALICE
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]
    write(path, json.dumps(asdict(replace(good[0], user_id="bob"))))
    assert await caller(tokens, token) == Caller("acme", "bob", granted(["reader"]))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"roles": ["king"]}, "'king' is not a role"),
        ({"roles": []}, "roles must not be empty"),
        ({"roles": "reader"}, "a list of roles"),
        ({"sha256": "tk_secret"}, "64 hexadecimal digits"),
        ({"tenant": ""}, "tenant must have 1 to 256 characters"),
        ({"tenant": 7}, "tenant must be a string"),
        ({"expires": "2030-01-01T00:00:00"}, "offset from UTC"),
        ({"expires": "soon"}, "Invalid isoformat"),
        ({"user": "alice"}, "'user' is not a field"),
    ],
)
def test_an_invalid_line_is_named_with_its_problem(path: Path, change: dict[str, object], problem: str) -> None:
    created(path)
    entry = json.loads(path.read_text("utf-8"))
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({**entry, "id": "other"} | change) + "\n")
    with pytest.raises(InvalidTokenHashes) as caught:
        IssuedTokens(path)
    assert f"{path}, line 2: " in str(caught.value)
    assert problem in str(caught.value)
    assert "tk_secret" not in str(caught.value)


def test_tokens_that_are_created_at_the_same_time_are_all_kept(path: Path) -> None:
    threads = [threading.Thread(target=created, args=(path,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_tokens(path)) == 8
