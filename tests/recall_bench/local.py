"""Local models for the benchmark without a server: an embedder, packaged or of a directory, and a cross-encoder."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.support.models.local_model import local_model
from threadkeep_server.domain.search import Texts
from threadkeep_server.providers.embedders.base import Embedder
from threadkeep_server.providers.embedders.factory import open_embedder
from threadkeep_server.providers.embedders.options import EmbedderOptions
from threadkeep_server.providers.rerankers.onnx import OnnxCrossEncoder, open_cross_encoder
from threadkeep_server.providers.rerankers.options import RerankerOptions

from .model import Conversation, Question

PACKAGED = "packaged"
"""The small model that is installed for the tests."""

RERANKED = 50

Answer = Callable[[Question], list[str]]
Method = Callable[[Conversation], Answer]


class LocalModel:
    """An embedder of a directory, or PACKAGED."""

    def __init__(self, path: str) -> None:
        self._embedder = _opened(path)
        self._known: dict[tuple[str, bool], NDArray[np.float32]] = {}

    def vector(self, text: str) -> NDArray[np.float32]:
        """Returns the embedding of a question."""
        return self._vector(text, query=True)

    def document(self, text: str) -> NDArray[np.float32]:
        """Returns the embedding of a turn."""
        return self._vector(text, query=False)

    def _vector(self, text: str, *, query: bool) -> NDArray[np.float32]:
        if (text, query) not in self._known:
            self._known[text, query] = asyncio.run(self._embedder.embed([text], query=query))[0]
        return self._known[text, query]


@cache
def _opened(path: str) -> Embedder:
    with tempfile.TemporaryDirectory() as folder:
        where = str(local_model(Path(folder) / "minilm")) if path == PACKAGED else path
        embedder = open_embedder(EmbedderOptions(provider="onnx", path=where, timeout=600.0, deadline=600.0))
    assert embedder is not None
    return embedder


def reranked(method: Method, path: str) -> Method:
    """The method with its best 50 in the order of the cross-encoder of a directory, without a deadline."""

    def wrapped(conversation: Conversation) -> Answer:
        reranker, limit = _reranker(path), RerankerOptions(provider="").max_characters
        inner = method(conversation)
        texts = {turn.id: Texts(turn.text, turn.calls, turn.results, turn.media).of() for _, turn in conversation.turns()}

        def answer(question: Question) -> list[str]:
            ids = inner(question)
            best, others = ids[:RERANKED], ids[RERANKED:]
            scores = asyncio.run(reranker.scores(question.text, [texts[each][:limit] for each in best]))
            order = sorted(range(len(best)), key=lambda place: -scores[place])
            return [best[place] for place in order] + others

        return answer

    return wrapped


@cache
def _reranker(path: str) -> OnnxCrossEncoder:
    return open_cross_encoder(RerankerOptions(provider="onnx", path=path))
