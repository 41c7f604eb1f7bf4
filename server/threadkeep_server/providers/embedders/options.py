"""The options of an embedder."""

from __future__ import annotations

import math
import re
import zlib
from dataclasses import dataclass, field

from ..endpoint import check_endpoint
from ..onnx.files import POOLINGS

PROVIDERS = ("hashing", "onnx", "openai", "gemini")
MAX_DIMENSIONS = 16_384
_HASHING_DIMENSIONS = 384
_TYPES = ("query_type", "document_type")
_TYPE = re.compile(r"[A-Za-z0-9._-]{1,64}")
_ABOVE_ZERO = ("batch", "batch_characters", "timeout", "deadline", "max_attempts", "max_characters", "threads")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderOptions:
    """The model of an embedder and its limits. Times are in seconds. Raises ValueError for invalid options.

    An empty `provider` means none. An empty `base_url` means the provider's own address, which requires a key. The hashing
    embedder is local and uses only `dimensions` and `max_characters`. The embedder `onnx` is local: it uses `path` and the
    fields after it, and no endpoint.
    """

    provider: str
    model: str = ""
    base_url: str = field(default="", repr=False)  # it may hold a password
    api_key: str = field(default="", repr=False)
    dimensions: int = 0
    """0: the model's own; 384 for the hashing embedder."""
    batch: int = 64
    """Texts in one request."""
    batch_characters: int = 200_000
    """Characters in one request, including prefixes; a longer text is sent alone."""
    timeout: float = 30.0
    """For one attempt, from connecting to the last byte."""
    deadline: float = 120.0
    """For all attempts at one request and the delays between them."""
    max_attempts: int = 4
    backoff: float = 0.5
    """The longest delay before the second attempt; doubles for each further one. A longer Retry-After replaces it."""
    max_characters: int = 8_000
    """Characters of a text that are embedded; the rest is ignored."""
    query_prefix: str = ""
    """Precedes each query, for models trained with a prefix."""
    document_prefix: str = ""
    """Precedes each document."""
    query_type: str = ""
    """`input_type` of queries, for servers of the provider `openai` that add the prefixes of their model; empty: not sent."""
    document_type: str = ""
    """`input_type` of documents."""
    path: str = ""
    """The directory of a local model, or its file `*.onnx`."""
    pooling: str = ""
    """mean, cls or last; empty: as the directory says, otherwise mean."""
    max_tokens: int = 0
    """Tokens of a text that are embedded; 0: the model's own limit, which is also the most."""
    threads: int = 1
    """Threads that compute for a local model."""

    def __post_init__(self) -> None:
        if self.provider and self.provider not in PROVIDERS:
            raise ValueError(f"no embedder {self.provider!r}; use one of {', '.join(PROVIDERS)}")
        if self.provider == "onnx":
            self._check_local()
        elif self.provider not in {"", "hashing"}:
            self._check_endpoint()
        if self.provider:
            self._check_types()
        if not 0 <= self.dimensions <= MAX_DIMENSIONS:
            raise ValueError(f"the embedder's dimensions must be from 0 to {MAX_DIMENSIONS}")
        for name in _ABOVE_ZERO:
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"the embedder's {name} must be above zero")
        if not 0 <= self.backoff < math.inf:
            raise ValueError("the embedder's backoff must not be negative")

    def _check_local(self) -> None:
        if not self.path:
            raise ValueError("the embedder 'onnx' needs the path of a directory with model.onnx and tokenizer.json")
        if self.pooling not in ("", *POOLINGS):
            raise ValueError(f"the embedder's pooling must be one of {', '.join(POOLINGS)}")
        if self.max_tokens < 0:
            raise ValueError("the embedder's max_tokens must not be negative")

    def _check_endpoint(self) -> None:
        if not self.model:
            raise ValueError("the embedder needs the name of a model")
        check_endpoint("the embedder", self.base_url, self.api_key)
        if not self.base_url and not self.api_key:
            raise ValueError(f"the embedder {self.provider!r} needs an API key, or the base URL of a server without keys")

    def _check_types(self) -> None:
        for name in _TYPES:
            value = getattr(self, name)
            if value and self.provider != "openai":
                raise ValueError(f"the embedder's {name} is sent with 'openai' only; leave it empty with {self.provider!r}")
            if value and not _TYPE.fullmatch(value):
                raise ValueError(f"the embedder's {name} must be at most 64 letters, digits, dots, hyphens and underscores")

    @property
    def hashing_dimensions(self) -> int:
        return self.dimensions or _HASHING_DIMENSIONS

    @property
    def name(self) -> str:
        """`Embedder.model`. Contains everything that changes the vector of a document; its prefix by a CRC-32. Of `onnx` it is
        complete only in the options that `open_onnx` returns."""
        if self.provider == "hashing":
            return f"hashing-v1-{self.hashing_dimensions}"
        dimensions = f":{self.dimensions}" if self.dimensions and self.provider != "onnx" else ""
        prefix = f"+{zlib.crc32(self.document_prefix.encode()):08x}" if self.document_prefix else ""
        type_ = f"+type={self.document_type}" if self.document_type else ""
        return f"{self.provider}:{self.model}{dimensions}{prefix}{type_}"
