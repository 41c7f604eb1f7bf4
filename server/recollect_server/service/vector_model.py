"""Which model the server embeds with."""

from __future__ import annotations

from ..embedder.base import Embedder
from ..store.recall import RecallStore


class VectorModel:
    """The embedder, and the number that the store has given to its model."""

    def __init__(self, store: RecallStore, embedder: Embedder) -> None:
        self.embedder = embedder
        self._store = store
        self._number: int | None = None

    async def number(self) -> int:
        """The store's number of the model. Where the dimension is not known, a probe is embedded first: raises EmbedFailed while
        the endpoint does not answer."""
        raise NotImplementedError
