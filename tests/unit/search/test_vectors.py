"""Vector search is exact, ties have one order, and the cache is bounded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.runs.thoroughness import examples
from threadkeep_server.search.vectors import BestRows, MatrixCache, Vectors, normalize, top

ROW = 4 * 8 + 16  # bytes of a row of 8 dimensions
ENTRY = 1_024


def random_rows(count: int, dimension: int = 8, seed: int = 1) -> Vectors:
    return normalize(np.random.default_rng(seed).standard_normal((count, dimension)))


def by_hand(matrix: Vectors, query: Vectors, k: int) -> list[tuple[int, float]]:
    cosines = [float(np.clip((row.astype(float) * query.astype(float)).sum(), -1, 1)) for row in matrix]
    return [(row, cosines[row]) for row in sorted(range(len(cosines)), key=lambda row: (-cosines[row], -row))[:k]]


def test_normalize_scales_rows_to_length_1_and_keeps_zeros() -> None:
    made = normalize([[3.0, 4.0], [0.0, 0.0], [1e300, -1e300], [1e-300, 0.0]])
    assert made.dtype == np.float32
    assert made == pytest.approx(np.array([[0.6, 0.8], [0, 0], [2**-0.5, -(2**-0.5)], [1, 0]]))
    assert normalize([0.0, 5.0]).tolist() == [0.0, 1.0]
    assert normalize(np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("k", [1, 3, 10, 500, 1000])
def test_top_returns_the_rows_of_brute_force(k: int) -> None:
    matrix = random_rows(500)
    for seed in range(2, 12):
        (query,) = random_rows(1, seed=seed)
        assert top(matrix, query, k) == by_hand(matrix, query, k)


@given(data=st.data())
@settings(max_examples=examples(200))
def test_top_and_best_rows_equal_brute_force_for_any_matrix(data: st.DataObject) -> None:
    """Few distinct rows, for many ties; blocks of any size."""
    kinds = normalize(np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, 2, 3], [-1, 0, 0], [0, 0, 0], [1, 1e-4, 0], [1, 2e-4, 0]]))
    matrix = kinds[np.array(data.draw(st.lists(st.integers(0, 7), max_size=40)), np.int64)]
    query = kinds[data.draw(st.sampled_from([0, 1, 2, 3, 4]))]
    k = data.draw(st.integers(1, 12))
    assert top(matrix, query, k) == by_hand(matrix, query, k)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(matrix)), max_size=4)))
    best = BestRows(query, k)
    for block in np.split(matrix, cuts):
        best.add(block)
    assert best.result() == by_hand(matrix, query, k)


@pytest.mark.parametrize("count", [3, 7, 64, 1001, 5000])
def test_top_returns_the_later_of_equal_rows_first(count: int) -> None:
    """A product in float32 may differ in the last digit between equal rows."""
    (row,) = random_rows(1, 384)
    (query,) = random_rows(1, 384, seed=2)
    matrix = np.tile(row, (count, 1))
    found = top(matrix, query, 5)
    assert [place for place, _ in found] == list(range(count - 1, max(count - 6, -1), -1))
    assert len({cosine for _, cosine in found}) == 1


def test_top_of_a_zero_query_or_without_rows_is_empty() -> None:
    assert top(random_rows(5), np.zeros(8, np.float32), 3) == []
    assert top(random_rows(0), random_rows(1)[0], 3) == []
    assert top(random_rows(5), random_rows(1)[0], 0) == []


def test_top_with_another_dimension_is_rejected() -> None:
    with pytest.raises(ValueError, match="cannot be compared with 7 dimensions"):
        top(random_rows(5), random_rows(1, 7)[0], 3)


def filled(cache: MatrixCache, key: str, count: int, *, begin: int = 0) -> bool:
    keys = np.arange(begin, begin + count)
    return cache.extend(key, keys, keys % 3, random_rows(count, seed=begin + 1))


def test_cache_entry_holds_the_stored_rows_and_is_read_only() -> None:
    cache = MatrixCache(1 << 20)
    assert cache.get("a") is None
    for begin in range(0, 100, 7):
        assert filled(cache, "a", 7, begin=begin)
    entry = cache.get("a")
    assert entry is not None
    assert entry.keys.tolist() == list(range(105))
    assert entry.groups.tolist() == [key % 3 for key in range(105)]
    assert entry.vectors.tolist() == np.concatenate([random_rows(7, seed=begin + 1) for begin in range(0, 105, 7)]).tolist()
    with pytest.raises(ValueError, match="read-only"):
        entry.vectors[0] = 0


def test_cache_keeps_an_empty_scope_that_accepts_any_dimension() -> None:
    cache = MatrixCache(1 << 20)
    none = np.zeros(0, np.int64)
    assert cache.extend("a", none, none, np.zeros((0, 0), np.float32))
    entry = cache.get("a")
    assert entry is not None
    assert len(entry.keys) == 0
    assert filled(cache, "a", 3)
    assert cache.extend("a", none, none, random_rows(0))


def test_cache_counts_empty_scopes() -> None:
    cache = MatrixCache(10 * ENTRY)
    none = np.zeros(0, np.int64)
    for number in range(50):
        assert cache.extend(number, none, none, random_rows(0))
    assert len(cache) == 10


def test_extend_replaces_a_row_with_the_same_key() -> None:
    cache = MatrixCache(1 << 20)
    filled(cache, "a", 5)
    (vector,) = random_rows(1, seed=77)
    assert cache.extend("a", np.array([2]), np.array([9]), vector[None])
    entry = cache.get("a")
    assert entry is not None
    assert entry.keys.tolist() == [0, 1, 3, 4, 2]
    assert entry.groups.tolist() == [0, 1, 0, 1, 9]
    assert entry.vectors[4].tolist() == vector.tolist()
    assert cache.extend("a", np.array([-5]), np.array([0]), vector[None])  # smaller than all, and new
    entry = cache.get("a")
    assert entry is not None
    assert entry.keys.tolist() == [0, 1, 3, 4, 2, -5]


def test_extend_with_arrays_that_do_not_fit_is_rejected_without_a_change() -> None:
    cache = MatrixCache(1 << 20)
    filled(cache, "a", 5)
    before = cache.bytes
    two, three = np.arange(2), np.arange(3)
    for keys, groups, vectors in [
        (two, three, random_rows(2)),
        (three, three, random_rows(2)),
        (two, two, random_rows(2)[0]),
        (two, two, random_rows(2, 9)),
    ]:
        with pytest.raises(ValueError, match=r"do not fit|of 9 dimensions in a scope of 8"):
            cache.extend("a", keys, groups, vectors)
    entry = cache.get("a")
    assert entry is not None
    assert (len(entry.keys), cache.bytes) == (5, before)


def test_cache_entry_is_unchanged_by_later_calls() -> None:
    cache = MatrixCache(1 << 20)
    filled(cache, "a", 20)
    entry = cache.get("a")
    assert entry is not None
    was = entry.keys.tolist(), entry.vectors.tolist()
    filled(cache, "a", 3, begin=20)
    filled(cache, "a", 5, begin=2)
    cache.forget("a")
    assert (entry.keys.tolist(), entry.vectors.tolist()) == was


def test_cache_evicts_the_least_recently_used() -> None:
    cache = MatrixCache(3 * (ENTRY + 100 * ROW))
    for key in "abc":
        filled(cache, key, 100)
    cache.get("a")
    filled(cache, "d", 100)
    assert [key for key in "abcd" if cache.get(key)] == ["a", "c", "d"]
    filled(cache, "c", 100, begin=100)
    assert [key for key in "abcd" if cache.get(key)] == ["c", "d"]
    assert cache.bytes <= 3 * (ENTRY + 100 * ROW)


def test_extend_beyond_the_capacity_is_refused_and_drops_the_scope() -> None:
    cache = MatrixCache(ENTRY + 100 * ROW)
    filled(cache, "small", 10)
    assert not filled(cache, "large", 101)
    assert cache.get("small") is not None
    assert filled(cache, "a", 100)
    assert cache.bytes == ENTRY + 100 * ROW
    assert not filled(cache, "a", 1, begin=100)
    assert cache.get("a") is None
    assert (len(cache), cache.bytes) == (0, 0)


def test_dropping_a_scope_removes_it_from_the_cache() -> None:
    cache = MatrixCache(1 << 20)
    filled(cache, "a", 10)
    cache.forget("a")
    cache.forget("a")
    assert (len(cache), cache.bytes) == (0, 0)


@given(steps=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 40), st.booleans()), max_size=40))
@settings(max_examples=examples(150))
def test_cache_never_exceeds_its_capacity(steps: list[tuple[str, int, bool]]) -> None:
    cache = MatrixCache(3 * ENTRY + 60 * ROW)
    held: dict[str, list[int]] = {}
    for number, (key, count, grows) in enumerate(steps):
        if grows:
            begin = number * 100
            if filled(cache, key, count, begin=begin):
                held[key] = (held.get(key, []) if cache.get(key) else []) + list(range(begin, begin + count))
            else:
                held.pop(key, None)
        elif key in held:
            cache.forget(key)
            del held[key]
        assert cache.bytes <= 3 * ENTRY + 60 * ROW
        held = {each: keys for each, keys in held.items() if each in cache._matrices}
        for each, keys in held.items():
            assert cache._matrices[each].entry().keys.tolist() == keys
    assert cache.bytes == sum(matrix.bytes for matrix in cache._matrices.values())


def test_extend_row_by_row_copies_rarely() -> None:
    cache = MatrixCache(64 << 20)
    rooms = set()
    for number in range(5_000):
        cache.extend("a", np.array([number]), np.array([0]), random_rows(1))
        rooms.add(cache.bytes)
    assert len(rooms) < 20
