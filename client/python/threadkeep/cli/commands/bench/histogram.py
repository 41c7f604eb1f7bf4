"""A histogram of durations in bounded memory, with a bounded relative error."""

from __future__ import annotations

from collections.abc import Iterator

_BITS = 7
"""Each power of two has 2 ** (_BITS - 1) buckets, so a bucket is at most 1/64 of its values wide."""
_MOST = (1 << 32) - 1
"""Microseconds: longer durations, above 71 minutes, count as this long; `most` stays exact."""


def _bucket(micros: int) -> int:
    shift = max(micros.bit_length() - _BITS, 0)
    return (shift << (_BITS - 1)) + (micros >> shift)


def _largest(bucket: int) -> int:
    """The largest value of a bucket."""
    shift = max((bucket >> (_BITS - 1)) - 1, 0)
    return ((bucket - (shift << (_BITS - 1)) + 1) << shift) - 1


_BUCKETS = _bucket(_MOST) + 1


class Histogram:
    """Counts durations in buckets whose width grows with the duration: 1 µs up to 128 µs, then at most 1.6 % of the value."""

    __slots__ = ("_counts", "_sum", "count", "most")

    def __init__(self) -> None:
        self._counts = [0] * _BUCKETS
        self._sum = 0.0
        self.count = 0
        self.most = 0.0
        """The longest, in seconds."""

    def add(self, seconds: float) -> None:
        """Counts one duration; one below zero counts as zero."""
        self._counts[_bucket(min(max(round(seconds * 1e6), 0), _MOST))] += 1
        self._sum += seconds
        self.count += 1
        self.most = max(self.most, seconds)

    def merge(self, other: Histogram) -> None:
        """Adds the durations of another histogram."""
        self._counts = [mine + its for mine, its in zip(self._counts, other._counts, strict=True)]
        self._sum += other._sum
        self.count += other.count
        self.most = max(self.most, other.most)

    @property
    def mean(self) -> float:
        """The mean in seconds; 0 without durations."""
        return self._sum / self.count if self.count else 0.0

    def percentile(self, share: float) -> float:
        """The smallest duration, in seconds, that at least this share (0 to 1) of the durations does not exceed, rounded up
        to its bucket; 0 without durations."""
        wanted = max(share * self.count, 1e-9)
        for bucket, reached in self._cumulated():
            if reached >= wanted:
                return min(_largest(bucket) / 1e6, self.most)
        return self.most

    def _cumulated(self) -> Iterator[tuple[int, int]]:
        reached = 0
        for bucket, count in enumerate(self._counts):
            if count:
                reached += count
                yield bucket, reached
