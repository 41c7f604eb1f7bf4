"""threadkeep.v1.ConsumerService."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from functools import partial

from threadkeep.v1 import consumer_service_pb2 as pb

from ...compaction.triggers import Trigger
from ...domain import validation
from ...domain.errors import InvalidField
from ...domain.feed import Change, FeedEvent
from ...domain.model import Caller
from ...feed.consumers.member import Member
from ...service.feed.consumers import ConsumerService, shown_id
from ...store.contract.consumers import ConsumerKey
from ..convert.consumers import (
    NAME_NUMBERS,
    EncodeChange,
    consume_response,
    consumer_to,
    delivery_ids_of,
    fitting,
    get_consumer_response,
    join_of,
    name_of,
    numbers_of,
    parked_ids_of,
    parked_response,
    reason_of,
)
from ..convert.feed_encoder import compaction_due
from ..convert.sessions import read_filter
from ..page_tokens import PageTokens

DueCompaction = Callable[[ConsumerKey, Change], Trigger | None]
"""Returns the trigger of the policy by which the consumer should compact the session of a change, None: it should not."""

_JOIN_WITHIN_S = 30.0


class ConsumerServicer:
    def __init__(
        self,
        consumers: ConsumerService,
        limits: validation.Limits,
        tokens: PageTokens,
        encode: EncodeChange,
        due: DueCompaction,
    ) -> None:
        self._due = due
        self._consumers = consumers
        self._limits = limits
        self._tokens = tokens
        self._encode = encode

    async def Consume(
        self, requests: AsyncIterator[pb.ConsumeRequest], caller: Caller
    ) -> AsyncIterator[pb.ConsumeResponse | bytes]:
        join = await _join(requests)
        async with self._consumers.consume(caller, join_of(join)) as member:
            listening = asyncio.create_task(_listen(requests, member))
            try:
                joined = pb.Joined(consumer=consumer_to(member.consumer), member_id=shown_id(member.member_id))
                yield pb.ConsumeResponse(joined=joined)
                encode = partial(self._encode_for, member.consumer.key)
                async for update in member.updates():
                    yield consume_response(update, encode)
            finally:
                listening.cancel()
                await asyncio.wait([listening])

    def _encode_for(self, key: ConsumerKey, change: Change, events: Sequence[FeedEvent]) -> bytes:
        trigger = self._due(key, change)
        encoded = self._encode(change, events)
        return encoded if trigger is None else encoded + compaction_due(trigger)

    async def ListConsumers(self, request: pb.ListConsumersRequest, caller: Caller) -> pb.ListConsumersResponse:
        token = request.page_token
        after = name_of(self._tokens.read(request, caller, token, NAME_NUMBERS)) if token else ""
        consumers, more = await self._consumers.list(caller, self._page_size(request.page_size), after)
        shown = fitting([consumer_to(each) for each in consumers], self._limits.max_response_bytes)
        more = more or len(shown) < len(consumers)
        return pb.ListConsumersResponse(
            consumers=shown, next_page_token=self._tokens.make(request, caller, *numbers_of(shown[-1].name)) if more else ""
        )

    async def GetConsumer(self, request: pb.GetConsumerRequest, caller: Caller) -> pb.GetConsumerResponse:
        return get_consumer_response(await self._consumers.get(caller, _name(request.name)))

    async def DeleteConsumer(self, request: pb.DeleteConsumerRequest, caller: Caller) -> pb.DeleteConsumerResponse:
        return pb.DeleteConsumerResponse(deleted=await self._consumers.delete(caller, _name(request.name)))

    async def ListParkedChanges(self, request: pb.ListParkedChangesRequest, caller: Caller) -> bytes:
        name, size = _name(request.name), self._page_size(request.page_size)
        after = self._tokens.read(request, caller, request.page_token, 1)[0] if request.page_token else None
        page = await self._consumers.parked(caller, name, size, self._limits.max_response_bytes, after or 0, read_filter)
        token = "" if page.cursor is None else self._tokens.make(request, caller, page.cursor)
        return parked_response(page, token, self._encode)

    async def ReplayParkedChanges(
        self, request: pb.ReplayParkedChangesRequest, caller: Caller
    ) -> pb.ReplayParkedChangesResponse:
        ids = parked_ids_of(request.parked_ids)
        return pb.ReplayParkedChangesResponse(replayed=await self._consumers.replay_parked(caller, _name(request.name), ids))

    async def DeleteParkedChanges(
        self, request: pb.DeleteParkedChangesRequest, caller: Caller
    ) -> pb.DeleteParkedChangesResponse:
        ids = parked_ids_of(request.parked_ids)
        return pb.DeleteParkedChangesResponse(deleted=await self._consumers.delete_parked(caller, _name(request.name), ids))

    def _page_size(self, value: int) -> int:
        return validation.page_size("page_size", value, default=validation.DEFAULT_PAGE_SIZE, most=self._limits.max_page_size)


async def _join(requests: AsyncIterator[pb.ConsumeRequest]) -> pb.JoinConsumer:
    """Returns the first request. Waits for a limited time, because a stream that has not joined counts towards no quota."""
    first = None
    with suppress(TimeoutError):
        async with asyncio.timeout(_JOIN_WITHIN_S):
            first = await anext(requests, None)
    if first is None or first.WhichOneof("request") != "join":
        raise InvalidField("join", "is required in the first request")
    return first.join


async def _listen(requests: AsyncIterator[pb.ConsumeRequest], member: Member) -> None:
    """Passes requests to the member. A half-close, a lost client or an invalid request ends the member."""
    try:
        async for request in requests:
            kind = request.WhichOneof("request")
            if kind == "acknowledge":
                member.acknowledge(delivery_ids_of(request.acknowledge))
            elif kind == "reject":
                member.reject(request.reject.delivery_id, reason_of(request.reject), park=request.reject.park)
            else:
                raise InvalidField("request", "must be acknowledge or reject after the first, which joins")
    except Exception as exc:  # reported to the client
        member.end(exc)
    finally:
        member.leave()


def _name(name: str) -> str:
    return validation.identifier("name", name, required=True)
