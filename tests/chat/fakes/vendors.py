"""The adapters for models, and how an endpoint on loopback answers each of them: what is the same for all is tested once."""

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
"""In place of the adapters' own half of a second, which test_retry.py tests."""


@dataclass(frozen=True)
class Vendor:
    """An endpoint's vendor, whose models wait BACKOFF before they ask again.

    `whole`: an answer with this text. `events`: a stream of it, up to the one that says that it is over. `failure`: the
    event that tells of an overloaded server. `done`: whether "[DONE]" ends a stream."""

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
