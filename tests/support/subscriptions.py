"""A fake SubscriptionService that records its calls and the release of subscribers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from threadkeep.v1 import subscription_pb2
from threadkeep.v1 import subscription_service_pb2 as pb
from threadkeep_server.domain.errors import ServerDraining, SessionNotFound
from threadkeep_server.domain.model import Caller, SessionRef
from threadkeep_server.transport.rpc import Service

WATCH_SESSION = "/threadkeep.v1.SubscriptionService/WatchSession"
WATCH_ALL = "/threadkeep.v1.SubscriptionService/WatchAll"
FLOOD_BYTES = 1 << 20


class FakeSubscriptions:
    """The id of the session selects the behavior: "gone" does not exist, "idle" sends only the first frame, "drain" ends after
    it, "flood" never ends; others have three changes.

    WatchAll yields messages, WatchSession their bytes, like the server.
    """

    def __init__(self) -> None:
        self.open = 0
        self.sent = 0
        self.freed = asyncio.Event()

    async def WatchSession(self, request: pb.WatchSessionRequest, caller: Caller) -> AsyncIterator[bytes]:
        self.open += 1
        try:
            async for token in self._tokens(request.session.session_id, caller):
                change = subscription_pb2.Change(resume_token=token)
                yield pb.WatchSessionResponse(changes=[change]).SerializeToString()
                self.sent += 1
        finally:
            await asyncio.sleep(0)  # releasing resources may take one cycle of the loop
            self.open -= 1
            self.freed.set()

    async def WatchAll(self, request: pb.WatchAllRequest, caller: Caller) -> AsyncIterator[pb.WatchAllResponse]:
        async for token in self._tokens(request.scope.user_id, caller):
            yield pb.WatchAllResponse(changes=[subscription_pb2.Change(resume_token=token)])

    async def _tokens(self, name: str, caller: Caller) -> AsyncIterator[str]:
        if name == "gone":
            raise SessionNotFound(SessionRef("", "", name))
        yield f"{caller.tenant}/{name}"
        if name == "idle":
            await asyncio.Event().wait()
        if name == "drain":
            raise ServerDraining
        while name == "flood":
            yield "x" * FLOOD_BYTES
        yield "2"
        yield "3"


def service_of(servicer: FakeSubscriptions) -> Service:
    return Service(pb.DESCRIPTOR.services_by_name["SubscriptionService"], servicer)
