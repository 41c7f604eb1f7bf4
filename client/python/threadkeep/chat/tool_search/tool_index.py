"""Rankings of tools by words and by vectors, and the fingerprint of a set of tools."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import mul

from ..tools.tool import ToolDefinition

# The usual constants of BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009).
_SATURATION, _LENGTH = 1.2, 0.75
_NAME_WEIGHT = 3
"""Weight of a word in a tool's name, relative to its description."""
_PREFIX_WEIGHT = 0.5
_PREFIX_CHARACTERS = 3
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


def fingerprint(definitions: Iterable[ToolDefinition]) -> str:
    """Returns the SHA-256, in hexadecimal, of the names and descriptions, in any order of the tools."""
    digest = hashlib.sha256()
    for each in sorted((each.name, each.description) for each in definitions):
        for text in each:
            encoded = text.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.hexdigest()


def text_of(definition: ToolDefinition) -> str:
    """Returns the text of a tool that is embedded."""
    return f"{' '.join(_HUMP.sub(' ', definition.name).replace('_', ' ').split())}: {definition.description}"


def words(text: str) -> list[str]:
    """Returns the words of a text for comparison: case folded, CamelCase split, English endings removed; for scripts without
    spaces, pairs of adjacent characters."""
    found: list[str] = []
    for word in _WORD.findall(_HUMP.sub(" ", unicodedata.normalize("NFKC", text))):
        rest = word.casefold()
        for run in _UNSPACED.findall(rest):
            found += [run[at : at + 2] for at in range(max(1, len(run) - 1))]
        found += [_stem(each) for each in _UNSPACED.split(rest) if each]
    return found


class KeywordRanking:
    """Ranks tools by the words that they share with a query (BM25). A query word without a match counts as a prefix."""

    def __init__(self, definitions: Iterable[ToolDefinition]) -> None:
        self._counts = {each.name: Counter(words(each.name) * _NAME_WEIGHT + words(each.description)) for each in definitions}
        self._lengths = {name: counts.total() for name, counts in self._counts.items()}
        self._mean = sum(self._lengths.values()) / max(1, len(self._lengths)) or 1.0
        self._tools_with = Counter(word for counts in self._counts.values() for word in counts)

    def best(self, query: str, limit: int) -> tuple[str, ...]:
        """Returns at most `limit` names, best first, of tools that share a word with the query."""
        scores: dict[str, float] = {}
        for word, weight in self._expanded(query):
            rarity = math.log(1 + (len(self._counts) - self._tools_with[word] + 0.5) / (self._tools_with[word] + 0.5))
            for name, counts in self._counts.items():
                if often := counts[word]:
                    norm = 1 - _LENGTH + _LENGTH * self._lengths[name] / self._mean
                    score = weight * rarity * often * (_SATURATION + 1) / (often + _SATURATION * norm)
                    scores[name] = scores.get(name, 0.0) + score
        return best_of(scores, limit)

    def _expanded(self, query: str) -> Iterator[tuple[str, float]]:
        for word in dict.fromkeys(words(query)):
            if word in self._tools_with:
                yield word, 1.0
            elif len(word) >= _PREFIX_CHARACTERS:
                yield from ((known, _PREFIX_WEIGHT) for known in self._tools_with if known.startswith(word))


def unit(vector: Sequence[float]) -> tuple[float, ...]:
    """Returns the vector with length 1; zeros stay zeros. Raises ValueError if a number is not finite."""
    values = tuple(float(value) for value in vector)
    if not all(math.isfinite(value) for value in values):
        raise ValueError("the embedder returned a vector with a number that is not finite")
    length = math.hypot(*values)
    return tuple(value / length for value in values) if length else values


def checked_vectors(vectors: Sequence[Sequence[float]], texts: int) -> list[tuple[float, ...]]:
    """Returns unit vectors. Raises ValueError unless there is one per text, all of one length."""
    units = [unit(vector) for vector in vectors]
    if len(units) != texts or len({len(each) for each in units}) > 1:
        raise ValueError(f"the embedder must return {texts} vectors of one length, for {texts} texts; it returned {len(units)}")
    return units


class Vector:
    """The vector of one text, shared by rankings."""

    __slots__ = ("__weakref__", "values")

    def __init__(self, values: tuple[float, ...]) -> None:
        self.values = values


class VectorRanking:
    """Ranks tools by the cosine of their vectors with a query's. All are unit vectors."""

    def __init__(self, vectors: Mapping[str, Vector]) -> None:
        self._vectors = dict(vectors)

    def best(self, query: Sequence[float], limit: int, threshold: float) -> tuple[str, ...]:
        """Returns at most `limit` names, best first, with a cosine above `threshold`. Raises ValueError if the query has
        another length than the tools."""
        if any(len(each.values) != len(query) for each in self._vectors.values()):
            raise ValueError(f"the embedder returned a vector of length {len(query)} for a query, and others for the tools")
        cosines = {name: sum(map(mul, each.values, query)) for name, each in self._vectors.items()}
        return best_of({name: cosine for name, cosine in cosines.items() if cosine > threshold}, limit)


def best_of(scores: Mapping[str, float], limit: int) -> tuple[str, ...]:
    """Returns names by score, then by name."""
    return tuple(sorted(scores, key=lambda name: (-scores[name], name))[:limit])


def _stem(word: str) -> str:
    """Removes the most frequent English endings: "books", "booked" and "booking" become one word."""
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word[:-1] if len(word) > 2 and word.endswith("e") else word
