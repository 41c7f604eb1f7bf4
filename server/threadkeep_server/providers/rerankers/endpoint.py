"""Endpoints of the form of Cohere and Jina, which other servers speak too, such as vLLM and Text Embeddings Inference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..errors import ProviderError
from ..http import ModelClient, provider_errors

_MAX_ANSWER_BYTES = 4 << 20


class RerankEndpoint:
    """One model behind `POST {base_url}/rerank`."""

    def __init__(self, *, model: str, base_url: str, api_key: str) -> None:
        self._model = model
        self._url = base_url.rstrip("/") + "/rerank"
        self._headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._http = ModelClient(base_url, max_answer_bytes=_MAX_ANSWER_BYTES)

    async def scores(self, query: str, documents: Sequence[str]) -> Sequence[float]:
        request = {"model": self._model, "query": query, "documents": list(documents), "top_n": len(documents)}
        with provider_errors():
            answer = await self._http.post(self._url, json=request, headers=self._headers)
            return read_scores(answer.json(), len(documents))

    async def aclose(self) -> None:
        await self._http.aclose()


def read_scores(answer: Any, count: int) -> list[float]:
    """Returns the scores of `count` documents. Raises ProviderError unless there is one finite score for each."""
    results = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(results, list) or len(results) != count:
        raise ProviderError("did not give one score for each document")
    scores: dict[int, float] = {}
    for result in results:
        index, score = (result.get("index"), result.get("relevance_score")) if isinstance(result, dict) else (None, None)
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < count:
            raise ProviderError("gave an index of no document")
        if isinstance(score, bool) or not isinstance(score, int | float) or not _finite(score):
            raise ProviderError("gave a score that is no number")
        scores[index] = float(score)
    if len(scores) != count:
        raise ProviderError("did not give one score for each document")
    return [scores[index] for index in range(count)]


def _finite(score: float) -> bool:
    try:
        return math.isfinite(float(score))
    except OverflowError:  # an integer of hundreds of digits
        return False
