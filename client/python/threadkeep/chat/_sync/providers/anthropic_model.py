# Generated from _async by `make sync-client`. Do not edit.
"""Adapter for Anthropic and servers with its Messages API."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import anthropic
import httpx2

from ...providers import errors
from ...providers._connections_threads import Connections
from ...providers.endpoint import checked_address, checked_key, key_for
from ...providers.formats import anthropic as format_
from ...providers.formats.anthropic_answers import Chunks, answer
from ...providers.formats.reading import Json
from ...types.options import ChatOptions
from ...types.requests import Prompt
from ...types.responses import ChatResponse
from .adapter import Adapter
from .calls import transport_error


class AnthropicModel(Adapter):
    """One model at a messages endpoint; see Adapter for the common parameters.

    `base_url`: "https://host", without a version; default Anthropic's, or ANTHROPIC_BASE_URL. `api_key`: default
    ANTHROPIC_API_KEY, which is not sent to a `base_url` that is passed here. `client`: a configured client of the library, in
    place of both; it is not closed.

    An answer has at most 4096 tokens without `max_tokens`. Request thinking with `ChatOptions(extra={"thinking": {"type":
    "enabled", "budget_tokens": 2048}})`.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        options: ChatOptions | None = None,
        client: anthropic.Anthropic | None = None,
        max_retries: int = 2,
        provider: str = format_.PROVIDER,
    ) -> None:
        super().__init__(model, provider=provider, options=options, max_retries=max_retries)

        def library() -> anthropic.Anthropic:
            if client is not None:
                return client.with_options(max_retries=0)
            return anthropic.Anthropic(
                api_key=key_for(api_key, base_url),
                base_url=checked_address(base_url),
                max_retries=0,
                # A redirect must not receive the key and the conversation.
                http_client=anthropic.DefaultHttpxClient(follow_redirects=False),
            )

        self._is_owned = client is None
        self._clients = Connections(library)
        if not (self._secret or self._clients.first.credentials):
            raise ValueError("no key for Anthropic: pass api_key, or set ANTHROPIC_API_KEY in the environment")
        checked_key(self._secret)
        _ = self._clients.first.messages  # imports a large part of the library here rather than in the first call

    def _release(self) -> None:
        if self._is_owned:
            self._clients.here.close()

    @property
    def _secret(self) -> str:
        return self._clients.first.api_key or self._clients.first.auth_token or ""

    def _body(self, prompt: Prompt, *, stream: bool) -> dict[str, Any]:
        return format_.request(prompt, stream=stream)

    @contextmanager
    def _open(self, body: dict[str, Any], seconds: float, *, stream: bool) -> Generator[httpx2.Response, None, None]:
        try:
            # No messages here: the library would check each of them. Those of the body apply.
            with self._clients.here.messages.with_streaming_response.create(
                model=body["model"], max_tokens=body["max_tokens"], messages=(), extra_body=body, timeout=seconds
            ) as response:
                yield response.http_response
        except anthropic.APIStatusError as error:
            found = error.response
            raise errors.rejected(self._provider, found.status_code, found.headers, found.content, self._secret) from None
        except anthropic.APIConnectionError as error:
            raise transport_error(error) from None

    def _answer(self, body: Json) -> ChatResponse:
        return answer(body)

    def _reader(self) -> Chunks:
        return Chunks()
