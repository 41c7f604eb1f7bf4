"""Embeddings of a local model in the ONNX format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..onnx.model import TEXTS_AT_ONCE, Mask, OnnxModel, first_line, open_model
from .options import MAX_DIMENSIONS, EmbedderOptions

_POOLED = "sentence_embedding"
"""The output of models that were exported with their pooling."""


class OnnxEmbeddings:
    """A model of a directory. `pooling`: mean, cls or last; empty if the model pools itself. Embeds one text at once, to learn
    the dimension. Raises ValueError if the model gives no vectors."""

    def __init__(self, model: OnnxModel, pooling: str) -> None:
        self._model = model
        own = _POOLED in model.outputs and not pooling
        self.pooling = "own" if own else pooling or "mean"
        self._output = model.outputs.index(_POOLED) if own else 0
        try:
            probe = self._vectors(["probe"])
        except Exception as error:
            raise ValueError(f"the embedder's model cannot embed a text: {first_line(error)}") from None
        if probe.ndim != 2 or not 0 < probe.shape[1] <= MAX_DIMENSIONS or not np.isfinite(probe).all():
            raise ValueError("the embedder's model gives no vectors; use a model of sentence embeddings, exported to ONNX")
        self.dimension = int(probe.shape[1])

    async def embed(self, texts: Sequence[str], *, query: bool) -> Sequence[Sequence[float]]:
        found: NDArray[np.float32] = await self._model.call(self._vectors, list(texts))
        return found  # type: ignore[return-value]  # rows of numbers, without a copy as lists

    async def aclose(self) -> None:
        self._model.close()

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        output, mask = self._model.run(texts, self._output)
        return pooled(output, mask, self.pooling) if output.ndim == 3 else output


def pooled(tokens: NDArray[np.float32], mask: Mask, pooling: str) -> NDArray[np.float32]:
    """Returns (n, dimension) of the vectors (n, tokens, dimension): the mean over the mask, unless `pooling` is "cls", the
    first token, or "last"."""
    if pooling == "cls":
        return tokens[:, 0]
    if pooling == "last":
        last = np.maximum(mask.sum(axis=1) - 1, 0)
        chosen: NDArray[np.float32] = tokens[np.arange(len(tokens)), last]
        return chosen
    weights = mask[:, :, None].astype(np.float32)
    found: NDArray[np.float32] = (tokens * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-9)
    return found


def open_onnx(options: EmbedderOptions) -> tuple[OnnxEmbeddings, EmbedderOptions]:
    """Returns the model, and the options completed by what its directory says. Raises ValueError."""
    model = open_model(options.path, whose="the embedder", max_tokens=options.max_tokens, threads=options.threads)
    files = model.files
    try:
        embeddings = OnnxEmbeddings(model, options.pooling or files.pooling)
        if options.dimensions not in (0, embeddings.dimension):
            given = embeddings.dimension
            raise ValueError(f"the embedder's model gives {given} dimensions; set its dimensions to {given}, or leave them out")
    except ValueError:
        model.close()
        raise
    completed = replace(
        options,
        model=f"{files.folder.resolve().name}:{files.digest()}:{embeddings.pooling}:{model.max_tokens}",
        dimensions=embeddings.dimension,
        query_prefix=options.query_prefix or files.query_prefix,
        document_prefix=options.document_prefix or files.document_prefix,
        batch=min(options.batch, TEXTS_AT_ONCE),
    )
    return embeddings, completed
