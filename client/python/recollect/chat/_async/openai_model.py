"""OpenAI, and every server that speaks its chat completions."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import httpx2
import openai

from .. import failing
from .._formats import openai as format_
from .._formats.openai_answers import Chunks, answer
from ..options import ChatOptions
from ..patience import DEFAULT_TIMEOUT, Patience
from ..requests import Prompt
from ..responses import ChatResponse
from .asking import AsyncAsking

_OWN_DOMAINS = (".openai.com", ".openai.azure.com")


class AsyncOpenAIModel:
    """One model behind a chat completions endpoint. Safe to share. Close it, or use it as a context manager.

    `base_url`: "https://host/v1"; by default OpenAI's, or the environment's OPENAI_BASE_URL. `api_key`: by default the
    environment's OPENAI_API_KEY, but for a `base_url` given here none is sent. `client`: the library's own, set up by you, in
    place of both; it stays open. `options`: the defaults of all requests. `timeout` of the options bounds a whole call from
    its first attempt to the last byte of the answer, the time included in which a stream is not read; without one it is 600 s.

    `max_retries`: after a connection that fails, 408, 409, 429 and 5xx, with growing waits; a stream is asked for again only
    until it begins. `reasoning_field`: where the endpoint wants reasoning of earlier messages, for example
    "reasoning_content"; OpenAI wants none. `stream_usage`: False for a server that refuses `stream_options`. `provider`: what
    telemetry calls it.

    Both calls raise ModelFailed, ModelTimeout and UnsupportedContent.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        options: ChatOptions | None = None,
        client: openai.AsyncOpenAI | None = None,
        max_retries: int = 2,
        reasoning_field: str = "",
        stream_usage: bool = True,
        provider: str = format_.PROVIDER,
    ) -> None:
        self._patience = Patience(max_retries=max_retries)
        self._provider = provider
        self._options = ChatOptions(model=model).over(options)
        library = client or openai.AsyncOpenAI(api_key=_key(api_key, base_url), base_url=base_url)
        self._owned = None if client else library
        self._client = library.with_options(max_retries=0)
        own = (urlsplit(str(self._client.base_url)).hostname or "").endswith(_OWN_DOMAINS)
        limit = "max_completion_tokens" if own else "max_tokens"
        self._dialect = format_.Dialect(limit, reasoning_field, stream_usage)
        self._completions = self._client.chat.completions  # now, for it imports half of the library, which takes a while

    @property
    def provider(self) -> str:
        return self._provider

    @property
    def default_options(self) -> ChatOptions:
        return self._options

    async def call(self, prompt: Prompt) -> ChatResponse:
        return await self._asking(prompt, stream=False).whole(answer)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[ChatResponse, None]:
        async with aclosing(self._asking(prompt, stream=True).stream(Chunks)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def close(self) -> None:
        """Gives up the connections, but not those of a client that was given."""
        if self._owned is not None:
            await self._owned.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _asking(self, prompt: Prompt, *, stream: bool) -> AsyncAsking:
        options = (prompt.options or ChatOptions()).over(self._options)
        body = format_.request(Prompt(prompt.messages, options), self._dialect, stream=stream)

        @asynccontextmanager
        async def opened(seconds: float) -> AsyncGenerator[httpx2.Response, None]:
            try:
                async with self._completions.with_streaming_response.create(
                    model=body["model"], messages=body["messages"], extra_body=body, timeout=seconds
                ) as response:
                    yield response.http_response
            except openai.APIStatusError as error:
                found = error.response
                raise failing.refused(
                    self._provider, found.status_code, found.headers, found.content, self._client.api_key
                ) from None
            except openai.APIConnectionError as error:
                raise (error.__cause__ if isinstance(error.__cause__, httpx2.HTTPError) else httpx2.ReadError("")) from None

        timeout = options.timeout or DEFAULT_TIMEOUT
        return AsyncAsking(self._provider, opened, patience=self._patience, timeout=timeout, secret=self._client.api_key)


def _key(api_key: str | None, base_url: str | None) -> str | None:
    """The environment's key is OpenAI's: it goes to no address that was given here."""
    return "none" if api_key is None and base_url is not None else api_key
