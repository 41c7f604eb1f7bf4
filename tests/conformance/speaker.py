"""One client in a driver, for tests that are no cases: what it says and hears are messages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from itertools import count
from typing import Any, Self

from google.protobuf.message import Message

from threadkeep.v1.context_pb2 import ContextSpec
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.event_service_pb2 import AppendEventsResponse, GetContextResponse, ListEventsRequest
from threadkeep.v1.session_pb2 import SessionRef
from threadkeep.v1.subscription_pb2 import Change
from threadkeep.v1.subscription_service_pb2 import WatchSessionRequest

from .drivers import Driver
from .messages import RPCS, from_wire, to_wire

ANSWERS_WITHIN = 90.0
_numbers = count(1)


class Refused(Exception):
    """The SDK raised an error, with its code and its metadata."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(str(error))
        self.code = error["code"]
        self.metadata: dict[str, str] = error["metadata"]


class Speaker:
    """A client of the language's SDK; an asynchronous context manager that closes it."""

    def __init__(self, driver: Driver, address: str, ref: SessionRef) -> None:
        self.language = driver.language
        self._driver = driver
        self._address = address
        self._ref = ref
        self._name = f"speaker-{next(_numbers)}"

    async def __aenter__(self) -> Self:
        whose = {"app": self._ref.app, "user_id": self._ref.user_id}
        await self._ask("connect", address=self._address, token="", timeout_ms=30_000, **whose)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._ask("close")

    async def call(self, rpc: str, request: Message) -> Any:
        """The response of one RPC."""
        ok = await self._ask("call", rpc=rpc, request=to_wire(request))
        return from_wire(RPCS[rpc].response, ok["response"])

    async def method(self, rpc: str, request: Message) -> Any:
        """The response of the SDK's own method for an RPC."""
        ok = await self._ask("method", rpc=rpc, request=to_wire(request))
        return from_wire(RPCS[rpc].response, ok["response"])

    async def append(self, events: Sequence[SessionEvent], *, after: str | None = None) -> AppendEventsResponse:
        """Appends to the session, which is made if it is missing; `after` is the id that its last event must have."""
        ok = await self._ask(
            "append",
            session=to_wire(self._ref),
            events=[to_wire(event) for event in events],
            create=True,
            ignore_existing=False,
            expected_last_event_id=after,
        )
        return from_wire(AppendEventsResponse, ok["response"])

    async def log(self) -> list[SessionEvent]:
        """Every event of the session, page after page."""
        request = ListEventsRequest(session=self._ref, page_size=7)
        ok = await self._ask("pages", rpc="EventService/ListEvents", request=to_wire(request))
        return [from_wire(SessionEvent, item) for item in ok["items"]]

    async def context(self) -> GetContextResponse:
        ok = await self._ask("context", session=to_wire(self._ref), spec=to_wire(ContextSpec(max_bytes=1 << 24)))
        return from_wire(GetContextResponse, ok["response"])

    async def watched(self) -> AsyncIterator[SessionEvent]:
        """The events of the session as a watch from its beginning hands them out; leaving the iterator ends the watch."""
        request = to_wire(WatchSessionRequest(session=self._ref, after_seq=0))
        rpc = "SubscriptionService/WatchSession"
        call = await self._driver.send("watch", client=self._name, rpc=rpc, request=request, checkpoints=False)
        try:
            while (item := await call.item(ANSWERS_WITHIN)) is not None:
                for event in from_wire(Change, item).batch.events:
                    yield event
            raise AssertionError(f"the watch of {self.language} ended: {call.answer.result()}")
        finally:
            await self._ask("cancel", target=call.number)

    async def _ask(self, op: str, **parameters: Any) -> dict[str, Any]:
        answer = await self._driver.ask(op, within=ANSWERS_WITHIN, client=self._name, **parameters)
        if "error" in answer:
            raise Refused(answer["error"])
        ok: dict[str, Any] = answer["ok"]
        return ok


async def first(speaker: Speaker, number: int) -> list[SessionEvent]:
    """The first `number` events that a watch delivers."""
    found: list[SessionEvent] = []
    async with aclosing(speaker.watched()) as events:  # type: ignore[type-var]
        async for event in events:
            found.append(event)
            if len(found) == number:
                break
    return found
