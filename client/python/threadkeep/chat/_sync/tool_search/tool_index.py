# Generated from _async by `make sync-client`. Do not edit.
"""Indexes of tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable
from weakref import WeakValueDictionary

from ...tool_search._embedding_threads import Embedder, embedded
from ...tool_search.tool_index import KeywordRanking, Vector, VectorRanking, fingerprint, text_of
from ...tools.tool import ToolDefinition


@runtime_checkable
class ToolIndex(Protocol):
    """Sets of tools, each under a key. Called by many requests at the same time."""

    def put(self, key: str, tools: Sequence[ToolDefinition]) -> None:
        """Stores a set, replacing an earlier one."""

    def find(self, key: str, query: str, limit: int) -> tuple[str, ...]:
        """Returns at most `limit` names of matching tools, best first; nothing for an unknown key."""

    def drop(self, key: str) -> None:
        """Removes a set. Unknown keys are ignored."""


class KeywordToolIndex:
    """Searches the words of names and descriptions, in this process; see `KeywordRanking`. Equal sets are stored once."""

    def __init__(self) -> None:
        self._sets: dict[str, KeywordRanking] = {}
        self._shared: WeakValueDictionary[str, KeywordRanking] = WeakValueDictionary()

    def put(self, key: str, tools: Sequence[ToolDefinition]) -> None:
        same = fingerprint(tools)
        self._sets[key] = self._shared.get(same) or self._shared.setdefault(same, KeywordRanking(tools))

    def find(self, key: str, query: str, limit: int) -> tuple[str, ...]:
        found = self._sets.get(key)
        return found.best(query, limit) if found else ()

    def drop(self, key: str) -> None:
        self._sets.pop(key, None)


class EmbeddingToolIndex:
    """Searches by meaning, in this process: the cosine between the vectors of the query and of a tool's name and description.

    `embedder`: returns one vector per text. Equal sets and vectors are stored once; the embedder is called only for new texts.
    `threshold`: tools need a cosine above it.
    """

    def __init__(self, embedder: Embedder, *, threshold: float = 0.0) -> None:
        """Raises ValueError for a threshold outside of -1 to 1. `put` and `find` raise it for invalid vectors."""
        if not -1 <= threshold <= 1:
            raise ValueError(f"threshold: between -1 and 1, not {threshold}")
        self._embedder = embedder
        self._threshold = threshold
        self._sets: dict[str, VectorRanking] = {}
        self._shared: WeakValueDictionary[str, VectorRanking] = WeakValueDictionary()
        self._vectors: WeakValueDictionary[str, Vector] = WeakValueDictionary()

    def put(self, key: str, tools: Sequence[ToolDefinition]) -> None:
        same = fingerprint(tools)
        ranking = self._shared.get(same) or self._ranking(tools)
        self._sets[key] = self._shared.setdefault(same, ranking)

    def find(self, key: str, query: str, limit: int) -> tuple[str, ...]:
        found = self._sets.get(key)
        if found is None:
            return ()
        [vector] = embedded(self._embedder, [query])
        return found.best(vector, limit, self._threshold)

    def drop(self, key: str) -> None:
        self._sets.pop(key, None)

    def _ranking(self, tools: Sequence[ToolDefinition]) -> VectorRanking:
        texts = {each.name: text_of(each) for each in tools}
        vectors = {text: held for text in texts.values() if (held := self._vectors.get(text)) is not None}
        new = [text for text in dict.fromkeys(texts.values()) if text not in vectors]
        found = embedded(self._embedder, new) if new else []
        vectors |= {text: self._vectors.setdefault(text, Vector(each)) for text, each in zip(new, found, strict=True)}
        return VectorRanking({name: vectors[text] for name, text in texts.items()})
