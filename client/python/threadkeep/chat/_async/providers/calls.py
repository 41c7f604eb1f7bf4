"""One call of a model: attempts, waits, one deadline for all of them, and uniform errors."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from typing import Protocol

import httpx2

from ...errors import ModelFailed, UnsupportedContent
from ...providers import errors
from ...providers._deadline_aio import AsyncDeadline
from ...providers.formats.reading import ErrorEvent, Json, Unfinished, Unreadable, parsed
from ...providers.formats.sse import Event, EventReader
from ...providers.retry import RetryPolicy
from ...types.responses import ChatResponse

Open = Callable[[float], AbstractAsyncContextManager[httpx2.Response]]
"""Sends a request and holds the response while it is read. The parameter limits each wait, in seconds. Raises ModelFailed for
errors of the provider's library."""


class Reader(Protocol):
    """Reads the events of one stream."""

    def add(self, event: Event) -> Iterator[ChatResponse]:
        """Yields the responses of an event. Raises Unreadable, ErrorEvent."""

    def finish(self) -> Iterator[ChatResponse]:
        """Yields the rest. Raises Unfinished if the answer is incomplete."""


class AsyncModelCall:
    """Performs one model call. `provider`: its name in errors. `secret`: the key, which errors must not contain."""

    def __init__(self, provider: str, open_: Open, *, retry_policy: RetryPolicy, timeout: float, secret: str) -> None:
        self._provider = provider
        self._open = open_
        self._retry_policy = retry_policy
        self._deadline = AsyncDeadline(timeout)
        self._secret = secret

    async def whole(self, read: Callable[[Json], ChatResponse]) -> ChatResponse:
        """Returns the answer. Raises ModelFailed, ModelTimeout."""
        attempt = 0
        while True:
            attempt += 1
            try:
                with self._translated_errors():
                    async with self._opened() as response, aclosing(self._deadline.body(response)) as body:
                        found = b"".join([chunk async for chunk in body])
                    return read(parsed(found))
            except ModelFailed as error:
                failure = error
            await self._wait(failure, attempt)

    async def stream(self, make: Callable[[], Reader]) -> AsyncGenerator[ChatResponse, None]:
        """Yields the answer in chunks; retried only before the first one. Closing it cancels the request. Raises the same
        errors as `whole`."""
        attempt, begun = 0, False
        while True:
            attempt, reader = attempt + 1, make()
            try:
                with self._translated_errors():
                    async with self._opened() as response, aclosing(self._events(response)) as events:
                        async for event in events:
                            for chunk in reader.add(event):
                                begun = True
                                yield chunk
                    for chunk in reader.finish():
                        yield chunk
                    return
            except ModelFailed as error:
                failure = error
            await self._wait(failure, self._retry_policy.max_retries + 1 if begun else attempt)

    async def _events(self, response: httpx2.Response) -> AsyncGenerator[Event, None]:
        reader = EventReader()
        async with aclosing(self._deadline.body(response)) as body:
            async for chunk in body:
                for event in reader.feed(chunk):
                    yield event
        for event in reader.finish():
            yield event

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator[httpx2.Response, None]:
        """Yields a response with a success status."""
        async with AsyncExitStack() as stack:
            async with self._deadline.bound():
                response = await stack.enter_async_context(self._open(max(self._deadline.left, 0.001)))
            if not response.is_success:
                async with aclosing(self._deadline.body(response)) as chunks:
                    body = b"".join([chunk async for chunk in chunks])
                raise errors.rejected(self._provider, response.status_code, response.headers, body, self._secret)
            yield response

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except (TimeoutError, httpx2.TimeoutException):
            raise errors.timed_out(self._provider, self._deadline.seconds) from None
        except (httpx2.ConnectError, httpx2.ProxyError, httpx2.UnsupportedProtocol, httpx2.TooManyRedirects):
            raise errors.unreachable(self._provider) from None
        except httpx2.DecodingError:
            raise errors.invalid_answer(self._provider, "it is packed badly") from None
        except httpx2.TransportError:
            raise errors.interrupted(self._provider) from None
        except UnicodeEncodeError:
            raise UnsupportedContent("a text contains a lone surrogate, which UTF-8 cannot encode: remove it") from None
        except Unreadable as error:
            raise errors.invalid_answer(self._provider, str(error)) from None
        except Unfinished:
            raise errors.interrupted(self._provider) from None
        except ErrorEvent as error:
            raise errors.failed_in_stream(self._provider, error.error, self._secret) from None

    async def _wait(self, failure: ModelFailed, attempt: int) -> None:
        """Waits until the next attempt. Raises the failure if there is none."""
        wait = self._retry_policy.wait(failure, attempt, self._deadline.left)
        if wait is None:
            # The causes and their frames contain the request and the key.
            failure.__context__ = failure.__cause__ = None
            raise failure.with_traceback(None)
        await self._deadline.sleep(wait)


def transport_error(error: Exception) -> httpx2.HTTPError:
    """Returns the transport error inside of an error of a vendor's library."""
    return error.__cause__ if isinstance(error.__cause__, httpx2.HTTPError) else httpx2.ReadError("")
