"""OpenAI, and servers with its Chat Completions API."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import openai
from openai.types.chat import ChatCompletionMessageParam

from ...domain.model import Usage
from ..http import ModelClient, provider_errors
from .completion import Completion, CompletionRequest, FinishReason, model_name, token_count

_OWN_ADDRESS = "https://api.openai.com/v1"
_OWN_DOMAINS = (".openai.com", ".openai.azure.com")
_FINISH_REASONS = {"length": FinishReason.LENGTH, "max_tokens": FinishReason.LENGTH, "content_filter": FinishReason.REFUSAL}


class OpenAIChat:
    """One model behind a chat completions endpoint."""

    def __init__(self, *, model: str, base_url: str, api_key: str) -> None:
        address = base_url or _OWN_ADDRESS
        self._model = model
        # OpenAI's newer models reject max_tokens; many other servers support nothing else.
        own = (urlsplit(address).hostname or "").endswith(_OWN_DOMAINS)
        self._limit = "max_completion_tokens" if own else "max_tokens"
        self._client = openai.AsyncOpenAI(
            # Never empty: the library would read the environment.
            api_key=api_key or "none",
            base_url=address,
            timeout=None,
            max_retries=0,
            http_client=ModelClient(address),
        )
        self._completions = self._client.chat.completions  # imports half of the library, which is slow, at start

    async def complete(self, request: CompletionRequest) -> Completion:
        messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": request.prompt}]
        if request.system_prompt:
            messages.insert(0, {"role": "system", "content": request.system_prompt})
        limit: dict[str, Any] = {self._limit: request.max_tokens}
        with provider_errors():
            completion = await self._completions.create(model=self._model, messages=messages, **limit)
            choice = completion.choices[0]
            finish_reason = (
                FinishReason.REFUSAL if choice.message.refusal else _FINISH_REASONS.get(choice.finish_reason, FinishReason.STOP)
            )
            # The library does not validate the types of a response.
            text = _text(choice.message.content)
            return Completion(text, finish_reason, _usage(completion.usage), model_name(completion.model))

    async def aclose(self) -> None:
        await self._client.close()


def _text(content: object) -> str:
    if content is None:
        return ""
    if not isinstance(content, str):
        raise TypeError("content is not text")
    return content


def _usage(usage: object) -> Usage:
    prompt = getattr(usage, "prompt_tokens_details", None)
    completion = getattr(usage, "completion_tokens_details", None)
    return Usage(
        input=token_count(getattr(usage, "prompt_tokens", 0)),
        output=token_count(getattr(usage, "completion_tokens", 0)),
        total=token_count(getattr(usage, "total_tokens", 0)),
        cached=token_count(getattr(prompt, "cached_tokens", 0)),
        reasoning=token_count(getattr(completion, "reasoning_tokens", 0)),
    )
