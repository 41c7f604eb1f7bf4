"""What a handler of a consumer gets, and how it reports the outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import threadkeep
from threadkeep.v1 import consumer_service_pb2 as ns

from ..fake import FakeServer
from .consuming import Consuming, Stream, delivery, leave


@pytest.fixture
def consume(client: Any, flavor: str) -> Callable[..., Consuming]:
    return lambda handler, **options: Consuming(client, flavor, handler, **options)


async def test_a_handler_can_park(consume: Callable[..., Consuming], fake: FakeServer) -> None:
    def handle(change: threadkeep.Change) -> None:
        if change.versions.log_version == 1:
            raise threadkeep.Park("poison")

    stream = Stream(fake)
    consuming = consume(handle)
    await stream.joined()
    stream.deliver(delivery(1), delivery(2))
    assert (await stream.hear()).reject == ns.Reject(delivery_id=1, reason="poison", park=True)
    assert await stream.acknowledged(1) == [2]
    await leave(consuming, stream)


async def test_a_delivery_has_the_number_of_the_attempt_and_of_the_parked_change(
    consume: Callable[..., Consuming], fake: FakeServer
) -> None:
    seen: list[tuple[int, int, int, str]] = []

    def handle(each: threadkeep.Delivery) -> None:
        seen.append((each.change.versions.log_version, each.attempt, each.partition, each.parked_id))

    stream = Stream(fake)
    consuming = consume(handle, deliveries=True)
    await stream.joined()
    stream.deliver(delivery(1, 4, attempt=2), delivery(2, 4, parked_id="7"))
    assert await stream.acknowledged(2) == [1, 2]
    assert seen == [(1, 2, 4, ""), (2, 1, 4, "7")]
    await leave(consuming, stream)


@pytest.mark.parametrize(
    ("report", "sent"),
    [
        (lambda each: each.acknowledge(), ns.ConsumeRequest(acknowledge=ns.Acknowledge(delivery_ids=[1]))),
        (lambda each: each.reject("away"), ns.ConsumeRequest(reject=ns.Reject(delivery_id=1, reason="away"))),
        (lambda each: each.park("poison"), ns.ConsumeRequest(reject=ns.Reject(delivery_id=1, reason="poison", park=True))),
    ],
)
@pytest.mark.parametrize("ending", [None, ValueError("too late")])
async def test_the_first_outcome_of_a_delivery_counts(
    consume: Callable[..., Consuming],
    fake: FakeServer,
    report: Callable[[threadkeep.Delivery], None],
    sent: ns.ConsumeRequest,
    ending: Exception | None,
) -> None:
    def handle(each: threadkeep.Delivery) -> None:
        if each.change.versions.log_version == 1:
            report(each)
            report(each)
            if ending is not None:
                raise ending

    stream = Stream(fake)
    consuming = consume(handle, deliveries=True)
    await stream.joined()
    stream.deliver(delivery(1, 0), delivery(2, 1))
    heard = [await stream.hear()]
    while sum(len(each.acknowledge.delivery_ids) + each.HasField("reject") for each in heard) < 2:
        heard.append(await stream.hear())
    ids = [each for request in heard for each in request.acknowledge.delivery_ids]
    if sent.HasField("reject"):
        assert [each.reject for each in heard if each.HasField("reject")] == [sent.reject]
        assert ids == [2]
    else:
        assert sorted(ids) == [1, 2]
    await leave(consuming, stream)
    assert stream.received.empty()
