"""Vectors: which rows of a matrix resemble a question, exactly; and a bounded memory of such matrices."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vectors = NDArray[np.float32]
Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]

# What a matrix product in float32 may be off by, for rows and questions of length 1: how it sums depends on the machine and
# on where a row lies. Rows this close to the last place are summed again, all in one way.
_SLACK = 1e-5
_AT_ONCE = 4_096
# About what a scope costs beside its rows: without it, scopes without any would be kept for ever.
_ENTRY_BYTES = 1_024


def normalised(vectors: ArrayLike) -> Vectors:
    """The rows of (n, d), or the one row of (d,), with length 1, as float32. Zeros stay zeros, of which nothing is alike."""
    array = np.asarray(vectors, np.float64)
    # By the largest number first: squares of very large ones are infinite, of very small ones zero.
    largest = np.abs(array).max(axis=-1, keepdims=True, initial=0.0)
    array = array / np.where(largest > 0, largest, 1.0)
    lengths = np.sqrt(np.square(array).sum(axis=-1, keepdims=True))
    return (array / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def to_bytes(vector: Vectors) -> bytes:
    """A vector as it is stored: little-endian float32, 4 bytes for each number."""
    return np.ascontiguousarray(vector, "<f4").tobytes()


def from_bytes(stored: bytes | Iterable[bytes], dimension: int) -> Vectors:
    """(n, dimension) of what `to_bytes` made: of one blob or several, each of any number of rows. Raises ValueError if they do
    not come to whole rows."""
    blob = stored if isinstance(stored, bytes) else b"".join(stored)
    if dimension < 1 or len(blob) % (4 * dimension):
        raise ValueError(f"{len(blob)} bytes are no vectors of {dimension} dimensions")
    return np.frombuffer(blob, "<f4").astype(np.float32, copy=False).reshape(-1, dimension)


def top(
    matrix: Vectors, query: Vectors, k: int, *, floor: float | None = None, mask: Mask | None = None
) -> list[tuple[int, float]]:
    """The `k` rows of `matrix` (n, d) that resemble `query` (d,) most, and their cosines, best first; of equal ones the later
    row first. Exact: no row is passed over. All have length 1, or are zeros.

    `floor`: only cosines of at least this. `mask` (n,): only rows where it is True. A query of zeros resembles nothing.
    """
    best = BestRows(query, k, floor=floor)
    best.add(matrix, mask=mask)
    return best.result()


def top_of_blocks(blocks: Iterable[Vectors], query: Vectors, k: int, *, floor: float | None = None) -> list[tuple[int, float]]:
    """`top` of the rows of all blocks, numbered through: for more rows than memory should hold."""
    best = BestRows(query, k, floor=floor)
    for block in blocks:
        best.add(block)
    return best.result()


class BestRows:
    """`top` of blocks that come one by one, as from a cursor. Holds `k` rows' numbers, not the blocks."""

    def __init__(self, query: Vectors, k: int, *, floor: float | None = None) -> None:
        self._query = np.asarray(query, np.float32)
        self._k = k if self._query.any() else 0
        self._floor = floor
        self._seen = 0
        self._rows = np.zeros(0, np.int64)
        self._cosines = np.zeros(0, np.float64)

    def add(self, block: Vectors, *, mask: Mask | None = None) -> None:
        """Takes the next rows, (n, d). Raises ValueError if they have another dimension than the query."""
        if block.ndim != 2 or block.shape[1] != len(self._query):
            raise ValueError(f"vectors of shape {block.shape} cannot be compared with {len(self._query)} dimensions")
        begin, self._seen = self._seen, self._seen + len(block)
        if self._k <= 0 or not len(block):
            return
        near = self._candidates(block @ self._query, mask)
        cosines = _cosines(block, near, self._query)
        if self._floor is not None:
            high = cosines >= self._floor
            near, cosines = near[high], cosines[high]
        rows = np.concatenate([self._rows, near + begin])
        cosines = np.concatenate([self._cosines, cosines])
        order = np.lexsort((-rows, -cosines))[: self._k]
        self._rows, self._cosines = rows[order], cosines[order]

    def result(self) -> list[tuple[int, float]]:
        return list(zip(self._rows.tolist(), self._cosines.tolist(), strict=True))

    def _candidates(self, scores: NDArray[np.float32], mask: Mask | None) -> NDArray[np.intp]:
        """Rows that may be among the best: some more than are wanted, because scores are not exact."""
        if mask is not None:
            scores = np.where(mask, scores, np.float32(-np.inf))
        least = -math.inf
        if len(scores) > self._k:
            least = float(np.partition(scores, len(scores) - self._k)[len(scores) - self._k])
        if self._floor is not None:
            least = max(least, self._floor)
        if len(self._cosines) == self._k:
            least = max(least, float(self._cosines[-1]))
        if least == -math.inf:
            return np.flatnonzero(scores > least)  # without those that the mask leaves out
        return np.flatnonzero(scores >= least - _SLACK)


def _cosines(block: Vectors, rows: NDArray[np.intp], query: Vectors) -> NDArray[np.float64]:
    """Of each row by itself, so that equal rows have equal cosines wherever they lie."""
    exact = query.astype(np.float64)
    parts = [(block[rows[i : i + _AT_ONCE]] * exact).sum(axis=1) for i in range(0, len(rows), _AT_ONCE)]
    return np.clip(np.concatenate(parts), -1.0, 1.0) if parts else np.zeros(0, np.float64)


@dataclass(frozen=True, slots=True)
class Entry:
    """The vectors of one scope as they were when asked for; what happens to the cache later does not change them.

    `keys` (n,) tells rows apart, `groups` (n,) holds what rows have in common, such as their session; `vectors` is (n, d).
    Rows lie in the order in which they came. The arrays cannot be written to.
    """

    keys: Ids
    groups: Ids
    vectors: Vectors


class VectorCache:
    """Matrices by scope, at most `capacity` bytes of them; the least recently used go first. No more threads than one may
    change it; entries may be read in any.

    While a matrix grows the old one is there as well, and an entry that somebody holds outlives its eviction: for those
    moments there is more than `capacity`.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._matrices: OrderedDict[Hashable, _Matrix] = OrderedDict()
        self._bytes = 0

    @property
    def bytes(self) -> int:
        """Of all matrices, with the room they have to grow."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._matrices)

    def get(self, key: Hashable) -> Entry | None:
        """The vectors of a scope, which count as used now; None if they are not here."""
        matrix = self._matrices.get(key)
        if matrix is None:
            return None
        self._matrices.move_to_end(key)
        return matrix.entry()

    def extend(self, key: Hashable, keys: Ids, groups: Ids, vectors: Vectors) -> bool:
        """Adds rows to a scope, or begins it: with no rows too, which tells that it has none. A row whose key is there already
        replaces that one, and comes last; those of one call differ. False if the scope is larger than the whole cache: then it
        is not here any more, and is to be read in blocks (`top_of_blocks`). Raises ValueError for arrays that do not fit each
        other or the scope's."""
        if vectors.ndim != 2 or keys.shape != groups.shape or keys.shape != (len(vectors),):
            raise ValueError(f"{keys.shape} keys, {groups.shape} groups and vectors of shape {vectors.shape} do not fit")
        matrix = self._matrices.get(key)
        if matrix is None or not len(matrix):  # of no vectors there was no dimension to keep to
            matrix = _Matrix(vectors.shape[1])
        if matrix.dimension != vectors.shape[1]:
            raise ValueError(f"vectors of {vectors.shape[1]} dimensions in a scope of {matrix.dimension}")
        if len(keys) and len(matrix) and keys.min() <= matrix.largest_key:
            matrix = matrix.without(keys)
        self.forget(key)
        most = (self._capacity - _ENTRY_BYTES) // matrix.row_bytes
        if len(matrix) + len(vectors) > most:
            return False
        matrix.append(keys, groups, vectors, most)
        self._matrices[key] = matrix
        self._bytes += matrix.bytes
        while self._bytes > self._capacity:
            _, oldest = self._matrices.popitem(last=False)
            self._bytes -= oldest.bytes
        return True

    def remove(self, key: Hashable, keys: Ids) -> int:
        """Takes rows out of a scope; how many there were. The scope stays, and does not count as used."""
        matrix = self._matrices.get(key)
        if matrix is None:
            return 0
        left = matrix.without(keys)
        self._matrices[key] = left
        self._bytes += left.bytes - matrix.bytes
        return len(matrix) - len(left)

    def forget(self, key: Hashable) -> None:
        """Drops a scope, if it is here."""
        matrix = self._matrices.pop(key, None)
        if matrix is not None:
            self._bytes -= matrix.bytes

    def forget_where(self, goes: Callable[[Hashable], bool]) -> None:
        """Drops every scope whose key `goes`."""
        for key in [key for key in self._matrices if goes(key)]:
            self.forget(key)


class _Matrix:
    """Rows with room for more. What is written lies behind all entries that were handed out."""

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
        """`most`: rows that it may ever have room for."""
        begin, end = self._length, self._length + len(keys)
        if end > len(self._keys):
            # By half again, so that rows that come one by one are moved three times each at most, on average.
            self._make_room(end if not begin else min(most, max(end, begin + begin // 2, 16)))
        self._keys[begin:end], self._groups[begin:end], self._vectors[begin:end] = keys, groups, vectors
        self._length = end
        if len(keys):
            self.largest_key = max(self.largest_key, int(keys.max()))

    def without(self, keys: Ids) -> _Matrix:
        """A copy without some rows: entries that were handed out keep theirs. Itself if it has none of them."""
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
