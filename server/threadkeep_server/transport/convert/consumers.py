"""Conversion for named consumers. Deliveries are encoded from stored bytes, without parsing events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from google.protobuf.duration_pb2 import Duration

from threadkeep.v1 import consumer_pb2, filter_pb2
from threadkeep.v1 import consumer_service_pb2 as pb

from ...domain import validation
from ...domain.errors import InvalidField
from ...domain.feed import Change, FeedEvent, FeedScope
from ...domain.model import SECOND_NS
from ...feed.consumers.member import MemberUpdate
from ...feed.consumers.partition import Delivery
from ...service.feed.consumers import Join, ParkedPage, Standing
from ...store.contract.consumers import Consumer, Parked
from ..wire.wire_format import delimited, repeated
from .feed import followed_filter_of, scope_of
from .sessions import set_time

EncodeChange = Callable[[Change, Sequence[FeedEvent]], bytes]
"""Encodes a Change with these events and without a resume token."""

MAX_REASON_CHARACTERS = 1024
MAX_PARKED_IDS = 1000
_MAX_OUTSTANDING, _DEFAULT_OUTSTANDING = 10_000, 256
_MAX_ATTEMPTS, _DEFAULT_ATTEMPTS = 1000, 5
_MAX_PARTITIONS, _DEFAULT_PARTITIONS = 256, 32
_MIN_ACK_TIMEOUT, _MAX_ACK_TIMEOUT, _DEFAULT_ACK_TIMEOUT = SECOND_NS, 86_400 * SECOND_NS, 60 * SECOND_NS
_MAX_DURATION_S = 1 << 32

_DELIVERIES, _DELIVERY_CHANGE = delimited(2), delimited(3)
_PARKED_CHANGES, _PARKED_CHANGE = delimited(1), delimited(2)


# --- requests


def join_of(join: pb.JoinConsumer) -> Join:
    """Returns the validated request with defaults. Raises InvalidField with the field of JoinConsumer."""
    return Join(
        name=validation.identifier("name", join.name, required=True),
        scope=scope_of(join.scope),
        wanted=followed_filter_of(join.filter),
        filter=join.filter.SerializeToString(deterministic=True),
        member_id=validation.identifier("member_id", join.member_id),
        max_outstanding=_count("max_outstanding", join.max_outstanding, _DEFAULT_OUTSTANDING, _MAX_OUTSTANDING),
        from_beginning=join.from_beginning,
        max_attempts=_count("max_attempts", join.max_attempts, _DEFAULT_ATTEMPTS, _MAX_ATTEMPTS),
        ack_timeout=_ack_timeout(join.ack_timeout) if join.HasField("ack_timeout") else _DEFAULT_ACK_TIMEOUT,
        partitions=_count("partitions", join.partitions, _DEFAULT_PARTITIONS, _MAX_PARTITIONS),
    )


def _count(field: str, value: int, default: int, most: int) -> int:
    if not 0 <= value <= most:
        raise InvalidField(field, f"must be between 1 and {most:,}, or 0 for {default}")
    return value or default


def _ack_timeout(value: Duration) -> int:
    total = value.seconds * SECOND_NS + value.nanos if abs(value.seconds) < _MAX_DURATION_S else -1
    if not _MIN_ACK_TIMEOUT <= total <= _MAX_ACK_TIMEOUT:
        raise InvalidField("ack_timeout", "must be between 1 s and 1 day")
    return total


def delivery_ids_of(acknowledge: pb.Acknowledge) -> Sequence[int]:
    """Returns the ids. At most _MAX_OUTSTANDING are allowed, because they are handled in one step."""
    if len(acknowledge.delivery_ids) > _MAX_OUTSTANDING:
        raise InvalidField("acknowledge.delivery_ids", f"must have at most {_MAX_OUTSTANDING:,} entries")
    return acknowledge.delivery_ids


def reason_of(reject: pb.Reject) -> str:
    """Returns the reason, truncated and without U+0000, which PostgreSQL cannot store."""
    return reject.reason[:MAX_REASON_CHARACTERS].replace("\0", "")


def parked_ids_of(ids: Sequence[str]) -> list[int] | None:
    """Returns the ids; None selects all. Ignores strings that cannot be ids."""
    if len(ids) > MAX_PARKED_IDS:
        raise InvalidField("parked_ids", f"must have at most {MAX_PARKED_IDS:,} entries")
    return [int(each) for each in ids if each.isascii() and each.isdigit() and len(each) < 19] if ids else None


# --- responses


def consumer_to(consumer: Consumer) -> consumer_pb2.Consumer:
    result = consumer_pb2.Consumer(
        name=consumer.key.name,
        filter=filter_pb2.EventFilter.FromString(consumer.filter),
        partitions=consumer.partitions,
        max_attempts=consumer.max_attempts,
    )
    _set_scope(result, consumer.scope)
    result.ack_timeout.seconds, result.ack_timeout.nanos = divmod(consumer.ack_timeout, SECOND_NS)
    set_time(result.create_time, consumer.create_time)
    return result


def fitting(consumers: Sequence[consumer_pb2.Consumer], max_bytes: int) -> Sequence[consumer_pb2.Consumer]:
    """Returns the consumers that fit into a response, at least one."""
    sizes = accumulate(consumer.ByteSize() for consumer in consumers)
    return consumers[: max(1, sum(size <= max_bytes for size in sizes))]


def _set_scope(result: consumer_pb2.Consumer, scope: FeedScope) -> None:
    result.scope.user_id = scope.user_id or ""
    result.scope.labels.update(scope.labels)
    if scope.app is not None:
        result.scope.app = scope.app


def get_consumer_response(standing: Standing) -> pb.GetConsumerResponse:
    state, lags = standing
    response = pb.GetConsumerResponse(consumer=consumer_to(state.consumer), parked_changes=state.parked)
    for member in state.members:
        set_time(response.members.add(member_id=member.member_id, partitions=member.partitions).join_time, member.join_time)
    for each in state.partitions:
        response.partitions.add(
            partition=each.number,
            member_id=each.owner,
            lag=lags[each.number],
            attempts=each.attempts,
            last_error=each.reason,
        )
    return response


def consume_response(update: MemberUpdate, encode: EncodeChange) -> bytes:
    """Returns an encoded ConsumeResponse."""
    rest = pb.ConsumeResponse(acknowledged_ids=update.acknowledged)
    return repeated(_DELIVERIES, (_delivery(each, encode) for each in update.deliveries)) + rest.SerializeToString()


def _delivery(delivery: Delivery, encode: EncodeChange) -> bytes:
    rest = pb.Delivery(
        delivery_id=delivery.delivery_id,
        partition=delivery.partition,
        attempt=delivery.attempt,
        parked_id="" if delivery.parked_id is None else str(delivery.parked_id),
    )
    return repeated(_DELIVERY_CHANGE, [encode(delivery.change, delivery.events)]) + rest.SerializeToString()


def parked_response(page: ParkedPage, next_page_token: str, encode: EncodeChange) -> bytes:
    """Returns an encoded ListParkedChangesResponse."""
    rest = pb.ListParkedChangesResponse(next_page_token=next_page_token)
    parked = (_parked(each, encode(each.change, events)) for each, events in page.parked)
    return repeated(_PARKED_CHANGES, parked) + rest.SerializeToString()


def _parked(parked: Parked, change: bytes) -> bytes:
    rest = consumer_pb2.ParkedChange(
        parked_id=str(parked.parked_id), attempts=parked.attempts, reason=parked.reason, replaying=parked.replaying
    )
    set_time(rest.park_time, parked.park_time)
    return repeated(_PARKED_CHANGE, [change]) + rest.SerializeToString()


# --- page tokens carry numbers, so the bytes of a name are split into numbers

NAME_NUMBERS, _NUMBER_BYTES = 37, 7


def numbers_of(name: str) -> list[int]:
    raw = name.encode().ljust(NAME_NUMBERS * _NUMBER_BYTES, b"\0")
    return [int.from_bytes(raw[at : at + _NUMBER_BYTES], "big") for at in range(0, len(raw), _NUMBER_BYTES)]


def name_of(numbers: Sequence[int | None]) -> str:
    """Returns the name without padding. A manipulated token yields another name, also without U+0000."""
    raw = b"".join(((number or 0) & ((1 << 56) - 1)).to_bytes(_NUMBER_BYTES, "big") for number in numbers)
    return raw.partition(b"\0")[0].decode(errors="replace")
