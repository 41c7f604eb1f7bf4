"""The protocol of the providers' adapters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class EmbeddingModel(Protocol):
    """A model of a provider."""

    async def embed(self, texts: Sequence[str], *, query: bool) -> Sequence[Sequence[float]]:
        """Sends one request. Returns one vector per text in their order, otherwise unchecked. Raises ProviderError."""
        ...

    async def aclose(self) -> None: ...
