"""Calls of an embedder. `_embedding_aio` is the asynchronous counterpart."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .tool_index import checked_vectors

Vectors = Sequence[Sequence[float]]
Embedder = Callable[[Sequence[str]], Vectors]
"""Returns one vector per text, all of one length."""


def embedded(embedder: Embedder, texts: Sequence[str]) -> list[tuple[float, ...]]:
    """Returns unit vectors. Raises ValueError for invalid vectors, TypeError for an awaitable, and the embedder's errors."""
    found: Any = embedder(texts)
    if inspect.isawaitable(found):
        if inspect.iscoroutine(found):
            found.close()
        raise TypeError("the embedder is a coroutine function, which cannot be awaited here; use AsyncEmbeddingToolIndex")
    return checked_vectors(found, len(texts))
