"""The settings of the reranker; part of `settings.Settings`."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from pydantic_settings import BaseSettings

from .types import Interval, lower


class RerankerSettings(BaseSettings):
    """Part of `settings.Settings`."""

    reranker: Annotated[Literal["", "endpoint", "onnx"], BeforeValidator(lower)] = Field(
        default="",
        description="Orders the best hits of ranked and hybrid searches again: `endpoint` (any with the rerank API of Cohere "
        "and Jina; requires the extra `embedder`), or `onnx` (a local cross-encoder of `reranker_path`; requires the extra "
        "`embedder-local`). Empty: none.",
    )
    reranker_model: str = Field(default="", description="The model's name. Required with `endpoint`.")
    reranker_base_url: str = Field(
        default="",
        repr=False,
        description="With `endpoint`: the address before `/rerank`, such as `https://api.jina.ai/v1` or "
        "`https://api.cohere.com/v2`.",
    )
    reranker_api_key: str = Field(default="", repr=False, description="The API key, sent as a bearer token.")
    reranker_path: str = Field(
        default="",
        description="With `onnx`: the directory with `model.onnx` and `tokenizer.json`, or one file `*.onnx` of it.",
    )
    reranker_max_tokens: int = Field(
        default=0,
        ge=0,
        le=65_536,
        description="With `onnx`: most tokens of a query and a document together. 0: the model's limit.",
    )
    reranker_threads: int = Field(default=1, ge=1, le=256, description="With `onnx`: threads that compute, at most.")
    reranker_top: int = Field(default=50, ge=2, le=1_000, description="Most hits of a search that are ordered again.")
    reranker_deadline: Interval = Field(
        default=timedelta(seconds=1), description="How long a search waits for the reranker, before it answers without."
    )
    reranker_max_characters: int = Field(
        default=2000, ge=1, le=1_000_000, description="Most characters of a hit that the reranker reads; the rest is ignored."
    )
    reranker_concurrency: int = Field(
        default=4,
        ge=1,
        le=1_000,
        description="Most searches that use the reranker at a time; others wait until their deadline.",
    )
