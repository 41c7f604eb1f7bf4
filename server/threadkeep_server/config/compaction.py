"""The settings of context windows, compaction and the summarizer; part of `settings.Settings`."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator
from pydantic_settings import BaseSettings

from .files import home
from .types import Bytes, Interval, lower


class CompactionSettings(BaseSettings):
    """Part of `settings.Settings`."""

    context_bytes: Bytes = Field(
        default=156 << 10, description="Size of a context without a size of its own, in a session without one: 156 KiB."
    )
    token_counter: str = Field(
        default="chars/4",
        description="Counter of the tokens of an appended event: `chars/4` (one per four characters), "
        "`tiktoken:<encoding>` or `bpe-openai:<encoding>`; the last two require the extra `tokens`.",
    )
    compaction_policy: str = Field(
        default="",
        description="Policy of sessions without another policy, as JSON of `CompactionPolicy`: "
        '`{"trigger": {"tokens": 100000}, "strategy": {"turnWindow": {"maxTurns": 20}}}`. Empty: none.',
    )
    compaction_webhooks_file: Path | None = Field(
        default=None,
        description="TOML file with the webhooks that policies may name as their strategy: a table per webhook, `[name]` with "
        "`url`, `secret` and, to admit only some, `tenants`. Requires the extra `webhook`.",
    )
    compaction_webhook_timeout: Interval = Field(default=timedelta(seconds=30), description="Timeout of one call of a webhook.")
    compaction_webhook_deadline: Interval = Field(
        default=timedelta(seconds=120),
        description="Timeout of a webhook's plan, including all attempts and the delays between them.",
    )
    compaction_webhook_attempts: int = Field(default=3, ge=1, le=10, description="Most attempts at a webhook's plan.")
    compaction_webhook_request_bytes: Bytes = Field(
        default=4 << 20,
        ge=256 << 10,
        le=64 << 20,
        description="Largest request to a webhook, 4 MiB. Of a larger window it contains the oldest events.",
    )
    compaction_answer_time: Interval = Field(
        default=timedelta(minutes=10),
        description="Time after which a compaction that a policy leaves to a consumer counts as unanswered and is logged.",
    )
    compaction_workers: int = Field(default=4, ge=1, le=64, description="Sessions that policies compact at the same time.")
    summarizer: Annotated[Literal["", "openai", "anthropic"], BeforeValidator(lower)] = Field(
        default="",
        description="Provider of summaries: `openai` (any endpoint with its chat API) or `anthropic`; requires the extra "
        "`summarizer`. Empty: none; strategies that require a model are rejected.",
    )
    summarizer_model: str = Field(default="", description="The model's name. Required with `summarizer`.")
    summarizer_base_url: str = Field(
        default="",
        repr=False,
        description="The endpoint, such as `http://127.0.0.1:8000/v1`. Empty: the provider's own.",
    )
    summarizer_api_key: str = Field(default="", repr=False, description="The API key. Providers' own endpoints require it.")
    summarizer_timeout: Interval = Field(default=timedelta(seconds=60), description="Timeout of one attempt.")
    summarizer_deadline: Interval = Field(
        default=timedelta(seconds=150), description="Timeout of a summary, including all attempts and the delays between them."
    )
    summarizer_attempts: int = Field(default=3, ge=1, le=10, description="Most attempts at a summary.")
    summarizer_max_output_tokens: int = Field(
        default=4096, ge=1, le=1_000_000, description="Most tokens of a summary; a larger limit of a strategy is reduced to it."
    )
    summarizer_max_input_tokens: int = Field(
        default=100_000, ge=1, le=10_000_000, description="Most tokens of a prompt; a longer one is rejected before it is sent."
    )
    summarizer_tokens_per_hour: int = Field(
        default=0, ge=0, description="Tokens that this server may spend on summaries in any 60 minutes. 0: no limit."
    )

    @field_validator("compaction_webhooks_file")
    @classmethod
    def _webhooks_file(cls, value: Path | None) -> Path | None:
        return value if value is None else home(value)
