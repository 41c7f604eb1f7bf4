"""Encodings of consumers equal those of protobuf, and names can be stored in page tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.sessions import TENANT, ref
from threadkeep.v1 import consumer_pb2, filter_pb2, session_pb2, subscription_pb2
from threadkeep.v1 import consumer_service_pb2 as pb
from threadkeep_server.domain.errors import InvalidField
from threadkeep_server.domain.feed import Change, ChangeKind, Position
from threadkeep_server.domain.validation import MAX_AUTHORS
from threadkeep_server.feed.consumers.member import MemberUpdate
from threadkeep_server.feed.consumers.partition import Delivery
from threadkeep_server.service.feed.consumers import ParkedPage
from threadkeep_server.store.contract.consumers import Parked
from threadkeep_server.transport.convert.consumers import (
    NAME_NUMBERS,
    consume_response,
    name_of,
    numbers_of,
    parked_ids_of,
    parked_response,
)
from threadkeep_server.transport.convert.sessions import filter_of, read_filter

CHANGE = Change(Position(0, 1), ChangeKind.CREATED, TENANT, ref(), session=1, time=0)
RENDERED = subscription_pb2.Change(session=session_pb2.SessionRef(session_id="s1"))


def render(change: Change, events: object) -> bytes:
    assert (change, events) == (CHANGE, ())
    return RENDERED.SerializeToString()


def test_a_consume_response_equals_the_protobuf_encoding() -> None:
    deliveries = [Delivery(3, CHANGE, (), attempt=2, delivery_id=9), Delivery(0, CHANGE, (), parked_id=7, delivery_id=10)]
    assert pb.ConsumeResponse.FromString(consume_response(MemberUpdate(deliveries, [1, 2]), render)) == pb.ConsumeResponse(
        deliveries=[
            pb.Delivery(delivery_id=9, partition=3, change=RENDERED, attempt=2),
            pb.Delivery(delivery_id=10, partition=0, change=RENDERED, attempt=1, parked_id="7"),
        ],
        acknowledged_ids=[1, 2],
    )
    assert consume_response(MemberUpdate(), render) == b""


def test_a_page_of_parked_changes_equals_the_protobuf_encoding() -> None:
    parked = Parked(7, 3, CHANGE, attempts=5, reason="no", park_time=1_000_000_002, replaying=True)
    written = pb.ListParkedChangesResponse.FromString(parked_response(ParkedPage([(parked, ())], 7), "token", render))
    expected = consumer_pb2.ParkedChange(parked_id="7", change=RENDERED, attempts=5, reason="no", replaying=True)
    expected.park_time.seconds, expected.park_time.nanos = 1, 2
    assert written == pb.ListParkedChangesResponse(parked_changes=[expected], next_page_token="token")


@given(st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1).filter(lambda name: len(name.encode()) <= 255))
def test_a_name_is_restored_from_its_numbers(name: str) -> None:
    numbers = numbers_of(name)
    assert len(numbers) == NAME_NUMBERS
    assert all(0 <= number < 1 << 63 for number in numbers)
    assert name_of(numbers) == name


def test_parked_ids_are_parsed_or_ignored() -> None:
    assert parked_ids_of([]) is None
    assert parked_ids_of(["7", "x", "", "-1", "٣", "9" * 30]) == [7]
    assert parked_ids_of(["x"]) == [], "not all of them"
    with pytest.raises(InvalidField):
        parked_ids_of(["1"] * 1001)


def test_a_stored_filter_beyond_the_bounds_is_still_read() -> None:
    ids = [f"agent-{n}" for n in range(MAX_AUTHORS + 1)]
    wanted = filter_pb2.EventFilter(author_filters=[filter_pb2.AuthorFilter(include=filter_pb2.AuthorSet(ids=ids))])
    with pytest.raises(InvalidField, match="at most 4,096"):
        filter_of(wanted)
    assert len(read_filter(wanted.SerializeToString()).authors[0].authors.ids) == MAX_AUTHORS + 1
