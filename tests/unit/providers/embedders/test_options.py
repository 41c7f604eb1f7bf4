"""The options and what they open, without a network."""

from __future__ import annotations

import logging
import sys

import pytest

from threadkeep_server.providers.embedders.factory import open_embedder
from threadkeep_server.providers.embedders.options import EmbedderOptions


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"provider": "acme"}, "no embedder 'acme'; use one of hashing, onnx, openai, gemini"),
        ({"model": ""}, "name of a model"),
        ({"api_key": ""}, "needs an API key"),
        ({"api_key": "sk-secret\n"}, "line break"),
        ({"base_url": "localhost:11434"}, "the embedder's base URL must look like"),
        ({"dimensions": -1}, "dimensions must be from 0 to 16384"),
        ({"dimensions": 16_385}, "dimensions must be from 0 to 16384"),
        ({"batch": 0}, "batch must be above zero"),
        ({"batch_characters": 0}, "batch_characters must be above zero"),
        ({"timeout": float("nan")}, "timeout must be above zero"),
        ({"deadline": float("inf")}, "deadline must be above zero"),
        ({"max_attempts": 0}, "max_attempts must be above zero"),
        ({"max_characters": 0}, "max_characters must be above zero"),
        ({"backoff": -0.1}, "backoff must not be negative"),
        ({"query_type": "a query"}, "query_type must be at most 64 letters"),
        ({"query_type": "query\n"}, "query_type must be at most 64 letters"),
        ({"document_type": "p" * 65}, "document_type must be at most 64 letters"),
        ({"provider": "gemini", "query_type": "query"}, "query_type is sent with 'openai' only; leave it empty with 'gemini'"),
        ({"provider": "hashing", "document_type": "passage"}, "document_type is sent with 'openai' only"),
        ({"provider": "onnx", "path": "p", "document_type": "passage"}, "document_type is sent with 'openai' only"),
    ],
)
def test_options_that_cannot_work_are_refused(changes: dict[str, object], problem: str) -> None:
    options: dict[str, object] = {"provider": "openai", "model": "m", "api_key": "k"}
    with pytest.raises(ValueError, match=problem) as refused:
        EmbedderOptions(**(options | changes))  # type: ignore[arg-type]
    assert "sk-secret" not in str(refused.value)


def test_options_do_not_show_their_secrets() -> None:
    options = EmbedderOptions(provider="gemini", model="m", base_url="https://u:hush@host", api_key="sk-secret")
    assert "hush" not in repr(options)
    assert "sk-secret" not in repr(options)


def test_without_a_provider_there_is_no_embedder() -> None:
    assert open_embedder(EmbedderOptions(provider="")) is None


def test_options_that_change_vectors_change_the_name() -> None:
    def name(**changes: object) -> str:
        options: dict[str, object] = {"provider": "openai", "model": "small", "api_key": "k"}
        return EmbedderOptions(**options | changes).name  # type: ignore[arg-type]

    assert name() == "openai:small"
    assert name(dimensions=512) == "openai:small:512"
    assert name(document_prefix="passage: ") == "openai:small+08a5a4ba"
    assert name(provider="gemini") == "gemini:small"
    assert name(document_type="passage") == "openai:small+type=passage"
    assert name(document_type="08a5a4ba") != name(document_prefix="passage: ")
    assert name(document_type="p", document_prefix="passage: ", dimensions=512) == "openai:small:512+08a5a4ba+type=p"
    assert name(query_type="query", query_prefix="query: ", batch=3, base_url="http://h", api_key="") == "openai:small"


@pytest.mark.parametrize(("provider", "package"), [("openai", "openai"), ("gemini", "google.genai")])
def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch, provider: str, package: str) -> None:
    monkeypatch.delitem(sys.modules, f"threadkeep_server.providers.embedders.{provider}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    if provider == "gemini":
        monkeypatch.delattr("google.genai", raising=False)
    with pytest.raises(ValueError, match=r"needs the package '.+'; install 'threadkeep\[embedder\]'"):
        open_embedder(EmbedderOptions(provider=provider, model="m", api_key="k"))


@pytest.mark.parametrize("provider", ["openai", "gemini"])
async def test_the_http_libraries_do_not_log_content(monkeypatch: pytest.MonkeyPatch, provider: str) -> None:
    loggers = [logging.getLogger(name) for name in ("openai", "google_genai", "httpx2", "httpcore2")]
    for logger in loggers:
        monkeypatch.setattr(logger, "level", logging.DEBUG)
    embedder = open_embedder(EmbedderOptions(provider=provider, model="m", api_key="k"))
    assert embedder is not None
    assert [logger.level for logger in loggers] == [logging.WARNING] * 4
    await embedder.aclose()


@pytest.mark.parametrize(
    ("model", "prefix", "by_field", "document", "question"),
    [
        ("gemini-embedding-001", "", True, "a", "a"),
        ("models/text-embedding-004", "", True, "a", "a"),
        ("gemini-embedding-2", "", False, "title: none | text: a", "task: search result | query: a"),
        ("gemini-embedding-2", "own: ", False, "own: a", "own: a"),
    ],
)
async def test_gemini_requests_have_the_task_type_in_the_form_of_their_model(
    model: str, prefix: str, by_field: bool, document: str, question: str
) -> None:
    from tests.support.models.embedding_endpoint import embedding_endpoint

    async with embedding_endpoint("gemini") as running:
        options = EmbedderOptions(
            provider="gemini", model=model, base_url=running.url, query_prefix=prefix, document_prefix=prefix
        )
        embedder = open_embedder(options)
        assert embedder is not None
        assert (await embedder.embed(["a", "a"])).shape == (2, 4)
        await embedder.embed(["a"], query=True)
        await embedder.aclose()
    assert [running.texts(request) for request in running.requests] == [[document, document], [question]]
    tasks = [request.json["requests"][0].get("taskType") for request in running.requests]
    assert tasks == (["RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"] if by_field else [None, None])
