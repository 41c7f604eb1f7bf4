"""Common part of the adapters of all providers."""

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
    """One model at an endpoint. It can be shared by requests, event loops and forked processes, which get connections of their
    own. Close it, or use it as a context manager; a closed model raises ChatError.

    `options`: the defaults of all requests. `timeout` of the options limits a whole call, from the first attempt to the last
    byte of the answer, including time in which a stream is not read; 600 s by default. A synchronous call waits up to this
    time in each step before the answer starts: connecting, sending, reading headers. `max_retries`: after failed connections,
    408, 409, 429 and 5xx, with increasing waits; a stream is retried only before its first chunk. `provider`: the name in
    telemetry and errors.
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
        """Returns the whole answer. Raises ModelFailed, ModelTimeout and UnsupportedContent."""
        call = self._new_call(prompt, stream=False)
        return await call.whole(self._answer)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[ChatResponse, None]:
        """Yields the answer in chunks. Closing the stream cancels the request. Raises the same errors as `call`."""
        call = self._new_call(prompt, stream=True)
        async with aclosing(call.stream(self._reader)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def close(self) -> None:
        """Closes the connections, except those of a client that was passed in."""
        self._is_closed = True
        await self._release()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        await self.close()

    @abstractmethod
    async def _release(self) -> None:
        """Closes the client, unless it was passed in."""

    @property
    @abstractmethod
    def _secret(self) -> str:
        """The key; errors must not contain it."""

    @abstractmethod
    def _body(self, prompt: Prompt, *, stream: bool) -> dict[str, Any]:
        """Returns the JSON of a request. Raises UnsupportedContent."""

    @abstractmethod
    def _open(self, body: dict[str, Any], seconds: float, *, stream: bool) -> AbstractAsyncContextManager[httpx2.Response]:
        """Sends a request; see `calls.Open`."""

    @abstractmethod
    def _answer(self, body: Json) -> ChatResponse:
        """Converts a whole answer. Raises Unreadable."""

    @abstractmethod
    def _reader(self) -> Reader:
        """Returns a reader for one stream."""

    def _new_call(self, prompt: Prompt, *, stream: bool) -> AsyncModelCall:
        if self._is_closed:
            raise ChatError(f"this model of {self._provider} is closed; make a new one")
        options = (prompt.options or ChatOptions()).over(self._options)
        body = self._body(Prompt(prompt.messages, options), stream=stream)
        return AsyncModelCall(
            self._provider,
            lambda seconds: self._open(body, seconds, stream=stream),
            retry_policy=self._retry_policy,
            timeout=seconds_of(options.timeout),
            secret=self._secret,
        )
