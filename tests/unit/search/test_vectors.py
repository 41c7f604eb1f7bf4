"""Search among vectors is exact, ties have one answer, and the memory for them is bounded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.runs.thoroughness import examples
from threadkeep_server.search.vectors import (
    BestRows,
    VectorCache,
    Vectors,
    from_bytes,
    normalised,
    to_bytes,
    top,
    top_of_blocks,
)

ROW = 4 * 8 + 16  # bytes of a row of 8 dimensions
ENTRY = 1_024


def random_rows(count: int, dimension: int = 8, seed: int = 1) -> Vectors:
    return normalised(np.random.default_rng(seed).standard_normal((count, dimension)))


def by_hand(
    matrix: Vectors, query: Vectors, k: int, floor: float = -2.0, left_out: set[int] | None = None
) -> list[tuple[int, float]]:
    cosines = [float(np.clip((row.astype(float) * query.astype(float)).sum(), -1, 1)) for row in matrix]
    rows = [row for row, cosine in enumerate(cosines) if cosine >= floor and row not in (left_out or set())]
    return [(row, cosines[row]) for row in sorted(rows, key=lambda row: (-cosines[row], -row))[:k]]


def test_rows_become_length_1_and_zeros_stay() -> None:
    made = normalised([[3.0, 4.0], [0.0, 0.0], [1e300, -1e300], [1e-300, 0.0]])
    assert made.dtype == np.float32
    assert made == pytest.approx(np.array([[0.6, 0.8], [0, 0], [2**-0.5, -(2**-0.5)], [1, 0]]))
    assert normalised([0.0, 5.0]).tolist() == [0.0, 1.0]
    assert normalised(np.zeros((0, 3))).shape == (0, 3)


def test_stored_vectors_are_little_endian_float32() -> None:
    assert to_bytes(np.array([1.0, -2.0], np.float32)) == bytes.fromhex("0000803f000000c0")
    assert to_bytes(np.array([1.0, -2.0], ">f4")) == bytes.fromhex("0000803f000000c0")
    rows = random_rows(5)
    assert from_bytes(to_bytes(rows), 8).tolist() == rows.tolist()
    assert from_bytes([to_bytes(row) for row in rows], 8).tolist() == rows.tolist()
    assert from_bytes([], 8).shape == (0, 8)


@pytest.mark.parametrize(("stored", "dimension"), [(b"abc", 1), (b"abcd" * 3, 2), (b"", 0)])
def test_bytes_that_are_no_whole_rows_are_refused(stored: bytes, dimension: int) -> None:
    with pytest.raises(ValueError, match="are no vectors of"):
        from_bytes(stored, dimension)


@pytest.mark.parametrize("k", [1, 3, 10, 500, 1000])
def test_the_best_rows_are_those_of_brute_force(k: int) -> None:
    matrix = random_rows(500)
    for seed in range(2, 12):
        (query,) = random_rows(1, seed=seed)
        assert top(matrix, query, k) == by_hand(matrix, query, k)


@given(data=st.data())
@settings(max_examples=examples(200))
def test_laws_of_top(data: st.DataObject) -> None:
    """Few distinct rows, so that ties abound; floors on the very cosines; masks; blocks of any size."""
    kinds = normalised(
        np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, 2, 3], [-1, 0, 0], [0, 0, 0], [1, 1e-4, 0], [1, 2e-4, 0]])
    )
    matrix = kinds[np.array(data.draw(st.lists(st.integers(0, 7), max_size=40)), np.int64)]
    query = kinds[data.draw(st.sampled_from([0, 1, 2, 3, 4]))]
    k = data.draw(st.integers(1, 12))
    floor = data.draw(st.sampled_from([None, -1.0, 0.0, 0.5, 1.0]))
    shown = np.array(data.draw(st.lists(st.booleans(), min_size=len(matrix), max_size=len(matrix))), bool)
    left_out = {int(row) for row in np.flatnonzero(~shown)}
    least = -2.0 if floor is None else floor
    assert top(matrix, query, k, floor=floor, mask=shown) == by_hand(matrix, query, k, least, left_out)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(matrix)), max_size=4)))
    blocks = np.split(matrix, cuts)
    assert top_of_blocks(blocks, query, k, floor=floor) == by_hand(matrix, query, k, least)
    best = BestRows(query, k, floor=floor)
    for block, mask in zip(blocks, np.split(shown, cuts), strict=True):
        best.add(block, mask=mask)
    assert best.result() == by_hand(matrix, query, k, least, left_out)


@pytest.mark.parametrize("count", [3, 7, 64, 1001, 5000])
def test_of_equal_rows_the_later_is_first_wherever_they_lie(count: int) -> None:
    """A product in float32 may differ in the last digit between rows that are the same."""
    (row,) = random_rows(1, 384)
    (query,) = random_rows(1, 384, seed=2)
    matrix = np.tile(row, (count, 1))
    found = top(matrix, query, 5)
    assert [place for place, _ in found] == list(range(count - 1, max(count - 6, -1), -1))
    assert len({cosine for _, cosine in found}) == 1


def test_a_question_of_zeros_and_no_rows_find_nothing() -> None:
    assert top(random_rows(5), np.zeros(8, np.float32), 3) == []
    assert top(random_rows(0), random_rows(1)[0], 3) == []
    assert top(random_rows(5), random_rows(1)[0], 0) == []
    assert top(random_rows(5), random_rows(1)[0], 3, mask=np.zeros(5, bool)) == []


def test_rows_of_another_dimension_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be compared with 7 dimensions"):
        top(random_rows(5), random_rows(1, 7)[0], 3)


def filled(cache: VectorCache, key: str, count: int, *, begin: int = 0) -> bool:
    keys = np.arange(begin, begin + count)
    return cache.extend(key, keys, keys % 3, random_rows(count, seed=begin + 1))


def test_an_entry_holds_what_was_put_in() -> None:
    cache = VectorCache(1 << 20)
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


def test_a_scope_without_rows_is_there_and_may_get_some_of_any_dimension() -> None:
    cache = VectorCache(1 << 20)
    none = np.zeros(0, np.int64)
    assert cache.extend("a", none, none, np.zeros((0, 0), np.float32))
    entry = cache.get("a")
    assert entry is not None
    assert len(entry.keys) == 0
    assert filled(cache, "a", 3)
    assert cache.extend("a", none, none, random_rows(0))


def test_scopes_without_rows_count_too() -> None:
    cache = VectorCache(10 * ENTRY)
    none = np.zeros(0, np.int64)
    for number in range(50):
        assert cache.extend(number, none, none, random_rows(0))
    assert len(cache) == 10


def test_a_row_that_is_there_is_replaced() -> None:
    cache = VectorCache(1 << 20)
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


def test_arrays_that_do_not_fit_are_refused_and_change_nothing() -> None:
    cache = VectorCache(1 << 20)
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


def test_an_entry_does_not_change_with_the_cache() -> None:
    cache = VectorCache(1 << 20)
    filled(cache, "a", 20)
    entry = cache.get("a")
    assert entry is not None
    was = entry.keys.tolist(), entry.vectors.tolist()
    filled(cache, "a", 3, begin=20)
    assert cache.remove("a", np.arange(10)) == 10
    filled(cache, "a", 5, begin=2)
    cache.forget("a")
    assert (entry.keys.tolist(), entry.vectors.tolist()) == was


def test_removed_rows_are_gone_and_their_room_with_them() -> None:
    cache = VectorCache(1 << 20)
    filled(cache, "a", 100)
    assert cache.remove("a", np.array([5, 7, 1000])) == 2
    assert cache.remove("a", np.array([5, 7, 1000])) == 0
    assert cache.remove("b", np.array([5])) == 0
    entry = cache.get("a")
    assert entry is not None
    assert entry.keys.tolist() == [key for key in range(100) if key not in (5, 7)]
    assert cache.bytes == ENTRY + 98 * ROW
    filled(cache, "a", 1, begin=5)
    entry = cache.get("a")
    assert entry is not None
    assert entry.keys[-1] == 5


def test_the_least_recently_used_goes_first() -> None:
    cache = VectorCache(3 * (ENTRY + 100 * ROW))
    for key in "abc":
        filled(cache, key, 100)
    cache.get("a")
    cache.remove("b", np.array([1]))  # is no use
    filled(cache, "d", 100)
    assert [key for key in "abcd" if cache.get(key)] == ["a", "c", "d"]
    filled(cache, "c", 100, begin=100)
    assert [key for key in "abcd" if cache.get(key)] == ["c", "d"]
    assert cache.bytes <= 3 * (ENTRY + 100 * ROW)


def test_what_is_larger_than_the_cache_is_refused_and_forgotten() -> None:
    cache = VectorCache(ENTRY + 100 * ROW)
    filled(cache, "small", 10)
    assert not filled(cache, "large", 101)
    assert cache.get("small") is not None
    assert filled(cache, "a", 100)
    assert cache.bytes == ENTRY + 100 * ROW
    assert not filled(cache, "a", 1, begin=100)
    assert cache.get("a") is None
    assert (len(cache), cache.bytes) == (0, 0)


def test_forgetting_by_what_the_key_says() -> None:
    cache = VectorCache(1 << 20)
    for key in ("app1", "app2", "user1"):
        filled(cache, key, 10)
    cache.forget_where(lambda key: str(key).startswith("app"))
    assert [key for key in ("app1", "app2", "user1") if cache.get(key)] == ["user1"]
    cache.forget("user1")
    cache.forget("user1")
    assert (len(cache), cache.bytes) == (0, 0)


@given(steps=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 40), st.booleans()), max_size=40))
@settings(max_examples=examples(150))
def test_the_bound_holds_whatever_happens(steps: list[tuple[str, int, bool]]) -> None:
    cache = VectorCache(3 * ENTRY + 60 * ROW)
    held: dict[str, list[int]] = {}
    for number, (key, count, grows) in enumerate(steps):
        if grows:
            begin = number * 100
            if filled(cache, key, count, begin=begin):
                held[key] = (held.get(key, []) if cache.get(key) else []) + list(range(begin, begin + count))
            else:
                held.pop(key, None)
        elif key in held:
            gone = held[key][:count]
            assert cache.remove(key, np.array(gone, np.int64)) == len(gone)
            held[key] = held[key][count:]
        assert cache.bytes <= 3 * ENTRY + 60 * ROW
        held = {each: keys for each, keys in held.items() if each in cache._matrices}
        for each, keys in held.items():
            assert cache._matrices[each].entry().keys.tolist() == keys
    assert cache.bytes == sum(matrix.bytes for matrix in cache._matrices.values())


def test_rows_one_by_one_are_seldom_moved() -> None:
    cache = VectorCache(64 << 20)
    rooms = set()
    for number in range(5_000):
        cache.extend("a", np.array([number]), np.array([0]), random_rows(1))
        rooms.add(cache.bytes)
    assert len(rooms) < 20
