"""Both vendors' libraries against an embeddings endpoint, which answers or misbehaves."""

from __future__ import annotations

import asyncio
import logging
import time
import traceback

import numpy as np
import pytest

from tests.support.models.embedding_endpoint import EmbeddingEndpoint, vector
from tests.support.models.model_endpoint import Behaviour, breaks_off, hangs, never_ends, replies
from threadkeep_server.providers.embedders.base import Embedder, EmbedFailed

from .conftest import KEY, Opened

SECRET = "the vendor's words, which quote sk-test-0123456789"
TEXT = "Alice flies to Oslo"
BUSY = replies({"error": {"message": SECRET}}, status=500)
UNREADABLE = "gave vectors that cannot be read"


async def failure(embedder: Embedder, *texts: str) -> EmbedFailed:
    with pytest.raises(EmbedFailed) as failed:
        await embedder.embed(texts or [TEXT])
    return failed.value


async def test_texts_become_rows_of_length_1(model: EmbeddingEndpoint, opened: Opened) -> None:
    model.does(model.embeds(lambda text: [3.0 * len(text), 0.0, 4.0 * len(text)]))
    async with opened() as embedder:
        assert embedder.dimension == 0
        vectors = await embedder.embed(["one", "three", "five"])
        assert embedder.dimension == 3
    assert vectors.dtype == np.float32
    assert vectors == pytest.approx(np.array([[0.6, 0.0, 0.8]] * 3))


async def test_vectors_of_any_size_are_normalized(model: EmbeddingEndpoint, opened: Opened) -> None:
    model.does(model.embeds(lambda text: [1e300, -1e300]), model.embeds(lambda text: [1e-300, 0.0]))
    async with opened() as embedder:
        assert (await embedder.embed([TEXT]))[0] == pytest.approx([2**-0.5, -(2**-0.5)])
        assert (await embedder.embed([TEXT]))[0] == pytest.approx([1.0, 0.0])


async def test_the_embedding_request_has_the_documented_form(model: EmbeddingEndpoint, opened: Opened) -> None:
    async with opened(dimensions=4) as embedder:
        assert embedder.model == f"{model.provider}:embedding-small:4"
        await embedder.embed(["a", "b"])
    (request,) = model.requests
    if model.provider == "openai":
        assert request.path == "/v1/embeddings"
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert request.json == {"model": "embedding-small", "input": ["a", "b"], "dimensions": 4, "encoding_format": "float"}
    else:
        assert request.path == "/v1beta/models/embedding-small:batchEmbedContents"
        assert request.headers["x-goog-api-key"] == KEY
        assert [each["outputDimensionality"] for each in request.json["requests"]] == [4, 4]
        assert [each["taskType"] for each in request.json["requests"]] == ["RETRIEVAL_DOCUMENT"] * 2
        assert model.texts(request) == ["a", "b"]


async def test_dimensions_are_not_sent_unless_they_are_set(model: EmbeddingEndpoint, opened: Opened) -> None:
    async with opened() as embedder:
        assert embedder.model == f"{model.provider}:embedding-small"
        await embedder.embed(["a"])
    assert "imension" not in str(model.requests[0].json)


async def test_questions_and_documents_have_separate_prefixes(model: EmbeddingEndpoint, opened: Opened) -> None:
    async with opened(query_prefix="query: ", document_prefix="passage: ") as embedder:
        await embedder.embed(["a", "b"])
        await embedder.embed(["a"], query=True)
    assert [model.texts(request) for request in model.requests] == [["passage: a", "passage: b"], ["query: a"]]
    if model.provider == "gemini":
        assert model.requests[1].json["requests"][0]["taskType"] == "RETRIEVAL_QUERY"


@pytest.mark.parametrize("model", ["openai"], indirect=True)
@pytest.mark.parametrize(("query", "document"), [("query", "passage"), ("", "passage"), ("search_query", "")])
async def test_types_are_sent_with_what_they_are_set_for(
    model: EmbeddingEndpoint, opened: Opened, query: str, document: str
) -> None:
    async with opened(query_type=query, document_type=document) as embedder:
        await embedder.embed(["a", "b"])
        await embedder.embed(["a"], query=True)
    assert [request.json.get("input_type") for request in model.requests] == [document or None, query or None]
    assert [model.texts(request) for request in model.requests] == [["a", "b"], ["a"]]


async def test_many_texts_are_embedded_in_batches_and_returned_in_order(model: EmbeddingEndpoint, opened: Opened) -> None:
    model.does(model.embeds(lambda text: [float(len(text)), 1.0]))
    texts = ["x" * n for n in range(1, 8)]
    async with opened(batch=3) as embedder:
        vectors = await embedder.embed(texts)
    assert [len(model.texts(request)) for request in model.requests] == [3, 3, 1]
    assert vectors[:, 0] / vectors[:, 1] == pytest.approx(np.arange(1, 8))


async def test_a_batch_is_bounded_in_characters(model: EmbeddingEndpoint, opened: Opened) -> None:
    async with opened(batch_characters=10) as embedder:
        await embedder.embed(["x" * 5, "x" * 5, "x" * 6, "x" * 20, "x"])
    assert [[len(text) for text in model.texts(request)] for request in model.requests] == [[5, 5], [6], [20], [1]]


async def test_long_texts_are_cut_between_characters(model: EmbeddingEndpoint, opened: Opened) -> None:
    async with opened(max_characters=4) as embedder:
        await embedder.embed(["日本語の文章", "👩‍💻 at work", "abcd", "half \ud800", "\ud800"])
    assert model.texts(model.requests[0]) == ["日本語の", "👩‍💻 ", "abcd", "half", "?"]


async def test_blank_texts_are_not_sent_and_have_no_similarity(model: EmbeddingEndpoint, opened: Opened) -> None:
    async with opened() as embedder:
        assert (await embedder.embed([])).shape == (0, 0)
        assert (await embedder.embed([" \n", ""])).shape == (2, 0)
        assert model.requests == []
        vectors = await embedder.embed(["", TEXT, " "])
        assert vectors.tolist() == [[0.0] * 4, vector(TEXT), [0.0] * 4]
        assert (await embedder.embed([""])).tolist() == [[0.0] * 4]
    assert [model.texts(request) for request in model.requests] == [[TEXT]]


async def test_openai_answers_are_ordered_by_their_index(model: EmbeddingEndpoint, opened: Opened) -> None:
    model.does(model.embeds(lambda text: [float(len(text)), 1.0], order=lambda items: items[::-1]))
    async with opened() as embedder:
        vectors = await embedder.embed(["x", "xx", "xxx"])
    found = (vectors[:, 0] / vectors[:, 1]).round().tolist()
    # Gemini's have no index: the order is all there is.
    assert found == ([1, 2, 3] if model.provider == "openai" else [3, 2, 1])


async def test_a_wrong_number_of_vectors_is_an_invalid_answer(model: EmbeddingEndpoint, opened: Opened) -> None:
    model.does(model.embeds(order=lambda items: items[1:]), model.embeds(order=lambda items: [*items, items[0]]))
    async with opened() as embedder:
        for _ in range(2):
            failed = await failure(embedder, "a", "b")
            assert (failed.problem, failed.retry) == ("gave an answer that cannot be read", False)
    assert len(model.requests) == 2


async def test_two_vectors_for_one_text_and_none_for_another_are_no_answer(model: EmbeddingEndpoint, opened: Opened) -> None:
    if model.provider == "gemini":
        model.does(replies({"embeddings": [{"values": [1.0]}, {}]}))
    else:
        model.does(model.embeds(order=lambda items: [items[0], items[0]]))
    async with opened() as embedder:
        assert "cannot be read" in (await failure(embedder, "a", "b")).problem


BAD_VECTORS: list[list[object]] = [[float("nan"), 1.0], [float("inf"), 1.0], [1.0, None], [], ["a", "b"], [[1.0], [2.0]]]


@pytest.mark.parametrize("bad", BAD_VECTORS, ids=["nan", "infinite", "null", "empty", "words", "nested"])
async def test_invalid_vectors_are_refused(model: EmbeddingEndpoint, opened: Opened, bad: list[object]) -> None:
    model.does(model.embeds(lambda text: bad), model.embeds())
    async with opened() as embedder:
        failed = await failure(embedder)
        assert "cannot be read" in failed.problem
        assert not failed.retry
        assert embedder.dimension == 0
        assert (await embedder.embed([TEXT])).tolist() == [vector(TEXT)]


async def test_vectors_of_several_lengths_are_refused(model: EmbeddingEndpoint, opened: Opened) -> None:
    model.does(model.embeds(lambda text: [1.0] * len(text)))
    async with opened() as embedder:
        assert (await failure(embedder, "a", "bb")).problem == UNREADABLE


async def test_another_dimension_than_before_is_refused(model: EmbeddingEndpoint, opened: Opened) -> None:
    model.does(model.embeds(), model.embeds(lambda text: [1.0, 0.0]))
    async with opened() as embedder:
        await embedder.embed([TEXT])
        assert (await failure(embedder)).problem == "gave vectors of 2 dimensions instead of 4"


@pytest.mark.parametrize("known", [{"dimensions": 3}, {"stored_dimension": 3}], ids=["as set", "as stored"])
async def test_another_dimension_than_is_wanted_is_refused(
    model: EmbeddingEndpoint, opened: Opened, known: dict[str, int]
) -> None:
    async with opened(**known) as embedder:
        assert embedder.dimension == 3
        failed = await failure(embedder)
        assert (failed.problem, failed.retry) == ("gave vectors of 4 dimensions instead of 3", False)
        assert (await embedder.embed([""])).shape == (1, 3)


async def test_dimensions_that_differ_from_the_stored_ones_are_refused_at_start(opened: Opened) -> None:
    with pytest.raises(ValueError, match=r"the stored vectors of \w+:embedding-small:4 have 3 dimensions"):
        async with opened(dimensions=4, stored_dimension=3):
            pass


async def test_a_busy_endpoint_is_retried(model: EmbeddingEndpoint, opened: Opened) -> None:
    model.does(BUSY, breaks_off({"data": []}), model.embeds())
    async with opened() as embedder:
        assert (await embedder.embed([TEXT])).tolist() == [vector(TEXT)]
    assert len(model.requests) == 3


async def test_attempts_are_bounded_and_the_failure_may_pass(model: EmbeddingEndpoint, opened: Opened) -> None:
    model.does(BUSY)
    async with opened(max_attempts=3) as embedder:
        failed = await failure(embedder)
        assert (failed.problem, failed.retry, failed.retry_after) == ("answered with an error (500)", True, 0.0)
    assert len(model.requests) == 3


async def test_a_refusal_is_final(model: EmbeddingEndpoint, opened: Opened) -> None:
    statuses = (307, 400, 401, 403, 404, 413, 422)
    elsewhere = {"location": f"{model.url}/elsewhere"}
    model.does(*(replies({"error": {"message": SECRET}}, status=status, headers=elsewhere) for status in statuses))
    async with opened() as embedder:
        for status in statuses:
            failed = await failure(embedder)
            assert (failed.problem, failed.retry) == (f"refused ({status})", False)
    assert len(model.requests) == len(statuses)


async def test_retry_after_is_waited_for(model: EmbeddingEndpoint, opened: Opened) -> None:
    model.does(replies({}, status=429, headers={"retry-after": "1"}), model.embeds())
    async with opened() as embedder:
        began = time.monotonic()
        await embedder.embed([TEXT])
        assert time.monotonic() - began >= 1.0


async def test_a_retry_after_beyond_the_deadline_is_passed_to_the_caller(model: EmbeddingEndpoint, opened: Opened) -> None:
    model.does(replies({}, status=429, headers={"retry-after": "600"}))
    async with opened(deadline=60.0) as embedder:
        failed = await failure(embedder)
        assert (failed.problem, failed.retry, failed.retry_after) == ("refused (429)", True, 600.0)
    assert len(model.requests) == 1


@pytest.mark.parametrize("behavior", [hangs, never_ends(b" ", every=0.02)], ids=["silent", "dripping"])
async def test_a_slow_response_is_a_timeout_of_the_attempt(
    model: EmbeddingEndpoint, opened: Opened, behavior: Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    model.does(behavior)
    async with opened(timeout=1.0, max_attempts=2) as embedder:
        failed = await failure(embedder)
        assert (failed.problem, failed.retry) == ("timed out", True)
    # The log counts attempts: on a slow machine one may end before the endpoint has read its request.
    assert f"{embedder.model} timed out (attempt 2), giving up" in [record.getMessage() for record in caplog.records]
    assert len(model.requests) <= 2


async def test_canceling_closes_the_connection_at_once(model: EmbeddingEndpoint, opened: Opened) -> None:
    model.does(hangs)
    async with opened(timeout=60.0) as embedder:
        asking = asyncio.create_task(embedder.embed([TEXT]))
        async with asyncio.timeout(60):
            await model.requested.wait()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await model.gone.wait()


async def test_an_unreachable_endpoint_is_reported(model: EmbeddingEndpoint, opened: Opened) -> None:
    async with opened(base_url="http://127.0.0.1:1/v1", max_attempts=2) as embedder:
        failed = await failure(embedder)
        assert (failed.problem, failed.retry) == ("could not be reached", True)


async def test_an_answer_is_read_up_to_a_limit_that_grows_with_the_batch(model: EmbeddingEndpoint, opened: Opened) -> None:
    model.does(never_ends(b" " * 65_536))
    async with opened(batch=1) as embedder:
        assert (await failure(embedder)).problem == "gave an answer that is too long"
    wide = [0.123456789012345678] * 3072
    model.does(model.embeds(lambda text: list(wide)))
    async with opened(batch=64) as embedder:
        assert (await embedder.embed([TEXT] * 64)).shape == (64, 3072)  # 4.1 MB, more than a summary may have


async def test_an_invalid_answer_is_reported(model: EmbeddingEndpoint, opened: Opened) -> None:
    bodies = ["<html>oops</html>", "{", "", "null", "[]", "3", '"text"', "{}", '{"data": 5, "embeddings": 5}']
    model.does(*(replies(body) for body in bodies))
    async with opened() as embedder:
        for body in bodies:
            assert "cannot be read" in (await failure(embedder)).problem, body
    assert len(model.requests) == len(bodies)


async def test_the_environment_names_neither_address_nor_key_nor_proxy(
    model: EmbeddingEndpoint, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = ("OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", *addresses):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    for name in ("OPENAI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "sk-of-the-environment")
    for name in ("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE"):
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("GOOGLE_GENAI_API_VERSION", "v9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with opened(api_key="") as embedder:
        assert (await embedder.embed([TEXT])).tolist() == [vector(TEXT)]
    assert "sk-of-the-environment" not in str(model.requests[0].headers)
    assert "v9" not in model.requests[0].path


async def test_errors_contain_neither_key_nor_address_nor_text(
    model: EmbeddingEndpoint, opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    body = {"error": {"message": SECRET}}
    answers = [replies(body, status=401), replies(body, status=500), breaks_off(body), replies(SECRET), model.embeds()]
    for timeout, behaviors in ((60.0, answers), (1.0, [hangs])):  # answers may take longer than a second
        model.does(*behaviors)
        async with opened(max_attempts=1, timeout=timeout, dimensions=5) as embedder:
            for _ in behaviors:
                failed = await failure(embedder)
                assert failed.__cause__ is None
                assert failed.__context__ is None
                reported = "".join(traceback.format_exception(failed, chain=True)) + repr(failed)
                assert not [secret for secret in (KEY, model.url, SECRET, TEXT) if secret in reported]
            assert KEY not in repr(embedder)
    lines = [record.getMessage() for record in caplog.records if record.name != "asyncio"]
    assert f"{model.provider}:embedding-small:5 refused (401) (attempt 1), giving up" in lines
    assert not [line for line in lines for secret in (KEY, model.url, SECRET, TEXT) if secret in line]
