"""The options of webhooks."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..endpoint import check_endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookEndpoint:
    """One endpoint. `secret`: the key of its signatures. `tenants` may name it; empty: all tenants."""

    url: str = field(repr=False)
    secret: bytes = field(repr=False)
    tenants: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Raises ValueError."""
        check_endpoint("the webhook", self.url, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions:
    """Limits of a request, in seconds: `timeout` of one attempt, `deadline` of all with the delays between them."""

    timeout: float = 30.0
    deadline: float = 120.0
    max_attempts: int = 3
    backoff: float = 0.5
    max_answer_bytes: int = 4 << 20
