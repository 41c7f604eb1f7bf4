"""What the adapters of all providers share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, aclosing
from types import TracebackType
from typing import Any, Self

import httpx2

from ...errors import ChatError
from ...providers.formats.reading import Json
from ...providers.retry import RetryPolicy, seconds_of
from ...types.options import ChatOptions
from ...types.requests import Prompt
from ...types.responses import ChatResponse
from .calls import AsyncModelCall, Reader


class AsyncAdapter(ABC):
    """One model behind an endpoint. Safe to share between requests, and across event loops and forks, each of which has
    connections of its own. Close it, or use it as a context manager; then it raises ChatError.

    `options`: the defaults of all requests. `timeout` of the options bounds a whole call from its first attempt to the last
    byte of the answer, the time included in which a stream is not read; without one it is 600 s. A caller that blocks waits
    that long for each step before the answer begins: to connect, to send, for a piece of the headers. `max_retries`: after a
    connection that fails, 408, 409, 429 and 5xx, with growing waits; a stream is asked for again only until it begins.
    `provider`: what telemetry and errors call it.
    """

    def __init__(self, model: str, *, provider: str, options: ChatOptions | None, max_retries: int) -> None:
        self._retry_policy = RetryPolicy(max_retries=max_retries)
        self._provider = provider
        self._options = ChatOptions(model=model).over(options)
        self._is_closed = False

    @property
    def provider(self) -> str:
        return self._provider

    @property
    def default_options(self) -> ChatOptions:
        return self._options

    async def call(self, prompt: Prompt) -> ChatResponse:
        """The whole answer. Raises ModelFailed, ModelTimeout and UnsupportedContent."""
        call = self._new_call(prompt, stream=False)
        return await call.whole(self._answer)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[ChatResponse, None]:
        """The answer in chunks. Closing it ends the request. Raises as `call` does."""
        call = self._new_call(prompt, stream=True)
        async with aclosing(call.stream(self._reader)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def close(self) -> None:
        """Gives up the connections, but not those of a client that was given."""
        self._is_closed = True
        await self._release()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        await self.close()

    @abstractmethod
    async def _release(self) -> None:
        """Closes the client, unless it was given."""

    @property
    @abstractmethod
    def _secret(self) -> str:
        """The key, which no error may show."""

    @abstractmethod
    def _body(self, prompt: Prompt, *, stream: bool) -> dict[str, Any]:
        """The JSON of a request. Raises UnsupportedContent."""

    @abstractmethod
    def _open(self, body: dict[str, Any], seconds: float, *, stream: bool) -> AbstractAsyncContextManager[httpx2.Response]:
        """Sends it; see `call.Open`."""

    @abstractmethod
    def _answer(self, body: Json) -> ChatResponse:
        """Reads a whole answer. Raises Unreadable."""

    @abstractmethod
    def _reader(self) -> Reader:
        """Reads a stream."""

    def _new_call(self, prompt: Prompt, *, stream: bool) -> AsyncModelCall:
        if self._is_closed:
            raise ChatError(f"this model of {self._provider} was closed, and is asked again")
        options = (prompt.options or ChatOptions()).over(self._options)
        body = self._body(Prompt(prompt.messages, options), stream=stream)
        return AsyncModelCall(
            self._provider,
            lambda seconds: self._open(body, seconds, stream=stream),
            retry_policy=self._retry_policy,
            timeout=seconds_of(options.timeout),
            secret=self._secret,
        )
