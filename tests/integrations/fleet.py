"""Builds the programs of the fleet that `make example-fleet-all` runs."""

from __future__ import annotations

from tests.integrations import go, java, rust, typescript
from tests.integrations.environments import made


def build() -> None:
    """Builds the agents of all languages, with their frameworks."""
    made("openai_agents", "newest")
    typescript.build()
    go.build("langchaingo")
    java.build()
    rust.build()
