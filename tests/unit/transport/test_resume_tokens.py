"""Resume tokens are valid for one store, scope and filter."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep_server.domain.errors import InvalidResumeToken
from threadkeep_server.domain.feed import BEGINNING, FeedScope, Position
from threadkeep_server.transport.resume_tokens import ResumeTokens

TOKENS = ResumeTokens("store-1")
SCOPE = FeedScope("acme", "shop", "ann", "s1", (("k", "v"),))
DIGEST = TOKENS.digest(SCOPE, b"filter")
NUMBERS = st.integers(0, (1 << 63) - 1)


@given(NUMBERS, NUMBERS, NUMBERS)
def test_a_token_returns_its_position_and_is_url_safe(xid: int, change: int, skip_seq: int) -> None:
    token = TOKENS.maker(DIGEST)(Position(xid, change), skip_seq).decode()
    assert TOKENS.read(DIGEST, token) == ((xid, change), skip_seq)
    assert token == base64.urlsafe_b64encode(base64.urlsafe_b64decode(token + "==")).decode().rstrip("=")


@pytest.mark.parametrize(
    "other",
    [
        ResumeTokens("store-2").digest(SCOPE, b"filter"),
        TOKENS.digest(SCOPE, b""),
        *(
            TOKENS.digest(replace(SCOPE, **change), b"filter")
            for change in (
                {"tenant": "acme2"},
                {"app": None},
                {"app": ""},
                {"user_id": "bob"},
                {"session_id": None},
                {"labels": ()},
                {"labels": (("k", "w"),)},
            )
        ),
    ],
)
def test_a_token_of_another_store_scope_or_filter_is_rejected(other: bytes) -> None:
    assert other != DIGEST
    with pytest.raises(InvalidResumeToken, match="belongs to another scope, filter or store"):
        TOKENS.read(DIGEST, TOKENS.make(other, BEGINNING))


def test_equal_requests_have_equal_tokens() -> None:
    again = ResumeTokens("store-1")
    assert again.make(again.digest(replace(SCOPE), b"filter"), Position(3, 4)) == TOKENS.make(DIGEST, Position(3, 4))


def _head() -> bytes:
    return base64.urlsafe_b64decode(TOKENS.make(DIGEST, BEGINNING) + "==")[:15]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        _head(),
        _head() + bytes(15),
        _head() + bytes(17),
        _head() + bytes(16) + b"\xff" * 8,
        _head() + bytes(25),
        b"\x02" + _head()[1:] + bytes(16),
        _head() + b"\xff" * 16,
        _head() + bytes(8) + b"\x80" + bytes(7),
    ],
)
def test_a_forged_token_is_rejected(raw: bytes) -> None:
    with pytest.raises(InvalidResumeToken, match="is not a resume token"):
        TOKENS.read(DIGEST, base64.urlsafe_b64encode(raw).decode().rstrip("="))


@pytest.mark.parametrize("token", ["", "x", "not base64!", "é", "💥" * 10, "a" * 100_000, "====", "\x00"])
def test_a_token_that_is_not_base64_is_rejected(token: str) -> None:
    with pytest.raises(InvalidResumeToken, match="is not a resume token"):
        TOKENS.read(DIGEST, token)
