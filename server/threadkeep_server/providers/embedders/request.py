"""What every vendor's adapter takes and gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class VectorModel(Protocol):
    """A model of some vendor."""

    async def ask(self, texts: Sequence[str], *, query: bool) -> Sequence[Sequence[float]]:
        """Asks once: a vector for each text, in their order, unchecked otherwise. Raises AskFailed."""
        ...

    async def aclose(self) -> None: ...
