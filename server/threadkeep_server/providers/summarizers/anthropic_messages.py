"""Anthropic, and servers with its Messages API."""

from __future__ import annotations

import anthropic

from ...domain.model import Usage
from ..http import ModelClient, provider_errors
from .completion import Completion, CompletionRequest, FinishReason, model_name, token_count

_OWN_ADDRESS = "https://api.anthropic.com"
_FINISH_REASONS = {
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "refusal": FinishReason.REFUSAL,
}


class AnthropicMessages:
    """One model behind a messages endpoint."""

    def __init__(self, *, model: str, base_url: str, api_key: str) -> None:
        address = base_url or _OWN_ADDRESS
        self._model = model
        self._client = anthropic.AsyncAnthropic(
            # Never empty: the library would read the environment.
            api_key=api_key or "none",
            base_url=address,
            timeout=None,
            max_retries=0,
            open_telemetry=False,  # its spans may contain conversations
            http_client=ModelClient(address),
        )
        self._messages = self._client.messages  # imports half of the library, which is slow, at start

    async def complete(self, request: CompletionRequest) -> Completion:
        with provider_errors():
            message = await self._messages.create(
                model=self._model,
                max_tokens=request.max_tokens,
                system=request.system_prompt or anthropic.omit,
                messages=[{"role": "user", "content": request.prompt}],
            )
            text = "".join(block.text for block in message.content if block.type == "text")
            finish_reason = _FINISH_REASONS.get(message.stop_reason or "", FinishReason.STOP)
            return Completion(text, finish_reason, _usage(message.usage), model_name(message.model))

    async def aclose(self) -> None:
        await self._client.close()


def _usage(usage: object) -> Usage:
    def reported(name: str) -> int:
        return token_count(getattr(usage, name, 0))

    # Anthropic counts cache writes and reads separately from the input.
    cached = reported("cache_read_input_tokens")
    input_tokens = reported("input_tokens") + reported("cache_creation_input_tokens") + cached
    output = reported("output_tokens")
    reasoning = token_count(getattr(getattr(usage, "output_tokens_details", None), "thinking_tokens", 0))
    return Usage(input=input_tokens, output=output, total=input_tokens + output, cached=cached, reasoning=reasoning)
