"""What every vendor's adapter takes and gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class EmbeddingModel(Protocol):
    """A model of some vendor."""

    async def embed(self, texts: Sequence[str], *, query: bool) -> Sequence[Sequence[float]]:
        """Asks once: a vector for each text, in their order, unchecked otherwise. Raises ProviderError."""
        ...

    async def aclose(self) -> None: ...
