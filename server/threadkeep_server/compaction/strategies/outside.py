"""Strategies that are planned outside of the server. They have no `plan`: the use cases request one, or leave it to others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..plan import Strategy


@dataclass(frozen=True, slots=True)
class Webhook:
    """A configured HTTP endpoint returns the plan. `webhook`: its name in the configuration."""

    name: ClassVar[str] = "webhook"

    webhook: str


@dataclass(frozen=True, slots=True)
class Consumer:
    """A named consumer compacts. `consumer`: its name in the tenant."""

    name: ClassVar[str] = "consumer"

    consumer: str


AnyStrategy = Strategy | Webhook | Consumer
"""What a policy may name."""
