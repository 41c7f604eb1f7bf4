"""The options of a reranker."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..endpoint import check_endpoint

PROVIDERS = ("endpoint", "onnx")
_ABOVE_ZERO = ("top", "deadline", "max_characters", "concurrency", "threads", "first_pause")


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankerOptions:
    """The model of a reranker and its limits. Times are in seconds. Raises ValueError for invalid options. An empty `provider`
    means none."""

    provider: str
    model: str = ""
    base_url: str = field(default="", repr=False)  # it may hold a password
    api_key: str = field(default="", repr=False)
    path: str = ""
    """The directory of a local cross-encoder, or its file `*.onnx`."""
    max_tokens: int = 0
    """Tokens of a query and a document together, for a local model; 0: the model's own limit, which is also the most."""
    threads: int = 1
    """Threads that compute for a local model."""
    top: int = 50
    """Documents of a query that are scored, at most."""
    deadline: float = 1.0
    """For one query, including the wait for others."""
    max_characters: int = 2_000
    """Characters of a document, and of a query, that are scored; the rest is ignored."""
    concurrency: int = 4
    """Queries that are scored at a time."""
    first_pause: float = 1.0
    """The pause after three failures in a row; doubles for each further one."""

    def __post_init__(self) -> None:
        if self.provider and self.provider not in PROVIDERS:
            raise ValueError(f"no reranker {self.provider!r}; use one of {', '.join(PROVIDERS)}")
        if self.provider == "endpoint":
            if not self.model:
                raise ValueError("the reranker needs the name of a model")
            if not self.base_url:
                raise ValueError("the reranker needs a base URL, such as https://host/v1; requests go to /rerank below it")
            check_endpoint("the reranker", self.base_url, self.api_key)
        if self.provider == "onnx" and not self.path:
            raise ValueError("the reranker 'onnx' needs the path of a directory with model.onnx and tokenizer.json")
        if self.max_tokens < 0:
            raise ValueError("the reranker's max_tokens must not be negative")
        for name in _ABOVE_ZERO:
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"the reranker's {name} must be above zero")

    @property
    def name(self) -> str:
        """The name in logs."""
        return f"{self.provider}:{self.model}" if self.model else self.provider
