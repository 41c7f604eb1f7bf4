"""The settings of search, embeddings and long-term memory; part of `settings.Settings`."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import BaseSettings

from .types import Bytes, Interval, listed, lower

_INGESTIONS = ("on_expiry", "on_idle", "on_compaction")


def _ingestions(value: str) -> str:
    names = [name.strip() for name in value.lower().split(",") if name.strip()]
    if names in ([], ["never"]):
        return "never"
    if not set(names) <= set(_INGESTIONS):
        raise ValueError(f"must be never, or some of {', '.join(_INGESTIONS)}, separated by commas")
    return ",".join(name for name in _INGESTIONS if name in names)


class SearchSettings(BaseSettings):
    """Part of `settings.Settings`."""

    search_scan_bytes: Bytes = Field(
        default=16 << 20,
        description="Bytes of events that one search reads if they are not indexed yet, without `search_index`, or to compare "
        "what no index has (a pattern, metadata): 16 MiB. A search that needs more says that it is incomplete.",
    )
    search_scan_time: Interval = Field(default=timedelta(seconds=2), description="How long one search reads such events.")
    max_searches: int = Field(default=128, ge=1, le=100_000, description="Most searches at a time on this server.")
    max_searches_per_caller: int = Field(
        default=32,
        ge=1,
        le=100_000,
        description="Most searches at a time of one user, or of all callers of a tenant that are not bound to a user.",
    )
    embedder: Annotated[Literal["", "hashing", "onnx", "openai", "gemini"], BeforeValidator(lower)] = Field(
        default="",
        description="Provider of embeddings for semantic search: `openai` (any endpoint with its embeddings API), `gemini` "
        "(both require the extra `embedder`), `onnx` (a local model of `embedder_path`; requires the extra `embedder-local`), "
        "or `hashing` (local, needs no model; tolerates typos, does not capture meaning). "
        "Empty: none; semantic searches are rejected.",
    )
    embedder_model: str = Field(default="", description="The model's name. Required with `openai` and `gemini`.")
    embedder_base_url: str = Field(
        default="",
        repr=False,
        description="The endpoint, such as `http://127.0.0.1:8000/v1`; for `gemini` without a version. "
        "Empty: the provider's own.",
    )
    embedder_api_key: str = Field(default="", repr=False, description="The API key. Providers' own endpoints require it.")
    embedder_path: str = Field(
        default="",
        description="With `onnx`: the directory with `model.onnx` and `tokenizer.json`, or one file `*.onnx` of it. "
        "Its own files give the pooling, the prefixes and the most tokens, unless settings do.",
    )
    embedder_pooling: Annotated[Literal["", "mean", "cls", "last"], BeforeValidator(lower)] = Field(
        default="",
        description="With `onnx`: how the vectors of tokens become one: `mean`, `cls` or `last`. "
        "Empty: as the directory's `1_Pooling/config.json` says, otherwise `mean`.",
    )
    embedder_max_tokens: int = Field(
        default=0, ge=0, le=65_536, description="With `onnx`: most tokens of a text that are embedded. 0: the model's limit."
    )
    embedder_threads: int = Field(default=1, ge=1, le=256, description="With `onnx`: threads that compute, at most.")
    embedder_dimensions: int = Field(
        default=0,
        ge=0,
        le=16_384,
        description="Dimension of the vectors, for models with a choice. 0: the model's own; 384 with `hashing`.",
    )
    embedder_batch: int = Field(default=64, ge=1, le=2048, description="Most texts in one request.")
    embedder_timeout: Interval = Field(default=timedelta(seconds=30), description="Timeout of one attempt.")
    embedder_query_prefix: str = Field(
        default="", description="Prefix of each embedded query, for models trained with one: `query: `."
    )
    embedder_document_prefix: str = Field(
        default="", description="Prefix of each embedded document: `passage: `. A change embeds all documents again."
    )
    embedder_query_type: str = Field(
        default="",
        description="With `openai`: sent as `input_type` with queries, to servers that add the prefixes themselves: `query`. "
        "Letters, digits, `.`, `-` and `_`, at most 64. Empty: not sent.",
    )
    embedder_document_type: str = Field(
        default="",
        description="With `openai`: sent as `input_type` with documents: `passage` or `document`, as the server wants. "
        "Empty: not sent. A change embeds all documents again.",
    )
    embedder_max_characters: int = Field(
        default=8000, ge=1, le=1_000_000, description="Most characters of a text that are embedded; the rest is ignored."
    )
    embed_events: bool = Field(default=True, description="Embed events for semantic search. Off: only memories are embedded.")
    vector_cache_bytes: Bytes = Field(
        default=256 << 20, description="RAM for the vectors of recently searched scopes: 256 MiB."
    )
    memory: bool = Field(default=True, description="Offer long-term memory. Off: its calls are rejected.")
    memory_ingest: Annotated[str, BeforeValidator(listed), AfterValidator(_ingestions)] = Field(
        default="never",
        description="When sessions are ingested automatically: `never`, or some of `on_expiry` (before they are deleted), "
        "`on_idle` (after `memory_idle` without an append) and `on_compaction` (when they are compacted), separated by commas.",
    )
    memory_idle: Interval = Field(
        default=timedelta(minutes=30), description="Time without an append after which `on_idle` ingests a session."
    )

    @property
    def memory_ingestions(self) -> frozenset[str]:
        """The values of `memory_ingest`: on_expiry, on_idle, on_compaction."""
        return frozenset(self.memory_ingest.split(",")) - {"never"}
