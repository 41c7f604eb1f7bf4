"""The contract of what turns texts into vectors, and how it fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class EmbedFailed(Exception):
    """There are no vectors. `problem` is fit for a client: no key, no address, and no word that the vendor wrote.

    `retry`: the same texts may well be embedded later; not before `retry_after` seconds, if the endpoint said so (0.0: it did
    not). Without `retry` the endpoint refuses these texts or this key: one text among many may be what it refuses.
    """

    def __init__(self, problem: str, *, retry: bool = False, retry_after: float = 0.0) -> None:
        super().__init__(problem)
        self.problem = problem
        self.retry = retry
        self.retry_after = retry_after


class Embedder(Protocol):
    """Turns texts into vectors. Safe to use from any number of tasks of one event loop."""

    @property
    def model(self) -> str:
        """What is stored with each vector, as in `hashing-v1-384` or `openai:text-embedding-3-small:512`. Vectors can be
        compared if their models are the same."""
        ...

    @property
    def dimension(self) -> int:
        """Numbers in a vector. 0: not known before the first answer."""
        ...

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """A row of (len(texts), dimension) float32 for each text, of length 1. `query`: these are questions.

        A text without anything to embed has a row of zeros, which resembles nothing; nobody is asked about a blank one. If
        the dimension is not known yet and all texts are blank, the shape is (len(texts), 0). Any number of texts may be given;
        they are asked for in batches, and one that fails fails them all. Raises EmbedFailed; cancelling it ends the request
        at once.
        """
        ...

    async def aclose(self) -> None:
        """Closes the connections. Nothing may be embedded afterwards."""
        ...
