from __future__ import annotations

from typing import Any

import grpc
import pytest

from threadkeep import errors
from threadkeep._streams.deliveries import Lanes, Member, Work
from threadkeep.v1 import consumer_service_pb2 as ns
from threadkeep.v1.consumer_pb2 import Consumer, ParkedChange

from ..fake import Fail, FakeServer
from .consuming import delivery


def test_accumulated_acknowledgements_are_sent_together_and_in_order() -> None:
    woken: list[None] = []
    member = Member(lambda: woken.append(None))
    member.joined(ns.Joined(consumer=Consumer(max_attempts=5)))
    for n in (1, 2):
        member.acknowledge(delivery(n))
    member.reject(delivery(3), "x" * 2000, park=False)
    member.acknowledge(delivery(4, 1))
    taken = member.take()
    assert [request.WhichOneof("request") for request in taken] == ["acknowledge", "reject", "acknowledge"]
    assert list(taken[0].acknowledge.delivery_ids) == [1, 2]
    assert len(taken[1].reject.reason) == 1024
    assert member.take() == []
    assert len(woken) == 4


def test_a_lane_has_one_worker_and_drops_waiting_deliveries() -> None:
    member, lanes = Member(lambda: None), Lanes()
    one, two, other = (Work(member, delivery(n, partition)) for n, partition in ((1, 0), (2, 0), (3, 1)))
    assert [lanes.add(work) for work in (one, two, other)] == [True, False, True]
    assert lanes.after(one) == two
    assert lanes.add(one) is False
    lanes.drop_waiting()
    assert lanes.after(two) is None
    assert lanes.add(one) is True


async def test_consumers_are_listed_read_and_deleted(client: Any, fake: FakeServer) -> None:
    names = [Consumer(name=name) for name in "abc"]
    fake.answers["ListConsumers"] = [
        ns.ListConsumersResponse(consumers=names[:2], next_page_token="t"),
        ns.ListConsumersResponse(consumers=names[2:]),
    ]
    assert [consumer.name async for consumer in client.consumers(page_size=2)] == ["a", "b", "c"]
    assert [(r.page_size, r.page_token) for r in fake.requests("ListConsumers")] == [(2, ""), (2, "t")]
    fake.answers["GetConsumer"] = [
        ns.GetConsumerResponse(parked_changes=3),
        Fail(grpc.StatusCode.NOT_FOUND, "CONSUMER_NOT_FOUND"),
    ]
    assert (await client.consumer("a").get()).parked_changes == 3
    with pytest.raises(errors.ConsumerNotFound):
        await client.consumer("x").get()
    fake.answers["DeleteConsumer"] = [ns.DeleteConsumerResponse(deleted=True)]
    assert (await client.consumer("a").delete()).deleted
    assert fake.requests("DeleteConsumer")[0].name == "a"


async def test_parked_changes_are_listed_replayed_and_deleted(client: Any, fake: FakeServer) -> None:
    changes = [ParkedChange(parked_id=str(n)) for n in range(3)]
    fake.answers["ListParkedChanges"] = [
        ns.ListParkedChangesResponse(parked_changes=changes[:2], next_page_token="t"),
        ns.ListParkedChangesResponse(parked_changes=changes[2:]),
    ]
    assert [parked.parked_id async for parked in client.consumer("a").parked()] == ["0", "1", "2"]
    for method, rpc, answer in (
        ("replay_parked", "ReplayParkedChanges", ns.ReplayParkedChangesResponse(replayed=3)),
        ("delete_parked", "DeleteParkedChanges", ns.DeleteParkedChangesResponse(deleted=3)),
    ):
        call = getattr(client.consumer("a"), method)
        fake.answers[rpc] = [answer, answer]
        assert await call() == 3
        assert await call(iter(["1", "2"])) == 3
        assert await call([]) == 0  # none, not all: nothing is sent
        assert [(r.name, list(r.parked_ids)) for r in fake.requests(rpc)] == [("a", []), ("a", ["1", "2"])]
        with pytest.raises(TypeError, match="parked_ids"):
            await call("17")
