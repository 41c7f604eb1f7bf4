"""Local, deterministic vectors without a model: hashed words and character n-grams.

Feature hashing with signs follows Weinberger et al., "Feature Hashing for Large Scale Multitask Learning" (2009); character
n-grams with marks at a word's ends follow Bojanowski et al., "Enriching Word Vectors with Subword Information" (2017).
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..sent_text import usable
from .base import Vectors

# Part of the model's name. A change of the following code that changes a vector must change it.
NAME = "hashing"
"""Begins the name of the model."""

_VERSION = "v1"

# Latin, Greek and Cyrillic accents, Hebrew points and Arabic vowels. The marks of other scripts are like letters.
_MARKS = re.compile("[\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
# Scripts without spaces between words, and Korean, whose spaces separate more than words: Thai, Lao, Burmese, Khmer, Japanese,
# Chinese, Hangul.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
# A run of such a script; or a word with the vowel signs of Indic scripts, which `\w` excludes; or one symbol or emoji.
_TOKENS = re.compile(
    rf"[{_UNSPACED}]+|(?:[^\W_{_UNSPACED}]|[\u0900-\u0dff])+|[\u2190-\u2bff\U0001f000-\U0001faff]",
)
_RUN = re.compile(f"[{_UNSPACED}]")
# A longer word (base64, a URL without punctuation) has n-grams of its beginning only; the whole still counts as a word.
_SPELT = 32
# Weights of n-grams by size. Short ones tolerate typos; long ones separate words with the same beginning.
_WEIGHTS = {3: 1.0, 4: 0.75, 5: 0.5}
_WORD_WEIGHT = 1.0
_CACHED_BYTES = 12 << 20
# Characters after which the event loop runs other tasks: about a millisecond.
_TURN = 6_000


class HashingEmbedder:
    """A local Embedder. The cosine of texts that share words, or words with a similar spelling, is well above 0; of other texts
    near 0, within about `dimension ** -0.5`. Does not capture meaning: "car" and "automobile" have nothing in common."""

    def __init__(self, dimension: int = 384, *, max_characters: int = 8_000) -> None:
        self._words = _WordVectors(dimension)
        self._dimension = dimension
        self._max_characters = max_characters

    @property
    def model(self) -> str:
        return f"{NAME}-{_VERSION}-{self._dimension}"

    @property
    def dimension(self) -> int:
        return self._dimension

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        vectors = np.zeros((len(texts), self._dimension), np.float32)
        since = 0
        for row, text in enumerate(texts):
            vectors[row] = self.vector(text)
            since += len(text)
            if since > _TURN:
                since = 0
                await asyncio.sleep(0)
        return vectors

    def vector(self, text: str) -> NDArray[np.float32]:
        """Returns (dimension,) of length 1; zeros for a text without words and symbols."""
        counts = Counter(tokens(usable(text, self._max_characters)))
        if not counts:
            return np.zeros(self._dimension, np.float32)
        # Ten occurrences weigh about three times as much as one.
        weights = 1 + np.log(np.fromiter(counts.values(), np.float32, len(counts)))
        rows = self._words.of(list(counts))
        # Not a matrix product: its rounding depends on the machine.
        vector: NDArray[np.float32] = (rows * weights[:, None]).sum(axis=0)
        length = np.sqrt(np.square(vector).sum())
        if length > 0:
            vector /= length
        return vector

    async def aclose(self) -> None:
        """Nothing to close."""


def tokens(text: str) -> list[str]:
    """Returns folded words, without case, accents and compatibility forms. Of a run of a script without spaces: each character
    and each pair of neighbors."""
    found = _TOKENS.findall(folded(text))
    if text.isascii():
        return found
    result: list[str] = []
    for token in found:
        if _RUN.match(token):
            result.extend(token)
            result.extend(first + second for first, second in pairwise(token))
        else:
            result.append(token)
    return result


def folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFC", bare)


class _WordVectors:
    """Vectors of words before scaling, with a cache."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._capacity = max(256, _CACHED_BYTES // (4 * dimension))
        self._rows: dict[str, int] = {}
        self._matrix = np.zeros((256, dimension), np.float32)

    def of(self, words: list[str]) -> Vectors:
        """(len(words), dimension)."""
        rows = self._rows
        if missing := [word for word in words if word not in rows]:
            if len(rows) + len(missing) > self._capacity:
                rows.clear()  # frequent words return soon
                missing = words
            if len(missing) > self._capacity:
                return self._made(words)
            self._remember(missing)
        return self._matrix[[rows[word] for word in words]]

    def _remember(self, words: list[str]) -> None:
        begin, end = len(self._rows), len(self._rows) + len(words)
        if end > len(self._matrix):
            grown = np.zeros((min(self._capacity, max(end, 2 * len(self._matrix))), self._dimension), np.float32)
            grown[:begin] = self._matrix[:begin]
            self._matrix = grown
        self._matrix[begin:end] = self._made(words)
        self._rows.update(zip(words, range(begin, end), strict=True))

    def _made(self, words: list[str]) -> Vectors:
        hashes: list[int] = []
        strengths: list[float] = []
        sizes: list[int] = []
        for word in words:
            before = len(hashes)
            for feature, strength in _features(word):
                hashes.append(feature)
                strengths.append(strength)
            sizes.append(len(hashes) - before)
        mixed = _mixed(np.array(hashes, np.uint64))
        weights = np.where(mixed & np.uint64(1), 1.0, -1.0) * np.array(strengths)
        buckets = ((mixed >> np.uint64(1)) % np.uint64(self._dimension)).astype(np.int64)
        places = np.repeat(np.arange(len(words)), sizes) * self._dimension + buckets
        summed = np.bincount(places, weights, minlength=len(words) * self._dimension)
        return summed.reshape(len(words), self._dimension).astype(np.float32)


def _features(word: str) -> Iterator[tuple[int, float]]:
    """Yields 32-bit hashes and weights of the word and of its n-grams, with a mark at each end of the word."""
    crc = zlib.crc32
    yield crc(word.encode(), 1), _WORD_WEIGHT
    if _RUN.match(word):
        return
    raw = f"<{word[:_SPELT]}>".encode("utf-32-le")  # four bytes for each character: n-grams are slices
    for size, weight in _WEIGHTS.items():
        for begin in range(0, len(raw) - 4 * size + 1, 4):
            yield crc(raw[begin : begin + 4 * size], size), weight


def _mixed(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mixes CRCs with the finisher of MurmurHash3: CRCs of similar texts differ in a regular way."""
    low = np.uint64(0xFFFFFFFF)
    hashes = hashes ^ (hashes >> np.uint64(16))
    hashes = (hashes * np.uint64(0x85EBCA6B)) & low
    hashes = hashes ^ (hashes >> np.uint64(13))
    hashes = (hashes * np.uint64(0xC2B2AE35)) & low
    return hashes ^ (hashes >> np.uint64(16))
