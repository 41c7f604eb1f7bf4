"""Records the calls of RPCs: a decorator of their handlers, so that every front end shares it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractContextManager, aclosing
from dataclasses import replace
from types import TracebackType
from typing import Any, Final, Self

from google.protobuf.message import Message

from threadkeep.v1.session_service_pb2 import CreateSessionResponse

from ...domain.errors import Internal, ThreadkeepError
from ...domain.model import Caller
from ..rpc import Handler, Method
from .peer import peer
from .target import target

OK: Final = "OK"
OPENED: Final = "OPENED"
CANCELED: Final = "CANCELED"
_UNKNOWN: Final = Caller("")

Record = dict[str, Any]
"""A line of the log: see docs/security.md."""


class Trail:
    """Decorates handlers. `write` receives each record and must not block; `reads`: also of RPCs that change nothing."""

    def __init__(self, write: Callable[[Record], None], *, reads: bool) -> None:
        self._write = write
        self._reads = reads

    def audited(self, method: Method) -> Method:
        """Returns the method with its calls recorded."""
        return replace(method, call=self.around(method))

    def around(self, method: Method) -> Handler:
        """Returns the handler of the method, which records its calls."""
        if method.read_only and not self._reads:
            return method.call
        if method.name == "AppendStream":
            return self._append_stream(method)
        if method.client_streaming:
            return self._bidirectional(method)
        return self._server_stream(method) if method.server_streaming else self._unary(method)

    def call(self, what: str, caller: Caller, about: dict[str, Any]) -> _Call:
        """Returns a context that records its body as a call when it ends."""
        return _Call(self._write, what, caller, about)

    def refused(self, what: str, caller: Caller | None, reason: str) -> None:
        """Records a call that was refused before its handler, also one that only reads."""
        self.call(what, caller or _UNKNOWN, {}).note(reason)

    def _unary(self, method: Method) -> Handler:
        async def unary(request: Message, caller: Caller) -> Message | bytes:
            with self.call(method.path, caller, target(request)) as recorded:
                response: Message | bytes = await method.call(request, caller)
                recorded.learn(response)
            return response

        return unary

    def _server_stream(self, method: Method) -> Handler:
        async def stream(request: Message, caller: Caller) -> AsyncGenerator[Message | bytes]:
            with self.call(method.path, caller, target(request)) as recorded:
                recorded.note(OPENED)
                async with aclosing(method.call(request, caller)) as responses:
                    async for response in responses:
                        yield response

        return stream

    def _bidirectional(self, method: Method) -> Handler:
        """Of the requests, the first says what the stream is about."""

        async def stream(requests: AsyncIterator[Message], caller: Caller) -> AsyncGenerator[Message | bytes]:
            with self.call(method.path, caller, {}) as recorded:

                async def noted() -> AsyncIterator[Message]:
                    first = True
                    async for request in requests:
                        if first:
                            first = False
                            recorded.about |= target(request)
                            recorded.note(OPENED)
                        yield request

                async with aclosing(method.call(noted(), caller)) as responses:
                    async for response in responses:
                        yield response

        return stream

    def _append_stream(self, method: Method) -> Handler:
        """Each append is a record of its own. Results come in the order of the requests."""

        async def stream(requests: AsyncIterator[Message], caller: Caller) -> AsyncGenerator[Message]:
            waiting: deque[_Call] = deque()

            async def noted() -> AsyncIterator[Message]:
                session: dict[str, Any] = {}
                async for request in requests:
                    about = target(request)
                    session = about if "session_id" in about else session
                    waiting.append(self.call(method.path, caller, {**session, "events": 0, **about}))
                    yield request

            try:
                async with aclosing(method.call(noted(), caller)) as responses:
                    async for response in responses:
                        for result in response.results:
                            waiting.popleft().note(result.error.reason or OK)
                        yield response
            finally:
                for each in waiting:
                    each.note(CANCELED)

        return stream


class _Call(AbstractContextManager["_Call"]):
    def __init__(self, write: Callable[[Record], None], what: str, caller: Caller, about: dict[str, Any]) -> None:
        self._write = write
        self._what = what
        self._caller = caller
        self._peer = peer()
        self._time_ns = time.time_ns()
        self._began = time.monotonic()
        self.about = about

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, exc: BaseException | None, __: TracebackType | None) -> None:
        if exc is None:
            self.note(OK)
        elif isinstance(exc, ThreadkeepError):
            self.note(exc.reason)
        else:  # GeneratorExit: the client stopped reading
            self.note(Internal.reason if isinstance(exc, Exception) else CANCELED)

    def learn(self, response: object) -> None:
        """Completes what the call is about: the server chose the id of a created session."""
        if isinstance(response, CreateSessionResponse):
            self.about |= target(response.session.ref)

    def note(self, outcome: str) -> None:
        """Writes the record."""
        self._write(
            {
                "time_ns": self._time_ns,
                "method": self._what.removeprefix("/"),
                "tenant": self._caller.tenant,
                "caller_user_id": self._caller.user_id,
                "caller_app": self._caller.app,
                "peer": self._peer,
                "target": self.about,
                "outcome": outcome,
                "duration_ms": round((time.monotonic() - self._began) * 1000, 1),
            }
        )
