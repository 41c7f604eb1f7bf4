"""Resume tokens are valid for one store, scope and filter, name an incarnation, and show nothing."""

from __future__ import annotations

import base64
import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tokens import KEY, resume_tokens
from threadkeep_server.domain.errors import InvalidResumeToken
from threadkeep_server.domain.feed import BEGINNING, FeedScope, Incarnation, Incarnations, Position
from threadkeep_server.transport.sealed import Seal

SEAL = Seal("store-1", KEY)
LIVES = Incarnations((Incarnation(7, Position(0, 100)), Incarnation(9, Position(0, 200))))
TOKENS = resume_tokens(incarnations=LIVES)
SCOPE = FeedScope("acme", "shop", "ann", "s1", (("k", "v"),))
DIGEST = TOKENS.digest(SCOPE, b"filter")
NUMBERS = st.integers(0, (1 << 63) - 1)


def encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def raw_of(token: str) -> bytes:
    return base64.urlsafe_b64decode(token + "==")


@given(NUMBERS, NUMBERS, NUMBERS)
def test_a_token_returns_its_position_and_is_url_safe(xid: int, change: int, skip_seq: int) -> None:
    token = TOKENS.maker(DIGEST)(Position(xid, change), skip_seq).decode()
    position = Position(xid, change)
    assert TOKENS.read(DIGEST, token) == (position, skip_seq, LIVES.of(position))
    assert token == base64.urlsafe_b64encode(base64.urlsafe_b64decode(token + "==")).decode().rstrip("=")


@pytest.mark.parametrize(
    "other",
    [
        resume_tokens("store-2", LIVES).digest(SCOPE, b"filter"),
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
    again = resume_tokens(incarnations=LIVES)
    assert again.make(again.digest(replace(SCOPE), b"filter"), Position(3, 4)) == TOKENS.make(DIGEST, Position(3, 4))


@pytest.mark.parametrize(("change", "incarnation"), [(0, 0), (100, 0), (101, 7), (200, 7), (201, 9), (1 << 40, 9)])
def test_a_token_names_the_incarnation_of_its_change(change: int, incarnation: int) -> None:
    assert TOKENS.read(DIGEST, TOKENS.make(DIGEST, Position(0, change))).incarnation == incarnation


def test_a_token_does_not_show_its_position() -> None:
    """Two of neighboring changes have the version in common, and no more bytes than by chance."""
    one, other = (raw_of(TOKENS.make(DIGEST, Position(5, change))) for change in (1000, 1001))
    assert one[0] == other[0]
    assert sum(a == b for a, b in zip(one[1:], other[1:], strict=True)) < 6


def test_a_token_with_another_key_is_rejected() -> None:
    """A copy of the store's id is not enough to make tokens."""
    forged = resume_tokens(incarnations=LIVES, key=bytes(32)).make(DIGEST, Position(0, 5))
    with pytest.raises(InvalidResumeToken, match="belongs to another scope, filter or store"):
        TOKENS.read(DIGEST, forged)


def old_token(digest: bytes, *numbers: int) -> str:
    """As the first version made it."""
    return encoded(b"\x01" + digest + struct.pack(f">{len(numbers)}q", *numbers))


def test_a_token_of_an_earlier_version_is_of_the_time_before_incarnations() -> None:
    assert TOKENS.read(DIGEST, old_token(DIGEST, 3, 4)) == (Position(3, 4), 0, 0)
    assert TOKENS.read(DIGEST, old_token(DIGEST, 3, 4, 5)) == (Position(3, 4), 5, 0)
    with pytest.raises(InvalidResumeToken, match="belongs to another scope, filter or store"):
        TOKENS.read(DIGEST, old_token(bytes(14), 3, 4))
    for forged in ((-1, 4), (3, -4), (3, 4, -1), (3,), (3, 4, 5, 6)):
        with pytest.raises(InvalidResumeToken, match="is not a resume token"):
            TOKENS.read(DIGEST, old_token(DIGEST, *forged))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        raw_of(TOKENS.make(DIGEST, BEGINNING))[:-1],
        raw_of(TOKENS.make(DIGEST, BEGINNING)) + b"x",
        b"\x03" + raw_of(TOKENS.make(DIGEST, BEGINNING))[1:],
        b"\x02" + SEAL.close(struct.pack(">qqI", -1, -1, 1), DIGEST),
    ],
)
def test_a_forged_token_is_rejected(raw: bytes) -> None:
    with pytest.raises(InvalidResumeToken, match="is not a resume token"):
        TOKENS.read(DIGEST, encoded(raw))


@pytest.mark.parametrize("token", ["", "x", "not base64!", "é", "💥" * 10, "a" * 100_000, "====", "\x00"])
def test_a_token_that_is_not_base64_is_rejected(token: str) -> None:
    with pytest.raises(InvalidResumeToken, match="is not a resume token"):
        TOKENS.read(DIGEST, token)
