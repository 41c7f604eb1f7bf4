"""Named consumers over gRPC: streams and administrative calls."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

import threadkeep
from threadkeep.v1 import consumer_service_pb2 as pb
from threadkeep.v1 import consumer_service_pb2_grpc, filter_pb2, subscription_service_pb2
from threadkeep.v1.consumer_pb2 import ParkedChange

from ..conftest import ServerFactory

NAME = "indexer"


class Stream:
    """A Consume stream. The test sends its requests one by one."""

    def __init__(self, stub: Any, **join: Any) -> None:
        self._call = stub.Consume()
        wish: dict[str, Any] = {"name": NAME, "from_beginning": True}
        self.join = pb.JoinConsumer(**wish | join)
        self.confirmed: set[int] = set()

    async def joined(self) -> pb.Joined:
        await self.say(join=self.join)
        response = await self.hear()
        assert response.HasField("joined")
        return response.joined

    async def say(self, **request: Any) -> None:
        await self._call.write(pb.ConsumeRequest(**request))

    async def hear(self) -> pb.ConsumeResponse:
        response = await asyncio.wait_for(self._call.read(), 60)
        assert isinstance(response, pb.ConsumeResponse), "the stream has ended"
        self.confirmed |= set(response.acknowledged_ids)
        return response

    async def deliveries(self, number: int) -> list[pb.Delivery]:
        got: list[pb.Delivery] = []
        while len(got) < number:
            got += (await self.hear()).deliveries
        assert len(got) == number
        return got

    async def acknowledge(self, *deliveries: pb.Delivery) -> None:
        ids = [each.delivery_id for each in deliveries]
        await self.say(acknowledge=pb.Acknowledge(delivery_ids=ids))
        while not self.confirmed.issuperset(ids):
            await self.hear()

    async def close(self) -> list[pb.ConsumeResponse]:
        """Half-closes the stream and returns the remaining responses."""
        await self._call.done_writing()
        return await self._rest()

    async def _rest(self) -> list[pb.ConsumeResponse]:
        async with asyncio.timeout(60):
            return [response async for response in self._responses()]

    async def _responses(self) -> AsyncIterator[pb.ConsumeResponse]:
        while (response := await self._call.read()) is not grpc.aio.EOF:
            yield response

    def cancel(self) -> None:
        self._call.cancel()

    async def failure(self) -> error_details_pb2.ErrorInfo:
        """Returns the error that ends the stream."""
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await self._rest()
        [details] = [value for key, value in raised.value.trailing_metadata() if key == "grpc-status-details-bin"]
        info = error_details_pb2.ErrorInfo()
        status_pb2.Status.FromString(details).details[0].Unpack(info)
        return info


async def parked(client: threadkeep.AsyncClient, number: int, page_size: int = 0) -> list[ParkedChange]:
    """Waits for this number of parked changes and returns them."""
    async with asyncio.timeout(60):
        while True:
            found = [each async for each in client.consumer(NAME).parked(page_size=page_size)]
            if len(found) >= number:
                return found
            await asyncio.sleep(0.05)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def address(request: pytest.FixtureRequest, start_server: ServerFactory) -> str:
    on_postgres = {"database_url": request.getfixturevalue("postgres_url")} if request.param == "postgresql" else {}
    return f"127.0.0.1:{start_server(**on_postgres).grpc_port}"


@pytest.fixture
async def client(address: str) -> AsyncIterator[threadkeep.AsyncClient]:
    async with threadkeep.AsyncClient(address, app="shop", user_id="alice") as opened:
        yield opened


@pytest.fixture
async def stub(address: str) -> AsyncIterator[Any]:
    async with grpc.aio.insecure_channel(address) as channel:
        yield consumer_service_pb2_grpc.ConsumerServiceStub(channel)


async def test_changes_are_delivered_as_they_were_stored(client: threadkeep.AsyncClient, stub: Any) -> None:
    stored = await client.append("s1", threadkeep.user("one"), threadkeep.user("two"), create_if_missing=True)
    stream = Stream(stub, member_id="me")
    joined = await stream.joined()
    assert (joined.member_id, joined.consumer.name, joined.consumer.partitions) == ("me", NAME, 32)
    assert (joined.consumer.max_attempts, joined.consumer.ack_timeout.seconds) == (5, 60)
    created, appended = await stream.deliveries(2)
    assert (created.delivery_id, created.attempt, created.change.WhichOneof("kind")) == (1, 1, "session_change")
    assert list(appended.change.batch.events) == [event async for event in client.events("s1")]
    assert appended.change.versions.last_seq == stored.last_seq == 2
    assert not appended.change.resume_token
    await stream.acknowledge(created, appended)
    assert await stream.close() == []

    state = await client.consumer(NAME).get()
    assert not state.members
    assert {each.lag for each in state.partitions} == {0}


async def test_acknowledgements_before_the_half_close_count(client: threadkeep.AsyncClient, stub: Any) -> None:
    await client.append("s1", threadkeep.user("one"), create_if_missing=True)
    stream = Stream(stub)
    await stream.joined()
    created, _ = await stream.deliveries(2)
    await stream.say(acknowledge=pb.Acknowledge(delivery_ids=[created.delivery_id]))
    assert [id_ for each in await stream.close() for id_ in each.acknowledged_ids] == [created.delivery_id]

    again = Stream(stub)
    await again.joined()
    [appended] = await again.deliveries(1)
    assert (appended.change.WhichOneof("kind"), appended.attempt) == ("batch", 2)


async def test_a_lost_client_releases_its_partitions_at_once(client: threadkeep.AsyncClient, stub: Any) -> None:
    await client.append("s1", threadkeep.user("one"), create_if_missing=True)
    gone = Stream(stub)
    await gone.joined()
    await gone.deliveries(2)
    gone.cancel()
    other = Stream(stub)
    await other.joined()
    [suspect] = await other.deliveries(1)  # alone, because a member may have died of it
    await other.say(acknowledge=pb.Acknowledge(delivery_ids=[suspect.delivery_id]))
    [following] = await other.deliveries(1)
    assert (suspect.attempt, following.attempt) == (2, 1)


async def test_parked_changes_are_listed_and_replayed(client: threadkeep.AsyncClient, stub: Any) -> None:
    await client.append("s1", threadkeep.user("apple"), threadkeep.user("pear"), create_if_missing=True)
    stream = Stream(stub, filter=filter_pb2.EventFilter(keyword="apple"))
    await stream.joined()
    created, appended = await stream.deliveries(2)
    await stream.acknowledge(created)
    await stream.say(reject=pb.Reject(delivery_id=appended.delivery_id, reason="a\0b" + "x" * 2000, park=True))
    [each] = await parked(client, 1)
    assert each.reason == ("a\0b" + "x" * 2000)[:1024].replace("\0", "")
    assert each.change == appended.change
    assert (each.attempts, each.replaying) == (1, False)
    assert (await client.consumer(NAME).get()).parked_changes == 1

    assert await client.consumer(NAME).replay_parked(["nonsense", "99999"]) == 0
    assert await client.consumer(NAME).replay_parked([each.parked_id]) == 1
    [replay] = await stream.deliveries(1)
    assert (replay.parked_id, replay.attempt, replay.change) == (each.parked_id, 2, appended.change)
    await stream.acknowledge(replay)
    assert await client.consumer(NAME).delete_parked() == 0


async def test_removals_and_changes_of_state_are_delivered_once_parked_and_replayed(
    client: threadkeep.AsyncClient, stub: Any
) -> None:
    await client.append("s1", threadkeep.user("one", event_id="e1"), create_if_missing=True, state={"set": {"a": 1}})
    await client.pop("s1")
    await client.session("s1").state().patch({"a": 2})
    await client.user_state().patch({"u": 1})
    nothing_said = filter_pb2.EventFilter(keyword="no such word")
    stream = Stream(stub, filter=nothing_said)
    await stream.joined()
    got = await stream.deliveries(5)
    of_session = [each for each in got if each.change.session.session_id]
    (of_user,) = [each for each in got if not each.change.session.session_id]
    kinds = [each.change.WhichOneof("kind") for each in of_session]
    assert kinds == ["session_change", "batch", "removal", "state"]
    assert [each.change.batch.state.version or each.change.state.version for each in of_session] == [0, 1, 0, 2]
    assert list(of_session[2].change.removal.event_ids) == ["e1"]
    assert of_user.change.state.set == {"u": "1"}
    await stream.acknowledge(*of_session[:2])
    for each in (*of_session[2:], of_user):
        await stream.say(reject=pb.Reject(delivery_id=each.delivery_id, reason="no", park=True))
    stored = {each.parked_id: each.change for each in await parked(client, 3)}
    assert await client.consumer(NAME).replay_parked() == 3
    replays = await stream.deliveries(3)
    assert {each.parked_id: each.change for each in replays} == stored
    wanted = [each.change.SerializeToString(deterministic=True) for each in (*of_session[2:], of_user)]
    assert sorted(wanted) == sorted(each.SerializeToString(deterministic=True) for each in stored.values())
    await stream.acknowledge(*replays)
    await stream.close()
    again = Stream(stub, filter=nothing_said)
    await again.joined()
    await client.app_state().patch({"later": 1})
    [only] = await again.deliveries(1)
    assert only.change.state.set == {"later": "1"}


async def test_consumers_and_parked_changes_are_listed_in_pages(client: threadkeep.AsyncClient, stub: Any) -> None:
    names = ["ä" * 127, "b", "c.é", "d\u2000"]
    for name in names:
        stream = Stream(stub, name=name)
        await stream.joined()
        await stream.close()
    assert [each.name async for each in client.consumers(page_size=1)] == sorted(names, key=str.encode)

    for number in range(3):
        await client.append("s1", threadkeep.user(f"text {number}"), create_if_missing=True)
    stream = Stream(stub)
    await stream.joined()
    for delivery in await stream.deliveries(4):
        await stream.say(reject=pb.Reject(delivery_id=delivery.delivery_id, reason="no", park=True))
    ids = [int(each.parked_id) for each in await parked(client, 4, page_size=1)]
    assert len(ids) == 4
    assert ids == sorted(ids)


INVALID_JOINS: list[tuple[dict[str, Any], str]] = [
    ({"name": ""}, "name"),
    ({"name": "a\nb"}, "name"),
    ({"member_id": "x" * 256}, "member_id"),
    ({"max_outstanding": 10_001}, "max_outstanding"),
    ({"max_outstanding": -1}, "max_outstanding"),
    ({"max_attempts": 1001}, "max_attempts"),
    ({"partitions": 257}, "partitions"),
    ({"ack_timeout": {"seconds": 0, "nanos": 999_999_999}}, "ack_timeout"),
    ({"ack_timeout": {"seconds": 86_401}}, "ack_timeout"),
    ({"ack_timeout": {"seconds": 1 << 62}}, "ack_timeout"),
    ({"filter": filter_pb2.EventFilter(last_n=1)}, "filter.last_n"),
    ({"scope": subscription_service_pb2.ChangeScope(labels={"": "x"})}, "scope.labels key"),
]


async def test_an_invalid_join_is_rejected(stub: Any) -> None:
    for join, field in INVALID_JOINS:
        stream = Stream(stub, **join)
        await stream.say(join=stream.join)
        info = await stream.failure()
        assert (info.reason, info.metadata["field"]) == ("INVALID_FIELD", field), join


async def test_an_invalid_request_is_rejected(client: threadkeep.AsyncClient, stub: Any) -> None:
    first = Stream(stub)
    await first.say(acknowledge=pb.Acknowledge(delivery_ids=[1]))
    assert (await first.failure()).metadata["field"] == "join"
    for request, field in (
        ({"join": pb.JoinConsumer(name=NAME)}, "request"),
        ({}, "request"),
        ({"acknowledge": pb.Acknowledge(delivery_ids=[7])}, "acknowledge.delivery_ids"),
        ({"reject": pb.Reject(delivery_id=7)}, "reject.delivery_id"),
    ):
        stream = Stream(stub)
        await stream.joined()
        await stream.say(**request)
        assert (await stream.failure()).metadata["field"] == field
    differing = Stream(stub, scope=subscription_service_pb2.ChangeScope(user_id="bob"))
    await differing.say(join=differing.join)
    assert (await differing.failure()).metadata == {"name": NAME, "field": "scope"}
    with pytest.raises(threadkeep.ThreadkeepError, match=re.escape("parked_ids")):
        await client.consumer(NAME).replay_parked([str(number) for number in range(1001)])


async def test_deleting_the_consumer_ends_its_streams(client: threadkeep.AsyncClient, stub: Any) -> None:
    stream = Stream(stub)
    await stream.joined()
    assert (await client.consumer(NAME).delete()).deleted
    assert (await stream.failure()).reason == "CONSUMER_NOT_FOUND"
    assert not (await client.consumer(NAME).delete()).deleted


async def test_an_idle_stream_has_heartbeats_and_a_slow_member_is_ended(start_server: ServerFactory) -> None:
    server = start_server(consumer_lease="2s")
    address = f"127.0.0.1:{server.grpc_port}"
    async with (
        threadkeep.AsyncClient(address, user_id="alice") as client,
        grpc.aio.insecure_channel(address) as channel,
    ):
        await client.append("s1", threadkeep.user("one"), create_if_missing=True)
        slow = Stream(consumer_service_pb2_grpc.ConsumerServiceStub(channel), ack_timeout={"seconds": 3})
        await slow.joined()
        await slow.deliveries(2)
        info = await slow.failure()
        assert (info.reason, info.metadata["ack_timeout_s"]) == ("WATCH_TOO_SLOW", "3")
        reasons = {each.last_error for each in (await client.consumer(NAME).get()).partitions}
        assert reasons == {"", "not acknowledged within 3 s"}
