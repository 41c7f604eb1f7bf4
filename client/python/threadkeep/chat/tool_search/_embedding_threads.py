"""Asking an embedder for callers that block; `_embedding_aio` is the same for those that await."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .tool_index import checked_vectors

Vectors = Sequence[Sequence[float]]
Embedder = Callable[[Sequence[str]], Vectors]
"""One vector for each text, all of one length."""


def embedded(embedder: Embedder, texts: Sequence[str]) -> list[tuple[float, ...]]:
    """Unit vectors. Raises ValueError for what are none, TypeError for what has to be awaited, and what the embedder raises."""
    found: Any = embedder(texts)
    if inspect.isawaitable(found):
        if inspect.iscoroutine(found):
            found.close()
        raise TypeError("the embedder is a coroutine function, which nobody awaits here; use AsyncEmbeddingToolIndex")
    return checked_vectors(found, len(texts))
