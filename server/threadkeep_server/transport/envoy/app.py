"""The RPCs over gRPC as an ASGI app."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from contextlib import aclosing, nullcontext
from functools import partial
from typing import Any, Final, Self

from google.protobuf.message import Message

from ...domain.errors import DeadlineExceeded, ServerDraining, ThreadkeepError
from ...domain.model import Caller
from ...service.call_limit import UNLIMITED, CallLimit
from ...telemetry.rpcs import CANCELLED, Call, Rpcs
from ..asgi import Receive, Scope, Send
from ..audit.peer import PEER
from ..auth import Authenticator
from ..client_certificates import CLIENT_NAMES
from ..connections import DEFAULT_LIMITS, ConnectionLimits
from ..decoding import DECODER
from ..errors import as_domain_error, release, status_of
from ..rpc import MESSAGE_SLACK, Method, Service, encode
from .frames import ENCODINGS, UNIMPLEMENTED, Disconnected, Messages, StatusError, framed
from .headers import OK, Header, plain_status, status_headers, timeout_of
from .receiving import Looks, received

_ANONYMOUS: Final = Caller("")
_HEADERS: Final[list[Header]] = [(b"content-type", b"application/grpc"), (b"grpc-accept-encoding", ENCODINGS)]


def is_grpc(content_type: bytes) -> bool:
    """Returns whether a request is gRPC's, and not gRPC-Web's."""
    return content_type.startswith(b"application/grpc") and not content_type.startswith(b"application/grpc-web")


class GrpcApp:
    """Serves each call in the task of its request."""

    def __init__(
        self,
        services: Sequence[Service],
        public: Sequence[Service],
        authenticator: Authenticator,
        *,
        max_request_bytes: int,
        calls: CallLimit = UNLIMITED,
        connections: ConnectionLimits = DEFAULT_LIMITS,
        looks: Looks | None = None,
        rpcs: Rpcs | None = None,
    ) -> None:
        """`public`: served without a credential, and while the server drains."""
        self._methods = {method.path: method for service in services for method in service.methods()}
        self._public = {method.path: method for service in public for method in service.methods()}
        self._authenticator = authenticator
        self._most = max_request_bytes + MESSAGE_SLACK
        self._calls = calls
        self._connections = connections
        self._looks = looks or Looks()
        self._rpcs = rpcs or Rpcs()
        self._measured = {
            method.path: self._rpcs.rpc(method.service, method.name, streaming=method.streaming)
            for method in self._methods.values()
        }
        self._draining = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        PEER.set(scope.get("client"))
        path, headers, response = scope["path"], dict(scope["headers"]), _Response(send)
        with contextlib.suppress(Disconnected):
            if (rpc := self._measured.get(path)) is not None:
                await self._measure(rpc.begin(partial(_header, headers)), path, headers, receive, response)
                return
            if path not in self._public:
                self._rpcs.count_unknown()
            await self._serve(path, headers, receive, response)

    async def _measure(self, call: Call, path: str, headers: dict[bytes, bytes], receive: Receive, response: _Response) -> None:
        try:
            failure = await self._serve(path, headers, receive, response)
        except BaseException as exc:
            call.failed(exc, CANCELLED)  # its client is gone
            raise
        if failure is None:
            call.succeeded()
        else:
            call.failed(failure)

    async def _serve(
        self, path: str, headers: dict[bytes, bytes], receive: Receive, response: _Response
    ) -> BaseException | None:
        """Returns why the call failed, or None."""
        guard = _Guard(receive, self._connections, self._looks)
        try:
            with guard.within(timeout_of(headers.get(b"grpc-timeout"))):
                method, caller = await self._admit(path, headers)
                guard.bounds_request = not method.client_streaming
                messages = Messages(guard.receive, headers.get(b"grpc-encoding", b"identity"), method.most_bytes(self._most))
                with self._calls if method.counted and path not in self._public else nullcontext():
                    await _CALLS[method.client_streaming, method.server_streaming](method, caller, messages, response, guard)
            await response.end(OK)
        except Disconnected:
            raise
        except asyncio.CancelledError as exc:
            # At the deadline, by the drain, or of a client that has left, which reads nothing.
            if guard.expired:
                return await response.fail(guard.expired)
            return await response.fail(ServerDraining()) if self._draining else exc
        except Exception as exc:
            return await response.fail(exc)
        return None

    async def _admit(self, path: str, headers: dict[bytes, bytes]) -> tuple[Method, Caller]:
        if method := self._public.get(path):
            return method, _ANONYMOUS
        if self._draining:
            raise ServerDraining
        if (method := self._methods.get(path)) is None:
            raise StatusError(UNIMPLEMENTED, f"{path} is not a method of this server")
        credential = headers.get(b"authorization")
        authorization = None if credential is None else credential.decode("latin-1")
        return method, await self._authenticator.admit(method.role, authorization, CLIENT_NAMES.get(), method=path)

    def drain(self) -> None:
        """Refuses new calls from now on. A call that is canceled later ends with ServerDraining."""
        self._draining = True


class _Guard:
    """Cancels a call at its deadline, when its request takes too long, and when its client leaves. One timer, which few calls
    reach.

    It looks for the departure repeatedly: after the end of a request, pyvoy's `receive` returns at once, an empty part or the
    disconnect.
    """

    def __init__(self, receive: Receive, connections: ConnectionLimits, looks: Looks) -> None:
        self._receive = receive
        self._connections = connections
        self._looks = looks
        self._loop = asyncio.get_running_loop()
        self._call = asyncio.current_task()
        self._began = self._loop.time()
        self._arrived = 0
        self._deadline = math.inf
        self._looks_after = looks.first_s
        self._looking: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle
        self.bounds_request = False
        """Whether the time in which the request must arrive is limited."""
        self.request_ended = False
        """From now on, only the end of the call is received."""
        self.expired: ThreadkeepError | None = None
        """Why the call was canceled, if time is the reason."""
        self._canceled = False

    def within(self, seconds: float | None) -> Self:
        if seconds is not None:
            self._deadline = self._loop.time() + seconds
        return self

    def __enter__(self) -> None:
        self._looks.calls += 1
        self._wait()

    def _wait(self) -> None:
        self._timer = self._loop.call_at(min(self._loop.time() + self._looks_after, self._deadline), self._wake)

    async def receive(self) -> MutableMapping[str, Any]:
        """Receives an event of the request."""
        event = await received(self._receive)
        self._arrived += len(event.get("body", b""))
        return event

    def _wake(self) -> None:
        if self._call is None or self._canceled:
            return
        self.expired = self._expiry(self._loop.time())
        if self.expired:
            self._cancel()
            return
        if self.request_ended and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look())
        self._looks_after = min(2 * self._looks_after, self._looks.longest_s)
        self._wait()

    def _expiry(self, now: float) -> ThreadkeepError | None:
        if now >= self._deadline:
            return DeadlineExceeded()
        is_arriving = self.bounds_request and not self.request_ended
        if is_arriving and now - self._began > self._connections.body_timeout_s(self._arrived):
            return self._connections.too_slow()
        return None

    async def _look(self) -> None:
        if (await self._receive())["type"] == "http.disconnect":
            self._cancel()

    def _cancel(self) -> None:
        """Cancels the call once: a second time would interrupt how it ends, such as a rollback."""
        if self._call is not None and not self._canceled:
            self._canceled = True
            self._call.cancel()

    def __exit__(self, *_: object) -> None:
        """Never cancels `_looking`: pyvoy does not expect that receiving is canceled."""
        self._looks.calls -= 1
        if self._call is not None and self.expired:
            self._call.uncancel()
        self._call = None
        self._timer.cancel()


class _Response:
    """The messages and the status of one call. Raises Disconnected if its client is gone."""

    def __init__(self, send: Send) -> None:
        self._send_event = send
        self._began = False
        self._ended = False

    async def message(self, message: Message | bytes) -> None:
        if not self._began:
            await self._begin()
        await self._send({"type": "http.response.body", "body": framed(encode(message)), "more_body": True})

    async def last(self, message: Message | bytes) -> None:
        """Sends the only message and the end of the body together."""
        await self._begin()
        self._ended = True
        await self._send({"type": "http.response.body", "body": framed(encode(message)), "more_body": False})

    async def end_body(self) -> None:
        if self._ended:  # its deadline passed between the body and the status
            return
        if not self._began:
            await self._begin()
        self._ended = True
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def end(self, status: list[Header]) -> None:
        await self._send({"type": "http.response.trailers", "headers": status, "more_trailers": False})

    async def fail(self, exc: Exception) -> Exception:
        """Ends the call with an error, and returns it."""
        if isinstance(exc, StatusError):
            status = plain_status(exc.code, exc.message)
        else:
            status = status_headers(status_of(as_domain_error(exc)))
        release(exc)
        await self.end_body()
        await self.end(status)
        return exc

    async def _send(self, event: dict[str, object]) -> None:
        try:
            await self._send_event(event)
        except OSError:
            raise Disconnected from None

    async def _begin(self) -> None:
        self._began = True
        await self._send({"type": "http.response.start", "status": 200, "headers": _HEADERS, "trailers": True})


def _header(headers: dict[bytes, bytes], wanted: str) -> str | None:
    value = headers.get(wanted.encode())
    return None if value is None else value.decode("latin-1")


async def _unary(method: Method, caller: Caller, messages: Messages, response: _Response, guard: _Guard) -> None:
    request = await DECODER.proto(method, await messages.only())
    guard.request_ended = True
    await response.last(await method.call(request, caller))


async def _server_stream(method: Method, caller: Caller, messages: Messages, response: _Response, guard: _Guard) -> None:
    request = await DECODER.proto(method, await messages.only())
    guard.request_ended = True
    await _respond(method.call(request, caller), response)


async def _bidirectional(method: Method, caller: Caller, messages: Messages, response: _Response, guard: _Guard) -> None:
    async def requests() -> AsyncIterator[Message]:
        async for message in messages:
            yield await DECODER.proto(method, message)
        guard.request_ended = True

    await _respond(method.call(requests(), caller), response)


async def _respond(responses: AsyncGenerator[Message | bytes], response: _Response) -> None:
    async with aclosing(responses):
        async for each in responses:
            await response.message(each)
    await response.end_body()


_CALLS: Final[dict[tuple[bool, bool], Callable[[Method, Caller, Messages, _Response, _Guard], Awaitable[None]]]] = {
    (False, False): _unary,
    (False, True): _server_stream,
    (True, True): _bidirectional,
}
