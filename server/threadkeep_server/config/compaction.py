"""The settings of context windows, compaction and the model that summarises; part of `config.Settings`."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from pydantic_settings import BaseSettings

from .types import Bytes, Interval, lower


class CompactionSettings(BaseSettings):
    """See `config.Settings`."""

    context_bytes: Bytes = Field(
        default=156 << 10, description="Size of a context that asks for none, in a session that sets none: 156 KiB."
    )
    token_counter: str = Field(
        default="chars/4",
        description="What counts the tokens of an event at append: `chars/4` (one for every four characters), "
        "`tiktoken:<encoding>` or `bpe-openai:<encoding>`, which need the extra `tokens`.",
    )
    compaction_policy: str = Field(
        default="",
        description="Policy of sessions that no other policy applies to, as JSON of `CompactionPolicy`: "
        '`{"trigger": {"tokens": 100000}, "strategy": {"turnWindow": {"maxTurns": 20}}}`. Empty: none.',
    )
    compaction_workers: int = Field(default=4, ge=1, le=64, description="Sessions that policies compact at once.")
    summarizer: Annotated[Literal["", "openai", "anthropic"], BeforeValidator(lower)] = Field(
        default="",
        description="Who makes summaries: `openai` (any endpoint that speaks its chat API) or `anthropic`; needs the extra "
        "`summarizer`. Empty: nobody, and strategies that need a model are refused.",
    )
    summarizer_model: str = Field(default="", description="The model's name. Needed with `summarizer`.")
    summarizer_base_url: str = Field(
        default="",
        repr=False,
        description="The endpoint, such as `http://127.0.0.1:8000/v1`. Empty: the vendor's own.",
    )
    summarizer_api_key: str = Field(default="", repr=False, description="The endpoint's key. The vendors' own want one.")
    summarizer_timeout: Interval = Field(default=timedelta(seconds=60), description="How long one attempt may take.")
    summarizer_deadline: Interval = Field(
        default=timedelta(seconds=150), description="How long a summary may take, with all attempts and the waits between them."
    )
    summarizer_attempts: int = Field(default=3, ge=1, le=10, description="How often a summary is attempted.")
    summarizer_max_output_tokens: int = Field(
        default=4096, ge=1, le=1_000_000, description="Most tokens of a summary, whatever a strategy asks for."
    )
    summarizer_max_input_tokens: int = Field(
        default=100_000, ge=1, le=10_000_000, description="Most tokens of a prompt; a longer one is refused before it is sent."
    )
    summarizer_tokens_per_hour: int = Field(
        default=0, ge=0, description="Tokens that this server may spend on summaries in any 60 minutes. 0: no limit."
    )
