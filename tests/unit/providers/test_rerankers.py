"""A reranker against a rerank endpoint on loopback, which answers or misbehaves."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.models.local_model import local_model
from tests.support.models.model_endpoint import Behaviour, ModelEndpoint, breaks_off, hangs, replies, served
from threadkeep_server.providers.errors import ProviderError
from threadkeep_server.providers.rerankers.base import RerankFailed
from threadkeep_server.providers.rerankers.bounded import BoundedReranker
from threadkeep_server.providers.rerankers.factory import open_reranker
from threadkeep_server.providers.rerankers.onnx import OnnxCrossEncoder
from threadkeep_server.providers.rerankers.options import RerankerOptions

KEY = "sk-test-0123456789"


def results(*scores: object) -> dict[str, Any]:
    """An answer with these scores; the best first, as endpoints give them."""
    return {"results": [{"index": index, "relevance_score": score} for index, score in reversed(list(enumerate(scores)))]}


@pytest.fixture
async def model() -> AsyncIterator[ModelEndpoint]:
    async with served(ModelEndpoint("openai")) as running:
        running.does(replies(results(0.1, 0.9)))
        yield running


@contextlib.asynccontextmanager
async def opened(model: ModelEndpoint, **changes: Any) -> AsyncIterator[BoundedReranker]:
    options: dict[str, Any] = {
        "provider": "endpoint",
        "model": "rerank-small",
        "base_url": model.url,
        "api_key": KEY,
        "deadline": 30.0,
    }
    reranker = open_reranker(RerankerOptions(**options | changes))
    assert reranker is not None
    try:
        yield reranker
    finally:
        await reranker.aclose()


async def failure(reranker: BoundedReranker) -> str:
    with pytest.raises(RerankFailed) as failed:
        await reranker.scores("q", ["a", "b"])
    return failed.value.problem


async def test_the_request_has_the_documented_form_and_scores_come_in_the_order_of_the_documents(model: ModelEndpoint) -> None:
    async with opened(model, max_characters=3) as reranker:
        assert await reranker.scores("question", ["long document", "\udc80"]) == [0.1, 0.9]
        assert (reranker.counts.answers, reranker.counts.failures) == (1, 0)
    (request,) = model.requests
    assert request.path == "/v1/rerank"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.json == {"model": "rerank-small", "query": "que", "documents": ["lon", "?"], "top_n": 2}


MALFORMED: dict[str, object] = {
    "no JSON": "<html>",
    "a list": [1],
    "no results": {},
    "one result": results(0.5),
    "three results": results(0.5, 0.5, 0.5),
    "an index twice": {"results": [{"index": 0, "relevance_score": 1}] * 2},
    "an index beyond": {"results": [{"index": index, "relevance_score": 1} for index in (1, 2)]},
    "a negative index": {"results": [{"index": index, "relevance_score": 1} for index in (0, -1)]},
    "an index that is true": {"results": [{"index": index, "relevance_score": 1} for index in (0, True)]},
    "a score that is NaN": '{"results": [{"index": 0, "relevance_score": NaN}, {"index": 1, "relevance_score": 1}]}',
    "an infinite score": '{"results": [{"index": 0, "relevance_score": 1e999}, {"index": 1, "relevance_score": 1}]}',
    "a huge score": '{"results": [{"index": 0, "relevance_score": 1' + "0" * 400 + '}, {"index": 1, "relevance_score": 1}]}',
    "a score that is text": results("0.5", 1),
    "no score": results(None, 1),
}


async def test_malformed_and_hostile_answers_are_failures(model: ModelEndpoint) -> None:
    for name, answer in MALFORMED.items():
        model.does(replies(answer))
        async with opened(model) as reranker:
            problem = await failure(reranker)
            assert problem.startswith(("gave", "did not give")), name
            assert reranker.counts.failures == 1


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (replies({"message": KEY}, status=500), "answered with an error (500)"),
        (replies({"message": KEY}, status=401), "refused (401)"),
        (replies("x" * (5 << 20)), "too long"),
        (breaks_off(results(1, 2)), "broke off"),
    ],
)
async def test_failures_name_no_key(
    model: ModelEndpoint, answer: Behaviour, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    model.does(answer)
    async with opened(model) as reranker:
        assert says in await failure(reranker)
    assert KEY not in caplog.text
    assert "the reranker endpoint:rerank-small" in caplog.text


async def test_a_slow_answer_ends_at_the_deadline_which_includes_the_wait_for_others(model: ModelEndpoint) -> None:
    model.does(hangs)
    async with opened(model, deadline=0.2, concurrency=1) as reranker:
        async with reranker._running:  # another search
            assert await failure(reranker) == "did not answer in time"
        assert not model.requests
        assert await failure(reranker) == "did not answer in time"


async def test_a_failing_endpoint_is_left_alone_and_then_tried_by_one_search(model: ModelEndpoint) -> None:
    model.does(replies(status=500))
    async with opened(model) as reranker:
        now = 100.0
        reranker._clock = lambda: now
        for _ in range(3):
            assert await failure(reranker) == "answered with an error (500)"
        assert await failure(reranker) == "is not called after failures"
        assert len(model.requests) == 3
        now += 1.0
        model.does(replies(results(1, 2)))
        scores, problem = await asyncio.gather(reranker.scores("q", ["a", "b"]), failure(reranker))
        assert (scores, problem) == ([1, 2], "is not called after failures")
        assert await reranker.scores("q", ["a", "b"]) == [1, 2]
        model.does(replies(status=429, headers={"retry-after": "20"}))
        await failure(reranker)
        now += 19.0
        assert await failure(reranker) == "is not called after failures"
        assert reranker.counts.failures == 7


async def test_many_searches_at_one_slow_moment_pause_once(model: ModelEndpoint) -> None:
    model.does(hangs)
    async with opened(model, deadline=0.1) as reranker:
        now = 100.0
        reranker._clock = lambda: now
        assert set(await asyncio.gather(*(failure(reranker) for _ in range(20)))) == {"did not answer in time"}
        assert await failure(reranker) == "is not called after failures"
        now += 1.0  # the longest first pause
        assert await failure(reranker) == "did not answer in time"
        now += 0.9  # the shortest second one is 1 s
        assert await failure(reranker) == "is not called after failures"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"provider": "acme"}, "no reranker 'acme'; use one of endpoint, onnx"),
        ({"model": ""}, "name of a model"),
        ({"base_url": ""}, "needs a base URL"),
        ({"base_url": "localhost"}, "the reranker's base URL must look like"),
        ({"api_key": "sk\n"}, "line break"),
        ({"provider": "onnx"}, "needs the path"),
        ({"deadline": 0}, "deadline must be above zero"),
        ({"max_tokens": -1}, "max_tokens must not be negative"),
    ],
)
def test_reranker_options_that_cannot_work_are_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        RerankerOptions(**{"provider": "endpoint", "model": "m", "base_url": "https://h/v1"} | changes)


def test_a_local_model_that_scores_no_pairs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the reranker's model cannot score a pair of texts: it gives"):
        open_reranker(RerankerOptions(provider="onnx", path=str(local_model(tmp_path / "embedder"))))


class Pairs:
    """A model in place of `OnnxModel`, which gives numbers for pairs. `width`: numbers per pair."""

    def __init__(self, width: int, score: float = 0.5) -> None:
        self.width, self.score = width, score
        self.sizes: list[int] = []

    def run(self, pairs: list[tuple[str, str]], output: int) -> tuple[np.ndarray, np.ndarray]:
        self.sizes.append(len(pairs))
        rows = [[0.0] * (self.width - 1) + [self.score * len(document)] for _, document in pairs]
        return np.array(rows, np.float32), np.ones((len(pairs), 1), np.int64)

    async def call(self, work: Any, *given: Any) -> Any:
        return await asyncio.to_thread(work, *given)


@pytest.mark.parametrize("width", [1, 2])
async def test_a_cross_encoder_scores_pairs_in_parts(width: int) -> None:
    model = Pairs(width)
    encoder = OnnxCrossEncoder(model)  # type: ignore[arg-type]
    assert await encoder.scores("q", ["x" * length for length in range(20)]) == [length / 2 for length in range(20)]
    assert model.sizes == [1, 8, 8, 4]
    model.score = float("nan")
    with pytest.raises(ProviderError, match="no number"):
        await encoder.scores("q", ["x"])
