"""Adapter for OpenAI and servers with its chat completions API."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai

from ...providers import errors
from ...providers._connections_aio import AsyncConnections
from ...providers.endpoint import checked_address, checked_key, key_for
from ...providers.formats import openai as format_
from ...providers.formats.openai_answers import Chunks, answer
from ...providers.formats.reading import Json
from ...types.options import ChatOptions
from ...types.requests import Prompt
from ...types.responses import ChatResponse
from .adapter import AsyncAdapter
from .calls import transport_error

_OWN_DOMAINS = (".openai.com", ".openai.azure.com")


class AsyncOpenAIModel(AsyncAdapter):
    """One model at a chat completions endpoint; see AsyncAdapter for the common parameters.

    `base_url`: "https://host/v1"; default OpenAI's, or OPENAI_BASE_URL. `api_key`: default OPENAI_API_KEY, which is not sent
    to a `base_url` that is passed here. `client`: a configured client of the library, in place of both; it is not closed.

    `reasoning_field`: the field in which the endpoint expects reasoning of earlier messages, for example "reasoning_content";
    OpenAI expects none. `stream_usage`: False for a server that rejects `stream_options`.
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
        super().__init__(model, provider=provider, options=options, max_retries=max_retries)

        def library() -> openai.AsyncOpenAI:
            if client is not None:
                return client.with_options(max_retries=0)
            return openai.AsyncOpenAI(
                api_key=key_for(api_key, base_url),
                base_url=checked_address(base_url),
                max_retries=0,
                # A redirect must not receive the key and the conversation.
                http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False),
            )

        self._is_owned = client is None
        self._clients = AsyncConnections(library)
        checked_key(self._secret)
        own = (urlsplit(str(self._clients.first.base_url)).hostname or "").endswith(_OWN_DOMAINS)
        limit = "max_completion_tokens" if own else "max_tokens"
        self._dialect = format_.Dialect(limit, reasoning_field, stream_usage)
        _ = self._clients.first.chat.completions  # imports a large part of the library here rather than in the first call

    async def _release(self) -> None:
        if self._is_owned:
            await self._clients.here.close()

    @property
    def _secret(self) -> str:
        return self._clients.first.api_key

    def _body(self, prompt: Prompt, *, stream: bool) -> dict[str, Any]:
        return format_.request(prompt, self._dialect, stream=stream)

    @asynccontextmanager
    async def _open(self, body: dict[str, Any], seconds: float, *, stream: bool) -> AsyncGenerator[httpx2.Response, None]:
        try:
            # No messages here: the library would check each of them, which is slow. Those of the body apply.
            async with self._clients.here.chat.completions.with_streaming_response.create(
                model=body["model"], messages=(), extra_body=body, timeout=seconds
            ) as response:
                yield response.http_response
        except openai.APIStatusError as error:
            found = error.response
            raise errors.rejected(self._provider, found.status_code, found.headers, found.content, self._secret) from None
        except openai.APIConnectionError as error:
            raise transport_error(error) from None

    def _answer(self, body: Json) -> ChatResponse:
        return answer(body)

    def _reader(self) -> Chunks:
        return Chunks()
