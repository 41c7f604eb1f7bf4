"""Calls of an embedder. `_embedding_threads` is the synchronous counterpart."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ..runtime.threads import in_new_thread
from .tool_index import checked_vectors

Vectors = Sequence[Sequence[float]]
Embedder = Callable[[Sequence[str]], Vectors | Awaitable[Vectors]]
"""Returns one vector per text, all of one length. A plain function runs in a thread."""


async def embedded(embedder: Embedder, texts: Sequence[str]) -> list[tuple[float, ...]]:
    """Returns unit vectors. Raises ValueError for invalid vectors, and the errors of the embedder."""
    found: Any
    if inspect.iscoroutinefunction(embedder) or inspect.iscoroutinefunction(getattr(embedder, "__call__", None)):  # noqa: B004
        found = embedder(texts)
    else:
        found = await asyncio.wrap_future(in_new_thread(lambda: embedder(texts)))
    return checked_vectors(await found if inspect.isawaitable(found) else found, len(texts))
