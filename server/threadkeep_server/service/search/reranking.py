"""The order of the best documents by a reranker."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Protocol

from ...domain.search import Scored
from ...providers.rerankers.base import Reranker, RerankFailed

_log = logging.getLogger(__name__)


class Readable(Protocol):
    """Documents that can be read."""

    async def texts(self, keys: Sequence[int]) -> Mapping[int, str]:
        """Returns the searched text of each document that still exists, by key."""
        ...


async def reranked(
    documents: Readable, reranker: Reranker, question: str, scored: Sequence[Scored]
) -> tuple[Sequence[Scored], bool]:
    """Returns the documents with the best of them in the order of the reranker, and whether it failed; then the order is as
    before. The scores of the ranking stay in their places, the relevance stays with its document."""
    best = scored[: reranker.top]
    texts = await documents.texts([each.key for each in best]) if len(best) > 1 else {}
    readable = [each for each in best if texts.get(each.key, "").strip()]
    if len(readable) < 2:
        return scored, False
    try:
        scores = await reranker.scores(question, [texts[each.key] for each in readable])
    except RerankFailed as failed:
        _log.warning("answering without the reranker: it %s", failed.problem)
        return scored, True
    by_key = {each.key: score for each, score in zip(readable, scores, strict=True)}
    # Documents without text keep their places.
    order = iter(sorted(readable, key=lambda each: -by_key[each.key]))
    moved = [next(order) if each.key in by_key else each for each in best]
    placed = [each._replace(score=place.score) for each, place in zip(moved, best, strict=True)]
    return [*placed, *scored[len(best) :]], False
