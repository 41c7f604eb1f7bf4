"""The options of a summarizer."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..endpoint import check_endpoint

PROVIDERS = ("openai", "anthropic")
_ABOVE_ZERO = ("timeout", "deadline", "max_attempts", "max_output_tokens", "max_input_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarizerOptions:
    """The model of a summarizer and its limits. Times are in seconds. Raises ValueError for invalid options.

    An empty `base_url` means the provider's own address, which requires a key.
    """

    provider: str
    model: str
    base_url: str = field(default="", repr=False)  # it may hold a password
    api_key: str = field(default="", repr=False)
    timeout: float = 60.0
    """For one attempt, from connecting to the last byte."""
    deadline: float = 150.0
    """For all attempts and the delays between them."""
    max_attempts: int = 3
    backoff: float = 0.5
    """The longest delay before the second attempt; doubles for each further one. A longer Retry-After replaces it."""
    max_output_tokens: int = 4096
    """Tokens of a summary; a larger limit of the caller is reduced to it."""
    max_input_tokens: int = 100_000
    """Tokens of a prompt; a longer one is rejected before it is sent."""
    max_tokens_per_hour: int = 0
    """Input and output tokens of all summaries of this process in any 60 minutes. 0: no limit."""

    def __post_init__(self) -> None:
        if self.provider not in PROVIDERS:
            raise ValueError(f"no summarizer {self.provider!r}; use one of {', '.join(PROVIDERS)}")
        if not self.model:
            raise ValueError("the summarizer needs the name of a model")
        check_endpoint("the summarizer", self.base_url, self.api_key)
        if not self.base_url and not self.api_key:
            raise ValueError(f"the summarizer {self.provider!r} needs an API key, or the base URL of a server without keys")
        for name in _ABOVE_ZERO:
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"the summarizer's {name} must be above zero")
        for name in ("backoff", "max_tokens_per_hour"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"the summarizer's {name} must not be negative")
