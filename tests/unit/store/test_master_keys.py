"""Master keys: how they are written, and what they decrypt."""

from __future__ import annotations

import base64

import pytest

from threadkeep_server.store.sql.encryption.master_keys import KeyProblem, MasterKeys, key_id, parse_keys

ONE, OTHER = bytes([1] * 32), bytes([2] * 32)
LINES = [base64.b64encode(key).decode() for key in (ONE, OTHER)]


def test_the_first_key_encrypts_and_all_decrypt() -> None:
    old = MasterKeys([OTHER]).wrap(b"k" * 32, "acme")
    keys = parse_keys(f"# the present one\n{LINES[0]}\n\n  {LINES[1]}  \n")
    assert keys.current == key_id(ONE)
    assert keys.unwrap(old, key_id(OTHER), "acme") == b"k" * 32
    assert keys.unwrap(keys.wrap(b"x" * 32, "acme"), key_id(ONE), "acme") == b"x" * 32


def test_the_key_of_a_tenant_is_not_that_of_another() -> None:
    keys = MasterKeys([ONE])
    with pytest.raises(KeyProblem, match="does not decrypt the key of tenant 'globex': its row was changed"):
        keys.unwrap(keys.wrap(b"k" * 32, "acme"), keys.current, "globex")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "has no key"),
        ("# nothing\n", "has no key"),
        ("hush", "line 1 must be 32 bytes in base64"),
        (f"{LINES[0]}\n{LINES[1][:-8]}", "line 2 must be 32 bytes in base64"),
        ("é" * 44, "line 1 must be 32 bytes in base64"),
    ],
)
def test_keys_that_cannot_be_read_are_refused_without_showing_them(text: str, problem: str) -> None:
    with pytest.raises(KeyProblem) as raised:
        parse_keys(text)
    assert problem in str(raised.value)
    assert "openssl rand -base64 32" in str(raised.value)
    assert "hush" not in str(raised.value)
