"""Page tokens are valid for one store, caller and request."""

from __future__ import annotations

import base64

import pytest
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tokens import KEY
from threadkeep.v1 import memory_pb2
from threadkeep.v1 import memory_service_pb2 as pb
from threadkeep.v1.session_service_pb2 import ListSessionsRequest
from threadkeep_server.domain.errors import InvalidPageToken
from threadkeep_server.domain.model import Caller
from threadkeep_server.transport.page_tokens import PageTokens
from threadkeep_server.transport.sealed import Seal

TOKENS = PageTokens(Seal("store-1", KEY))
ALICE = Caller("acme", "alice")
PLACES = st.lists(st.none() | st.integers(1 - (1 << 63), (1 << 63) - 1), min_size=1, max_size=5)


def listing(app: str = "shop", **fields: object) -> pb.ListMemoriesRequest:
    return pb.ListMemoriesRequest(scope=memory_pb2.MemoryScope(app=app), **fields)  # type: ignore[arg-type]


@given(PLACES)
def test_a_token_returns_its_numbers(numbers: list[int | None]) -> None:
    token = TOKENS.make(listing(), ALICE, *numbers)
    assert TOKENS.read(listing(), ALICE, token, len(numbers)) == numbers


def test_the_next_page_may_have_another_size() -> None:
    token = TOKENS.make(listing(page_size=5), ALICE, 7)
    assert TOKENS.read(listing(page_size=9, page_token=token), ALICE, token, 1) == [7]


@pytest.mark.parametrize(
    "request_",
    [
        listing("desk"),
        listing(filter=memory_pb2.MemoryFilter(authors=["bob"])),
        pb.ListMemoriesRequest(scope=memory_pb2.MemoryScope(app="shop", user_id="alice")),
        pb.ListMemoriesRequest(),
        ListSessionsRequest(),
    ],
)
def test_a_token_of_another_request_is_rejected(request_: Message) -> None:
    token = TOKENS.make(listing(), ALICE, 7)
    with pytest.raises(InvalidPageToken, match="another request"):
        TOKENS.read(request_, ALICE, token, 1)


@pytest.mark.parametrize(
    "caller",
    [Caller("acme"), Caller("acme", "bob"), Caller("acme", ""), Caller("other", "alice"), Caller("other"), Caller("", "alice")],
)
def test_a_token_of_another_caller_is_rejected(caller: Caller) -> None:
    token = TOKENS.make(listing(), ALICE, 7)
    with pytest.raises(InvalidPageToken, match="another request, credential or store"):
        TOKENS.read(listing(), caller, token, 1)


def test_a_token_is_valid_for_equal_callers() -> None:
    assert TOKENS.read(listing(), Caller("acme", "alice"), TOKENS.make(listing(), ALICE, 7), 1) == [7]


def test_a_token_of_another_store_is_rejected() -> None:
    token = TOKENS.make(listing(), ALICE, 7)
    with pytest.raises(InvalidPageToken, match="another request, credential or store"):
        PageTokens(Seal("store-2", KEY)).read(listing(), ALICE, token, 1)


def test_a_token_does_not_show_its_numbers() -> None:
    """Rows are numbered for all tenants together."""
    one, other = (base64.urlsafe_b64decode(TOKENS.make(listing(), ALICE, number) + "==") for number in (1000, 1001))
    assert sum(a == b for a, b in zip(one[1:], other[1:], strict=True)) < 6


@pytest.mark.parametrize("token", ["", "x", "AA", "*", "A" * 40])
def test_a_malformed_token_is_rejected(token: str) -> None:
    with pytest.raises(InvalidPageToken, match="is not a page token"):
        TOKENS.read(listing(), ALICE, token, 1)
