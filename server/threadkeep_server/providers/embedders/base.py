"""The embedder protocol and its error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class EmbedFailed(Exception):
    """The texts were not embedded. `problem` may be shown to a client: it contains no key, address or text of the vendor.

    `retry`: a later attempt may succeed, not before `retry_after` seconds (0.0: the endpoint gave none). Without `retry` the
    endpoint rejects the texts or the key; one text of the batch may be the cause.
    """

    def __init__(self, problem: str, *, retry: bool = False, retry_after: float = 0.0) -> None:
        super().__init__(problem)
        self.problem = problem
        self.retry = retry
        self.retry_after = retry_after


class Embedder(Protocol):
    """Embeds texts. Several tasks of one event loop may use it at the same time."""

    @property
    def model(self) -> str:
        """The name stored with each vector, such as `hashing-v1-384` or `openai:text-embedding-3-small:512`. Only vectors of
        the same model can be compared."""
        ...

    @property
    def dimension(self) -> int:
        """The dimension of the vectors. 0: unknown before the first response."""
        ...

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """Returns (len(texts), dimension) float32, one row of length 1 per text. `query`: the texts are queries.

        The row of a text without content is zeros; blank texts are not sent. If the dimension is unknown and all texts are
        blank, the shape is (len(texts), 0). Any number of texts is sent in batches; a failed batch fails the call. Raises
        EmbedFailed; cancellation ends the request at once.
        """
        ...

    async def aclose(self) -> None:
        """Closes the connections. The embedder cannot be used afterwards."""
        ...
