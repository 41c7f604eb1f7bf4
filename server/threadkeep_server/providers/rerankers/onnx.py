"""A local cross-encoder in the ONNX format."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import ProviderError
from ..onnx.model import TEXTS_AT_ONCE, OnnxModel, first_line, open_model
from .options import RerankerOptions


class OnnxCrossEncoder:
    """A model that scores pairs of a query and a document. Its answer has one number per pair, or two, of which the second is
    of a relevant pair. Scores one pair at once. Raises ValueError if the model gives no such scores."""

    def __init__(self, model: OnnxModel) -> None:
        self._model = model
        try:
            self._scored([("probe", "probe")])
        except Exception as error:
            raise ValueError(f"the reranker's model cannot score a pair of texts: {first_line(error)}") from None

    async def scores(self, query: str, documents: Sequence[str]) -> Sequence[float]:
        found: list[float] = []
        # In parts, so that a call that ends at its deadline leaves little work behind.
        for start in range(0, len(documents), TEXTS_AT_ONCE):
            pairs = [(query, document) for document in documents[start : start + TEXTS_AT_ONCE]]
            found += await self._model.call(self._scored, pairs)
        if not np.isfinite(found).all():
            raise ProviderError("gave a score that is no number")
        return found

    async def aclose(self) -> None:
        self._model.close()

    def _scored(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        output, _ = self._model.run(pairs, 0)
        if output.ndim != 2 or output.shape[1] not in (1, 2):
            raise ValueError(f"it gives {output.shape} numbers; use a cross-encoder with one score")
        scores = output[:, 0] if output.shape[1] == 1 else output[:, 1] - output[:, 0]
        return [float(score) for score in scores]


def open_cross_encoder(options: RerankerOptions) -> OnnxCrossEncoder:
    """Raises ValueError."""
    model = open_model(options.path, whose="the reranker", max_tokens=options.max_tokens, threads=options.threads)
    try:
        return OnnxCrossEncoder(model)
    except ValueError:
        model.close()
        raise
