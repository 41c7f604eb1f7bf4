"""What of the settings concerns embedding."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, field

from ..endpoint import check_endpoint

PROVIDERS = ("hashing", "openai", "gemini")
MAX_DIMENSIONS = 16_384
_HASHING_DIMENSIONS = 384
_ABOVE_ZERO = ("batch", "batch_characters", "timeout", "deadline", "max_attempts", "max_characters")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderOptions:
    """Which model embeds, and within which bounds. Times are in seconds. Raises ValueError for what cannot work.

    `provider` empty means none. `base_url` empty means the vendor's own address, which wants a key; any other address may do
    without. The hashing embedder asks nobody: of all this it takes `dimensions` and `max_characters` only.
    """

    provider: str
    model: str = ""
    base_url: str = field(default="", repr=False)  # it may hold a password
    api_key: str = field(default="", repr=False)
    dimensions: int = 0
    """0: as many as the model has by itself; 384 of the hashing embedder."""
    batch: int = 64
    """Most texts in one request."""
    batch_characters: int = 200_000
    """Most characters in one request, with those of the prefixes; a longer text goes alone."""
    timeout: float = 30.0
    """Of one attempt, from connecting to the last byte."""
    deadline: float = 120.0
    """Of all attempts at one request and the waits between them."""
    max_attempts: int = 4
    backoff: float = 0.5
    """Before the second attempt, at most; doubles for each further one. An endpoint's Retry-After holds if it is longer."""
    max_characters: int = 8_000
    """Of a text; what comes after is not embedded."""
    query_prefix: str = ""
    """Put before each question, for models that were trained so."""
    document_prefix: str = ""
    """Put before each text that is searched."""

    def __post_init__(self) -> None:
        if self.provider and self.provider not in PROVIDERS:
            raise ValueError(f"no embedder {self.provider!r}; use one of {', '.join(PROVIDERS)}")
        if self.provider not in {"", "hashing"}:
            self._check_endpoint()
        if not 0 <= self.dimensions <= MAX_DIMENSIONS:
            raise ValueError(f"the embedder's dimensions must be from 0 to {MAX_DIMENSIONS}")
        for name in _ABOVE_ZERO:
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"the embedder's {name} must be above zero")
        if not 0 <= self.backoff < math.inf:
            raise ValueError("the embedder's backoff must not be negative")

    def _check_endpoint(self) -> None:
        if not self.model:
            raise ValueError("the embedder needs the name of a model")
        check_endpoint("the embedder", self.base_url, self.api_key)
        if not self.base_url and not self.api_key:
            raise ValueError(f"the embedder {self.provider!r} needs an API key, or the base URL of a server that wants none")

    @property
    def hashing_dimensions(self) -> int:
        return self.dimensions or _HASHING_DIMENSIONS

    @property
    def name(self) -> str:
        """`Embedder.model`. All that changes the vector of a text is in it: a document prefix too, by its CRC-32."""
        if self.provider == "hashing":
            return f"hashing-v1-{self.hashing_dimensions}"
        dimensions = f":{self.dimensions}" if self.dimensions else ""
        prefix = f"+{zlib.crc32(self.document_prefix.encode()):08x}" if self.document_prefix else ""
        return f"{self.provider}:{self.model}{dimensions}{prefix}"
