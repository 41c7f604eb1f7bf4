"""Words of events that are not indexed yet."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from threadkeep_server.store.sql.search.analysis_cache import AnalysisCache


def test_concurrent_searches_analyze_an_event_once() -> None:
    made: list[bytes] = []
    begun, go_on = threading.Event(), threading.Event()

    def make(body: bytes, time: int) -> str:
        made.append(body)
        begun.set()
        assert go_on.wait(30)
        return f"{body.decode()} {time}"

    analysed = AnalysisCache(make)
    with ThreadPoolExecutor(8) as threads:
        requested = [threads.submit(analysed.words, b"tea", 1) for _ in range(8)]
        assert begun.wait(30)
        go_on.set()
        assert [each.result(30) for each in requested] == ["tea 1"] * 8
    assert analysed.words(b"tea", 1) == "tea 1"
    assert made == [b"tea"]
    assert analysed.words(b"tea", 2) == "tea 2"


def test_the_cache_is_bounded_and_evicts_the_least_recently_used() -> None:
    made: list[bytes] = []

    def make(body: bytes, time: int) -> str:
        made.append(body)
        return "x" * 40

    analysed = AnalysisCache(make, 100)
    for body in (b"a", b"b", b"a", b"c", b"a", b"b"):
        analysed.words(body, 0)
    assert made == [b"a", b"b", b"c", b"b"]


def test_a_failure_is_reported_and_not_cached() -> None:
    answers: Iterator[str | ValueError] = iter([ValueError("broken"), "tea"])

    def make(body: bytes, time: int) -> str:
        answer = next(answers)
        if isinstance(answer, ValueError):
            raise answer
        return answer

    analysed = AnalysisCache(make)
    with pytest.raises(ValueError, match="broken"):
        analysed.words(b"a", 0)
    assert analysed.words(b"a", 0) == "tea"
