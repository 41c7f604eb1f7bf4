"""Where terms stand in candidates: what ranking counts, for all candidates at once.

Terms are compared by a 64-bit number of their bytes (a polynomial modulo 2**64, so that all of them come out of one running
sum): a candidate costs no Python work of its own. Two terms of one number are as unlikely as 1 in 2**40 or so, and cost a rank
only."""

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
"""Of Words: text, calls, results, media, dates."""

_BLANK, _LINE_FEED = 32, 10
_BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2**64
_INVERSE = pow(_BASE, -1, 1 << 64)
_KEPT = 1 << 18  # bytes whose powers are kept, 4 MiB of them; a usual answer is shorter


@dataclass(frozen=True, slots=True)
class Tokens:
    """The terms of candidates, one after the other.

    - hashes: the number of each term.
    - field: for each term, candidate * FIELDS + field.
    - lengths: how many terms a field has; candidates x FIELDS.
    """

    hashes: Hashes
    field: Ints
    lengths: Floats

    def of(self, candidate: int) -> Hashes:
        """The terms of one candidate, dates left out."""
        start, end = np.searchsorted(self.field, (candidate * FIELDS, candidate * FIELDS + FIELDS - 1))
        return self.hashes[start:end]


@dataclass(frozen=True, slots=True)
class Hits:
    """Where wanted terms stand, in order: `at`, which token; `term`, which of the wanted; `field`, as in Tokens."""

    at: Ints
    term: Ints
    field: Ints


def read(words: Sequence[str]) -> Tokens:
    """The terms of candidates from their `words` (terms with blanks between, fields with line feeds between). Raises ValueError
    where one has not FIELDS fields."""
    data = np.frombuffer(("\n".join(words) + " ").encode("utf-8", "surrogatepass"), np.uint8)
    cuts = np.flatnonzero((data == _BLANK) | (data == _LINE_FEED))
    feeds = data[cuts] == _LINE_FEED
    if int(feeds.sum()) + 1 != FIELDS * len(words):
        raise ValueError(f"every candidate has {FIELDS} fields, with line feeds between")
    starts = np.concatenate(([0], cuts[:-1] + 1))
    field = np.concatenate(([0], np.cumsum(feeds[:-1])))
    full = cuts > starts
    field = field[full]
    lengths = np.bincount(field, minlength=FIELDS * len(words)).reshape(-1, FIELDS).astype(np.float64)
    return Tokens(_numbers(data, starts, cuts)[full], field, lengths)


def hashes(terms: Iterable[str]) -> Hashes:
    """The numbers of single terms, in their order. A term holds no white space and is not empty."""
    data = np.frombuffer((" ".join(terms) + " ").encode("utf-8", "surrogatepass"), np.uint8)
    cuts = np.flatnonzero(data == _BLANK)
    return _numbers(data, np.concatenate(([0], cuts[:-1] + 1)), cuts)


def find(tokens: Tokens, wanted: Hashes) -> Hits:
    """Where the wanted terms stand. Meant for tens of them: each is one pass over the tokens."""
    places = [np.flatnonzero(tokens.hashes == number) for number in wanted]
    at = np.concatenate([*places, np.empty(0, np.int64)]).astype(np.int64)
    term = np.repeat(np.arange(len(wanted)), [len(place) for place in places])
    order = np.argsort(at, kind="stable")
    at, term = at[order], term[order]
    return Hits(at, term, tokens.field[at])


def count(hits: Hits, terms: int, candidates: int, weights: Sequence[float]) -> Floats:
    """How often each term stands in each candidate, a field counted by its weight: terms x candidates."""
    cells = hits.term * candidates + hits.field // FIELDS
    counted = np.bincount(cells, np.asarray(weights, np.float64)[hits.field % FIELDS], terms * candidates)
    return counted.reshape(terms, candidates)


def _numbers(data: NDArray[np.uint8], starts: Ints, cuts: Ints) -> Hashes:
    """The numbers of data[start:cut]: the sum of byte * base**place over it, moved to place 0 by a power of the inverse."""
    powers, inverses = _kept_powers() if len(data) <= _KEPT else _powers(len(data))
    sums = np.zeros(len(data) + 1, np.uint64)
    np.cumsum(np.multiply(data, powers[: len(data)], dtype=np.uint64), out=sums[1:])
    return (sums[cuts] - sums[starts]) * inverses[starts]


def _powers(size: int) -> tuple[Hashes, Hashes]:
    return _powers_of(_BASE, size), _powers_of(_INVERSE, size)


def _powers_of(base: int, size: int) -> Hashes:
    powers = np.full(size, base, np.uint64)
    powers[0] = 1
    return np.multiply.accumulate(powers)


@lru_cache(maxsize=1)
def _kept_powers() -> tuple[Hashes, Hashes]:
    return _powers(_KEPT)
