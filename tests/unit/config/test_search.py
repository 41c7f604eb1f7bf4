"""The settings of embeddings and of long-term memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from threadkeep_server.config.reranker import RerankerSettings
from threadkeep_server.config.search import SearchSettings
from threadkeep_server.config.settings import ENV_PREFIX, MASK, ConfigError, Settings, load_settings


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting from where the tests happen to run."""
    for name in (*Settings.model_fields, "config"):
        monkeypatch.delenv(ENV_PREFIX + name.upper(), raising=False)
    monkeypatch.chdir(tmp_path)


def test_the_defaults_are_the_documented_ones() -> None:
    settings = load_settings()
    assert {name: settings.public()[name] for name in SearchSettings.model_fields} == {
        "search_scan_bytes": 16 << 20,
        "search_scan_time": "2s",
        "max_searches": 128,
        "max_searches_per_caller": 32,
        "embedder": "",
        "embedder_model": "",
        "embedder_base_url": "",
        "embedder_api_key": "",
        "embedder_path": "",
        "embedder_pooling": "",
        "embedder_max_tokens": 0,
        "embedder_threads": 1,
        "embedder_dimensions": 0,
        "embedder_batch": 64,
        "embedder_timeout": "30s",
        "embedder_query_prefix": "",
        "embedder_document_prefix": "",
        "embedder_query_type": "",
        "embedder_document_type": "",
        "embedder_max_characters": 8000,
        "embed_events": True,
        "vector_cache_bytes": 256 << 20,
        "memory": True,
        "memory_ingest": "never",
        "memory_idle": "30m",
    }
    assert settings.memory_ingestions == frozenset()


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("on_idle", "on_idle"),
        (" On_Idle , on_expiry,on_idle ", "on_expiry,on_idle"),
        (["on_compaction", "on_idle"], "on_idle,on_compaction"),
        ("never", "never"),
        ([], "never"),
    ],
)
def test_ingestion_is_a_list_with_commas(value: object, read: str) -> None:
    settings = load_settings(memory_ingest=value)
    assert settings.memory_ingest == read
    assert settings.memory_ingestions == set(read.split(",")) - {"never"}
    assert load_settings(memory_ingest=settings.public()["memory_ingest"]).memory_ingest == read


def test_ingestion_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THREADKEEP_MEMORY_INGEST", "on_expiry,on_compaction")
    assert load_settings().memory_ingestions == {"on_expiry", "on_compaction"}


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("embedder", "acme", "'hashing'"),
        ("embedder_dimensions", -1, "greater than or equal to 0"),
        ("embedder_pooling", "max", "'mean'"),
        ("embedder_threads", 0, "greater than or equal to 1"),
        ("embedder_batch", 0, "greater than or equal to 1"),
        ("embedder_timeout", 0, "must be more than 0"),
        ("embedder_max_characters", 0, "greater than or equal to 1"),
        ("vector_cache_bytes", "lots", "a size such as 16MiB"),
        ("memory_ingest", "always", "must be never, or some of on_expiry, on_idle, on_compaction"),
        ("memory_ingest", "never,on_idle", "must be never, or some of on_expiry, on_idle, on_compaction"),
        ("memory_idle", 0, "must be more than 0"),
    ],
)
def test_a_wrong_value_is_reported_with_its_field_and_remedy(name: str, value: object, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(None, **{name: value})
    assert str(caught.value).startswith(f"{name} (from flag): ")
    assert says in str(caught.value)


def test_the_reranker_is_off_and_has_documented_limits() -> None:
    settings = load_settings()
    assert {name: settings.public()[name] for name in RerankerSettings.model_fields} == {
        "reranker": "",
        "reranker_model": "",
        "reranker_base_url": "",
        "reranker_api_key": "",
        "reranker_path": "",
        "reranker_max_tokens": 0,
        "reranker_threads": 1,
        "reranker_top": 50,
        "reranker_deadline": "1s",
        "reranker_max_characters": 2000,
        "reranker_concurrency": 4,
    }
    assert load_settings(reranker_api_key="sk-hush").public()["reranker_api_key"] == MASK


def test_neither_the_key_nor_the_address_password_is_shown() -> None:
    settings = load_settings(embedder_api_key="sk-hush", embedder_base_url="https://u:hush@h/v1")
    public = settings.public()
    assert "hush" not in json.dumps(public) + repr(settings)
    assert (public["embedder_api_key"], public["embedder_base_url"]) == (MASK, f"https://u:{MASK}@h/v1")
    for name in ("embedder_api_key", "embedder_base_url"):
        with pytest.raises(ConfigError) as caught:
            load_settings(None, **{name: ["hush"]})
        assert "hush" not in str(caught.value)
