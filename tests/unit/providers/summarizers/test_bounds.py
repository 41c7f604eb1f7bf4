"""Waits, the hour's budget and the options, without a network."""

from __future__ import annotations

import asyncio
import sys

import pytest

from threadkeep_server.domain.model import Usage
from threadkeep_server.providers.errors import ProviderError
from threadkeep_server.providers.summarizers.bounded import ModelSummarizer
from threadkeep_server.providers.summarizers.budget import TokenBudget
from threadkeep_server.providers.summarizers.completion import Completion, CompletionRequest, FinishReason
from threadkeep_server.providers.summarizers.factory import open_summarizer
from threadkeep_server.providers.summarizers.options import SummarizerOptions


class Model:
    """Fails `failures` times, then answers."""

    def __init__(self, failures: int) -> None:
        self.failures = failures

    async def complete(self, request: CompletionRequest) -> Completion:
        self.failures -= 1
        if self.failures >= 0:
            raise ProviderError("timed out", retry=True)
        return Completion("fine", FinishReason.STOP, Usage(), "")

    async def aclose(self) -> None:
        """Nothing to close."""


async def _waits(monkeypatch: pytest.MonkeyPatch, jitter: float) -> list[float]:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    options = SummarizerOptions(provider="openai", model="m", api_key="k", backoff=1.0, max_attempts=4)
    summarizer = ModelSummarizer(Model(3), options, len, clock=lambda: 0.0, jitter=lambda: jitter)
    assert (await summarizer.summarize(system_prompt="", prompt="p", max_tokens=5)).text == "fine"
    return waits


async def test_waits_double_with_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await _waits(monkeypatch, 0.0) == [0.5, 1.0, 2.0]
    assert await _waits(monkeypatch, 1.0) == [1.0, 2.0, 4.0]


def test_a_budget_holds_for_any_sixty_minutes() -> None:
    now = 0.0
    budget = TokenBudget(100, lambda: now)
    assert budget.spend(60)
    now = 1800.0
    assert budget.spend(40)
    assert budget.spend(1) is None
    now = 3599.9
    assert budget.spend(1) is None
    now = 3600.0
    assert budget.spend(61) is None
    assert budget.spend(60)


def test_a_budget_counts_running_calls_until_they_are_settled() -> None:
    budget = TokenBudget(100, lambda: 0.0)
    first = budget.spend(80)
    assert first
    assert budget.spend(80) is None
    first.tokens = 20
    assert budget.spend(80)


def test_no_limit_lets_everything_through() -> None:
    budget = TokenBudget(0, lambda: 0.0)
    assert all(budget.spend(1 << 40) for _ in range(3))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"provider": "acme"}, "no summarizer 'acme'; use one of openai, anthropic"),
        ({"model": ""}, "name of a model"),
        ({"api_key": ""}, "needs an API key"),
        ({"api_key": "sk-secret\n"}, "line break"),
        ({"base_url": "localhost:11434"}, "must look like"),
        ({"base_url": "ftp://host"}, "must look like"),
        ({"base_url": "http://"}, "must look like"),
        ({"base_url": "http://host:port"}, "must look like"),
        ({"timeout": 0}, "timeout must be above zero"),
        ({"timeout": float("nan")}, "timeout must be above zero"),
        ({"deadline": float("inf")}, "deadline must be above zero"),
        ({"max_attempts": 0}, "max_attempts must be above zero"),
        ({"max_output_tokens": 0}, "max_output_tokens must be above zero"),
        ({"max_input_tokens": -1}, "max_input_tokens must be above zero"),
        ({"backoff": -0.1}, "backoff must not be negative"),
        ({"max_tokens_per_hour": -1}, "max_tokens_per_hour must not be negative"),
    ],
)
def test_options_that_cannot_work_are_refused(changes: dict[str, object], problem: str) -> None:
    options: dict[str, object] = {"provider": "openai", "model": "m", "api_key": "k"}
    with pytest.raises(ValueError, match=problem) as refused:
        SummarizerOptions(**(options | changes))  # type: ignore[arg-type]
    assert "sk-secret" not in str(refused.value)


def test_options_do_not_show_their_secrets() -> None:
    options = SummarizerOptions(provider="openai", model="m", base_url="https://u:hush@host/v1", api_key="sk-secret")
    assert "hush" not in repr(options)
    assert "sk-secret" not in repr(options)


@pytest.mark.parametrize(("provider", "adapter"), [("openai", "openai_chat"), ("anthropic", "anthropic_messages")])
def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch, provider: str, adapter: str) -> None:
    monkeypatch.delitem(sys.modules, f"threadkeep_server.providers.summarizers.{adapter}", raising=False)
    monkeypatch.setitem(sys.modules, provider, None)
    options = SummarizerOptions(provider=provider, model="m", api_key="k")
    with pytest.raises(ValueError, match=rf"'{provider}' needs the package '{provider}'; install 'threadkeep\[summarizer\]'"):
        open_summarizer(options, len)


@pytest.mark.parametrize(
    ("base_url", "field"),
    [
        ("", "max_completion_tokens"),
        ("https://eu.api.openai.com/v1", "max_completion_tokens"),
        ("https://us.openai.azure.com/openai/v1", "max_completion_tokens"),
        ("https://api.openai.com.example.org/v1", "max_tokens"),
        ("http://localhost:11434/v1", "max_tokens"),
    ],
)
async def test_the_limit_is_named_as_the_endpoint_knows_it(base_url: str, field: str) -> None:
    from threadkeep_server.providers.summarizers.openai_chat import OpenAIChat

    chat = OpenAIChat(model="m", base_url=base_url, api_key="k")
    assert chat._limit == field
    await chat.aclose()
