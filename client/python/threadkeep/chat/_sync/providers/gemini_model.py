# Generated from _async by `make sync-client`. Do not edit.
"""Adapter for Gemini and servers with its generateContent API.

It uses HTTP directly: Google's library has its own retries, drops unknown fields of answers, and leaves the connection of a
synchronous stream open that is closed before its end.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import httpx2

from ...providers._connections_threads import Connections
from ...providers.endpoint import checked_address, checked_key
from ...providers.formats import gemini as format_
from ...providers.formats.gemini_answers import Chunks, answer
from ...providers.formats.reading import Json
from ...types.options import ChatOptions
from ...types.requests import Prompt
from ...types.responses import ChatResponse
from .adapter import Adapter

_OWN_ADDRESS = "https://generativelanguage.googleapis.com"
_VERSION = "v1beta"


class GeminiModel(Adapter):
    """One model of the Gemini API; see Adapter for the common parameters.

    `base_url`: "https://host", without a version; default Google's. `api_key`: default GEMINI_API_KEY or GOOGLE_API_KEY, which
    are not sent to a `base_url` that is passed here. `client`: a configured client of httpx2; it is not closed.

    Request thoughts with `ChatOptions(extra={"generationConfig": {"thinkingConfig": {"includeThoughts": True}}})`.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        options: ChatOptions | None = None,
        client: httpx2.Client | None = None,
        max_retries: int = 2,
        provider: str = "gcp.gemini",
    ) -> None:
        super().__init__(model, provider=provider, options=options, max_retries=max_retries)
        self._key = checked_key(api_key if api_key is not None else _key(base_url))
        self._models = f"{(checked_address(base_url) or _OWN_ADDRESS).rstrip('/')}/{_VERSION}"
        self._is_owned = client is None
        self._clients = Connections(lambda: httpx2.Client() if client is None else client)

    def _release(self) -> None:
        if self._is_owned:
            self._clients.here.close()

    @property
    def _secret(self) -> str:
        return self._key

    def _body(self, prompt: Prompt, *, stream: bool) -> dict[str, Any]:
        model = (prompt.options.model if prompt.options else None) or ""
        return {"model": model if "/" in model else f"models/{model}", "body": format_.request(prompt)}

    @contextmanager
    def _open(self, body: dict[str, Any], seconds: float, *, stream: bool) -> Generator[httpx2.Response, None, None]:
        method = "streamGenerateContent?alt=sse" if stream else "generateContent"
        headers = {"x-goog-api-key": self._key} if self._key else {}
        address = f"{self._models}/{body['model']}:{method}"
        with self._clients.here.stream("POST", address, json=body["body"], headers=headers, timeout=seconds) as response:
            yield response

    def _answer(self, body: Json) -> ChatResponse:
        return answer(body)

    def _reader(self) -> Chunks:
        return Chunks()


def _key(base_url: str | None) -> str:
    """Returns the key of the environment; empty for another address, which must not receive it."""
    if base_url is not None:
        return ""
    key = os.environ.get("GEMINI_API_KEY") or os.environ.get("GOOGLE_API_KEY")
    if not key:
        raise ValueError("no key for Gemini: pass api_key, or set GEMINI_API_KEY in the environment")
    return key
