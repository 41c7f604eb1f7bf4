"""The model adapters and the loopback answers for each, so that common behavior is tested once for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..async_and_sync import Kit
from . import loopback as openai
from . import loopback_anthropic as anthropic
from . import loopback_gemini as gemini
from .loopback import KEY, Loopback

BACKOFF = 0.01
"""Replaces the adapters' default of half a second, which test_retry.py covers."""


@dataclass(frozen=True)
class Vendor:
    """A vendor of models, which retry after BACKOFF.

    `whole`: returns an answer with a text. `events`: returns its stream, including the event that ends it. `failure`: the
    event of an overloaded server. `done`: whether "[DONE]" ends a stream."""

    name: str
    adapter: str
    path: str
    whole: Callable[[str], dict[str, Any]]
    events: Callable[[str], list[Any]]
    failure: Any
    done: bool = False

    def model(self, kit: Kit, endpoint: Loopback, **settings: Any) -> Any:
        base_url = f"http://127.0.0.1:{endpoint.port}{self.path}"
        model = getattr(kit, self.adapter)("small", base_url=base_url, api_key=KEY, **settings)
        model._retry_policy = replace(model._retry_policy, backoff=BACKOFF)
        return model


def _openai_events(text: str) -> list[Any]:
    return [*(openai.chunk({"content": piece}) for piece in (text[:2], text[2:])), openai.chunk({}, reason="stop")]


OPENAI = Vendor(
    "openai",
    "OpenAIModel",
    "/v1",
    openai.completion,
    _openai_events,
    {"error": {"type": "server_error", "message": "overloaded, sorry", "code": 503}},
    done=True,
)
ANTHROPIC = Vendor(
    "anthropic",
    "AnthropicModel",
    "",
    anthropic.message,
    lambda text: anthropic.streamed(anthropic.message(text)),
    {"type": "error", "error": {"type": "overloaded_error", "message": "overloaded, sorry"}},
)
GEMINI = Vendor(
    "gemini",
    "GeminiModel",
    "",
    gemini.content,
    gemini.streamed,
    {"error": {"code": 503, "status": "UNAVAILABLE", "message": "overloaded, sorry"}},
)
VENDORS = (OPENAI, ANTHROPIC, GEMINI)
