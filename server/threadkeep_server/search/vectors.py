"""Exact search of the rows of a matrix that are nearest to a query, and a bounded cache of such matrices."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from cachetools import LRUCache
from numpy.typing import ArrayLike, NDArray

Vectors = NDArray[np.float32]
Ids = NDArray[np.int64]

# The error of a matrix product in float32 for rows and queries of length 1. It depends on the machine and on the place of a
# row. Rows this close to the last place are summed again, all in the same way.
_SLACK = 1e-5
_ROWS_AT_ONCE = 4_096
# The approximate cost of a scope without its rows. With a cost of zero, empty scopes would stay in the cache forever.
_ENTRY_BYTES = 1_024


def normalize(vectors: ArrayLike) -> Vectors:
    """Returns the rows of (n, d), or the one row of (d,), scaled to length 1, as float32. Rows of zeros stay zeros."""
    array = np.asarray(vectors, np.float64)
    # Divides by the largest number first: the squares of very large numbers are infinite, those of very small ones zero.
    largest = np.abs(array).max(axis=-1, keepdims=True, initial=0.0)
    array = array / np.where(largest > 0, largest, 1.0)
    lengths = np.sqrt(np.square(array).sum(axis=-1, keepdims=True))
    return (array / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def top(matrix: Vectors, query: Vectors, k: int) -> list[tuple[int, float]]:
    """Returns the `k` rows of `matrix` (n, d) nearest to `query` (d,), and their cosines, best first; of equal rows the later
    first. Exact. All vectors have length 1 or are zeros. A query of zeros has no nearest rows."""
    best = BestRows(query, k)
    best.add(matrix)
    return best.result()


class BestRows:
    """`top` of a matrix that comes in blocks. Keeps the numbers of `k` rows, not the blocks."""

    def __init__(self, query: Vectors, k: int) -> None:
        self._query = np.asarray(query, np.float32)
        self._k = k if self._query.any() else 0
        self._seen = 0
        self._rows = np.zeros(0, np.int64)
        self._cosines = np.zeros(0, np.float64)

    def add(self, block: Vectors) -> None:
        """Adds the next rows, (n, d). Raises ValueError if their dimension differs from the query's."""
        if block.ndim != 2 or block.shape[1] != len(self._query):
            raise ValueError(f"vectors of shape {block.shape} cannot be compared with {len(self._query)} dimensions")
        begin, self._seen = self._seen, self._seen + len(block)
        if self._k <= 0 or not len(block):
            return
        near = self._candidates(block @ self._query)
        rows = np.concatenate([self._rows, near + begin])
        cosines = np.concatenate([self._cosines, _cosines(block, near, self._query)])
        order = np.lexsort((-rows, -cosines))[: self._k]
        self._rows, self._cosines = rows[order], cosines[order]

    def result(self) -> list[tuple[int, float]]:
        return list(zip(self._rows.tolist(), self._cosines.tolist(), strict=True))

    def _candidates(self, scores: NDArray[np.float32]) -> NDArray[np.intp]:
        """Returns the rows that may be among the best: more than `k`, because scores are not exact."""
        least = -math.inf
        if len(scores) > self._k:
            least = float(np.partition(scores, len(scores) - self._k)[len(scores) - self._k])
        if len(self._cosines) == self._k:
            least = max(least, float(self._cosines[-1]))
        return np.flatnonzero(scores >= least - _SLACK)


def _cosines(block: Vectors, rows: NDArray[np.intp], query: Vectors) -> NDArray[np.float64]:
    """Computes each row by itself, so that equal rows have equal cosines wherever they are."""
    exact = query.astype(np.float64)
    parts = [(block[rows[i : i + _ROWS_AT_ONCE]] * exact).sum(axis=1) for i in range(0, len(rows), _ROWS_AT_ONCE)]
    return np.clip(np.concatenate(parts), -1.0, 1.0) if parts else np.zeros(0, np.float64)


@dataclass(frozen=True, slots=True)
class Entry:
    """The vectors of one scope at the time of the call; later changes of the cache do not change them.

    `keys` (n,) identifies rows, `groups` (n,) is the group of each row, such as its session; `vectors` is (n, d). Rows are in
    insertion order. The arrays are read-only.
    """

    keys: Ids
    groups: Ids
    vectors: Vectors


class MatrixCache:
    """Matrices by scope, at most `capacity` bytes; evicts the least recently used. Only one thread may change it; any
    thread may read entries.

    While a matrix grows, its old arrays exist as well, and an entry in use outlives its eviction: memory may exceed `capacity`
    for that time.
    """

    def __init__(self, capacity: int) -> None:
        self._matrices: LRUCache[Hashable, _Matrix] = LRUCache(capacity, getsizeof=lambda matrix: matrix.bytes)

    @property
    def bytes(self) -> int:
        """The size of all matrices, with their room to grow."""
        return int(self._matrices.currsize)

    def __len__(self) -> int:
        return len(self._matrices)

    def get(self, key: Hashable) -> Entry | None:
        """Returns the vectors of a scope and marks it as used; None if the scope is not cached."""
        matrix = self._matrices.get(key)
        return None if matrix is None else matrix.entry()

    def extend(self, key: Hashable, keys: Ids, groups: Ids, vectors: Vectors) -> bool:
        """Adds rows to a scope, or creates it, also without rows. A row with the key of an earlier one replaces it and comes
        last; the keys of one call differ. Returns False, and drops the scope, if it is larger than the whole cache; the caller
        then reads it in blocks (`BestRows`). Raises ValueError for arrays that do not fit each other or the scope."""
        if vectors.ndim != 2 or keys.shape != groups.shape or keys.shape != (len(vectors),):
            raise ValueError(f"{keys.shape} keys, {groups.shape} groups and vectors of shape {vectors.shape} do not fit")
        matrix = self._matrices.get(key)
        if matrix is None or not len(matrix):  # an empty matrix has no dimension yet
            matrix = _Matrix(vectors.shape[1])
        if matrix.dimension != vectors.shape[1]:
            raise ValueError(f"vectors of {vectors.shape[1]} dimensions in a scope of {matrix.dimension}")
        if len(keys) and len(matrix) and keys.min() <= matrix.largest_key:
            matrix = matrix.without(keys)
        # The cache computes the size of a value when it is stored.
        self.forget(key)
        most = (int(self._matrices.maxsize) - _ENTRY_BYTES) // matrix.row_bytes
        if len(matrix) + len(vectors) > most:
            return False
        matrix.append(keys, groups, vectors, most)
        self._matrices[key] = matrix
        return True

    def forget(self, key: Hashable) -> None:
        """Drops a scope, if it is cached."""
        self._matrices.pop(key, None)


class _Matrix:
    """Rows with room for more. New rows are written behind those of all entries in use."""

    def __init__(self, dimension: int, room: int = 0) -> None:
        self.dimension = dimension
        self.row_bytes = 4 * dimension + 16
        self.largest_key = -(1 << 63)
        self._length = 0
        self._keys = np.empty(room, np.int64)
        self._groups = np.empty(room, np.int64)
        self._vectors = np.empty((room, dimension), np.float32)

    def __len__(self) -> int:
        return self._length

    @property
    def bytes(self) -> int:
        return _ENTRY_BYTES + len(self._keys) * self.row_bytes

    def entry(self) -> Entry:
        views = self._keys[: self._length], self._groups[: self._length], self._vectors[: self._length]
        for view in views:
            view.flags.writeable = False
        return Entry(*views)

    def append(self, keys: Ids, groups: Ids, vectors: Vectors, most: int) -> None:
        """`most`: the largest number of rows to make room for."""
        begin, end = self._length, self._length + len(keys)
        if end > len(self._keys):
            # Grows by half: rows that come one by one are copied at most three times each, on average.
            self._make_room(end if not begin else min(most, max(end, begin + begin // 2, 16)))
        self._keys[begin:end], self._groups[begin:end], self._vectors[begin:end] = keys, groups, vectors
        self._length = end
        if len(keys):
            self.largest_key = max(self.largest_key, int(keys.max()))

    def without(self, keys: Ids) -> _Matrix:
        """Returns a copy without some rows, so that entries in use keep theirs; itself if it has none of the rows."""
        stays = ~np.isin(self._keys[: self._length], keys)
        count = int(stays.sum())
        if count == self._length:
            return self
        left = _Matrix(self.dimension, count)
        old = self.entry()
        left.append(old.keys[stays], old.groups[stays], old.vectors[stays], count)
        return left

    def _make_room(self, room: int) -> None:
        old = self.entry()
        self._keys, self._groups = np.empty(room, np.int64), np.empty(room, np.int64)
        self._vectors = np.empty((room, self.dimension), np.float32)
        n = self._length
        self._keys[:n], self._groups[:n], self._vectors[:n] = old.keys, old.groups, old.vectors
