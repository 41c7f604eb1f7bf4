"""The reranker protocols and their error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class RerankFailed(Exception):
    """The documents were not scored. `problem` contains no key, address or text."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class RerankingModel(Protocol):
    """A model of a provider, without limits."""

    async def scores(self, query: str, documents: Sequence[str]) -> Sequence[float]:
        """Returns one finite score per document, the higher the better. Raises ProviderError."""
        ...

    async def aclose(self) -> None: ...


@dataclass(slots=True)
class RerankCounts:
    """`answers`: queries that were reranked or not since the start; `failures`: those that were not."""

    answers: int = 0
    failures: int = 0


class Reranker(Protocol):
    """Scores documents for queries. Several tasks of one event loop may use it at the same time."""

    @property
    def top(self) -> int:
        """The number of documents of a query that are scored, at most."""
        ...

    @property
    def max_characters(self) -> int:
        """Characters of a document that are scored."""
        ...

    async def scores(self, query: str, documents: Sequence[str]) -> Sequence[float]:
        """Returns one finite score per document, the higher the better, within the deadline. Raises RerankFailed."""
        ...
