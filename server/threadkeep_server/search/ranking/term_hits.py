"""The places of terms in candidates, which ranking counts, for all candidates at once.

Terms are compared by a 64-bit hash of their bytes (a polynomial modulo 2**64, so that one running sum gives the hashes of all
terms): no Python code runs per candidate. The probability of a collision is about 1 in 2**40, and a collision only affects the
rank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Hashes = NDArray[np.uint64]

FIELDS = 5
"""The number of fields of Words: text, calls, results, media, dates."""

_BLANK, _LINE_FEED = 32, 10
_BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2**64
_INVERSE = pow(_BASE, -1, 1 << 64)
# The data of one step fits into the processor's cache.
_BLOCK_BYTES = 1 << 16
_BLOCK_TOKENS = 1 << 15


@dataclass(frozen=True, slots=True)
class Tokens:
    """The terms of candidates, one after the other.

    - hashes: the hash of each term.
    - field: for each term, candidate * FIELDS + field.
    - lengths: the number of terms of each field; candidates x FIELDS.
    """

    hashes: Hashes
    field: Ints
    lengths: Floats


@dataclass(frozen=True, slots=True)
class Hits:
    """The places of wanted terms, in order. `at`: index of the token; `term`: index of the wanted term; `field`: as in
    Tokens."""

    at: Ints
    term: Ints
    field: Ints


def read(words: Sequence[str]) -> Tokens:
    """Returns the terms of candidates from their `words` (terms separated by blanks, fields by line feeds). Raises ValueError
    if a candidate does not have FIELDS fields."""
    data = np.frombuffer(("\n".join(words) + " ").encode("utf-8", "surrogatepass"), np.uint8)
    cuts = np.flatnonzero((data == _BLANK) | (data == _LINE_FEED))
    feeds = data[cuts] == _LINE_FEED
    if int(feeds.sum()) + 1 != FIELDS * len(words):
        raise ValueError(f"every candidate has {FIELDS} fields, separated by line feeds")
    starts = np.concatenate(([0], cuts[:-1] + 1))
    field = np.concatenate(([0], np.cumsum(feeds[:-1])))
    full = cuts > starts
    field = field[full]
    lengths = np.bincount(field, minlength=FIELDS * len(words)).reshape(-1, FIELDS).astype(np.float64)
    return Tokens(_numbers(data, starts, cuts)[full], field, lengths)


def joined(one: Tokens, other: Tokens) -> Tokens:
    """Returns the terms of the candidates of both, those of `one` first."""
    return Tokens(
        np.concatenate((one.hashes, other.hashes)),
        np.concatenate((one.field, other.field + one.lengths.size)),
        np.concatenate((one.lengths, other.lengths)),
    )


def hashes(terms: Iterable[str]) -> Hashes:
    """Returns the hashes of single terms, in their order. A term contains no white space and is not empty."""
    data = np.frombuffer((" ".join(terms) + " ").encode("utf-8", "surrogatepass"), np.uint8)
    cuts = np.flatnonzero(data == _BLANK)
    return _numbers(data, np.concatenate(([0], cuts[:-1] + 1)), cuts)


def find(tokens: Tokens, wanted: Hashes) -> Hits:
    """Finds the wanted terms. Suited to tens of them: each is one pass over the tokens."""
    places, sizes = [np.empty(0, np.int64)], []
    for begin in range(0, len(tokens.hashes), _BLOCK_TOKENS):
        block = tokens.hashes[begin : begin + _BLOCK_TOKENS]
        found = [np.flatnonzero(block == number) + begin for number in wanted]
        places += found
        sizes += [len(place) for place in found]
    at = np.concatenate(places)
    term = np.repeat(np.resize(np.arange(len(wanted)), len(sizes)), sizes)
    order = np.argsort(at, kind="stable")
    at, term = at[order], term[order]
    return Hits(at, term, tokens.field[at])


def count(hits: Hits, terms: int, candidates: int, weights: Sequence[float]) -> Floats:
    """Counts each term in each candidate, fields by their weights: terms x candidates."""
    cells = hits.term * candidates + hits.field // FIELDS
    counted = np.bincount(cells, np.asarray(weights, np.float64)[hits.field % FIELDS], terms * candidates)
    return counted.astype(np.float64).reshape(terms, candidates)


def _numbers(data: NDArray[np.uint8], starts: Ints, cuts: Ints) -> Hashes:
    """Returns the hashes of data[start:cut]: the sum of byte * base**place, moved to place 0 by a power of the inverse. Places
    are counted from the start of a block; of a term that is longer than a block, only the part in the block counts."""
    powers, inverses = _powers()
    numbers = np.empty(len(starts), np.uint64)
    first = 0
    while first < len(starts):
        begin = starts[first]
        last = max(int(np.searchsorted(cuts, begin + _BLOCK_BYTES, "right")), first + 1)
        froms, ends = starts[first:last] - begin, np.minimum(cuts[first:last] - begin, _BLOCK_BYTES)
        block = data[begin : begin + ends[-1]]
        sums = np.zeros(len(block) + 1, np.uint64)
        np.cumsum(np.multiply(block, powers[: len(block)], dtype=np.uint64), out=sums[1:])
        numbers[first:last] = (sums[ends] - sums[froms]) * inverses[froms]
        first = last
    return numbers


@lru_cache(maxsize=1)
def _powers() -> tuple[Hashes, Hashes]:
    """Returns base**place and its inverse, for all places of a block and its end."""
    both = np.ones((2, _BLOCK_BYTES + 1), np.uint64)
    both[:, 1:] = np.array([[_BASE], [_INVERSE]], np.uint64)
    np.multiply.accumulate(both, axis=1, out=both)
    return both[0], both[1]
