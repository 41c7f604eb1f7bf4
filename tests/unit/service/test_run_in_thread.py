"""What is small is done at once, what is large in a thread: nobody else's call waits for it."""

from __future__ import annotations

import threading

import pytest

from tests.support.codec import CODEC
from tests.unit.service.search.searching import SearchServices
from threadkeep_server.domain.search import ALL_FIELDS, Texts
from threadkeep_server.search.ranking.scoring import rank
from threadkeep_server.service.run_in_thread import run_in_thread
from threadkeep_server.service.search import search_pipeline
from threadkeep_server.service.search.search_pipeline import marked_all


@pytest.mark.parametrize(("size", "inline"), [(0, True), (10, True), (11, False)])
async def test_work_above_the_bound_runs_outside_the_event_loop(size: int, inline: bool) -> None:
    def work(one: int, *, other: int) -> tuple[int, bool]:
        return one + other, threading.current_thread() is threading.main_thread()

    assert await run_in_thread(size, 10, work, 1, other=2) == (3, inline)


@pytest.mark.parametrize("size", [1, 11])
async def test_an_error_of_the_work_is_raised(size: int) -> None:
    def work() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await run_in_thread(size, 10, work)


async def test_highlights_of_long_texts_are_found_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    services = SearchServices()
    await services.session("s1", "a car", "no boat")
    found = await services.find("car boat")
    bodies = [hit.found.event.body for hit in found.hits]
    few = await marked_all(CODEC.texts, bodies, ALL_FIELDS, ["car"])
    inside: list[bool] = []

    def texts(body: bytes) -> Texts:
        inside.append(threading.current_thread() is threading.main_thread())
        return CODEC.texts(body)

    assert await marked_all(texts, bodies, ALL_FIELDS, ["car"]) == few
    monkeypatch.setattr(search_pipeline, "_MOST_BYTES_AT_ONCE", 1)
    assert await marked_all(texts, bodies, ALL_FIELDS, ["car"]) == few
    assert inside == [True, True, False, False]


async def test_long_candidates_are_ranked_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    services = SearchServices()
    await services.session("s1", "a car", "no boat", "the car and the boat")
    few = [hit.score for hit in (await services.find("car boat")).hits]
    inside: list[bool] = []

    def noted(*args: object) -> object:
        inside.append(threading.current_thread() is threading.main_thread())
        return rank(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(search_pipeline, "rank", noted)
    monkeypatch.setattr(search_pipeline, "_MOST_WORDS_AT_ONCE", 1)
    assert [hit.score for hit in (await services.find("car boat")).hits] == few
    assert inside
    assert not any(inside)
