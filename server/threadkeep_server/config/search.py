"""The settings of recall: embeddings, long-term memory and when sessions go into it; part of `config.Settings`."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import BaseSettings

from .types import Bytes, Interval, lower

_INGESTIONS = ("on_expiry", "on_idle", "on_compaction")


def _listed(value: object) -> object:
    """A list, which TOML has, in the form of the environment."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else value


def _ingestions(value: str) -> str:
    names = [name.strip() for name in value.lower().split(",") if name.strip()]
    if names in ([], ["never"]):
        return "never"
    if not set(names) <= set(_INGESTIONS):
        raise ValueError(f"must be never, or some of {', '.join(_INGESTIONS)} with commas between")
    return ",".join(name for name in _INGESTIONS if name in names)


class RecallSettings(BaseSettings):
    """See `config.Settings`."""

    embedder: Annotated[Literal["", "hashing", "openai", "gemini"], BeforeValidator(lower)] = Field(
        default="",
        description="Who turns texts into vectors, for search by meaning: `openai` (any endpoint that speaks its embeddings), "
        "`gemini`, which both need the extra `embedder`, or `hashing`, which asks nobody, knows no meaning and forgives typos. "
        "Empty: nobody, and such searches are refused.",
    )
    embedder_model: str = Field(default="", description="The model's name. Needed with `openai` and `gemini`.")
    embedder_base_url: str = Field(
        default="",
        repr=False,
        description="The endpoint, such as `http://127.0.0.1:8000/v1`; for `gemini` without a version. Empty: its own.",
    )
    embedder_api_key: str = Field(default="", repr=False, description="The endpoint's key. The vendors' own want one.")
    embedder_dimensions: int = Field(
        default=0,
        ge=0,
        le=16_384,
        description="Numbers in a vector, for models that let one choose. 0: the model's own; 384 of `hashing`.",
    )
    embedder_batch: int = Field(default=64, ge=1, le=2048, description="Most texts in one request.")
    embedder_timeout: Interval = Field(default=timedelta(seconds=30), description="How long one attempt may take.")
    embedder_query_prefix: str = Field(
        default="", description="Put before each question that is embedded, for models that were trained so: `query: `."
    )
    embedder_document_prefix: str = Field(
        default="", description="Put before each text that is embedded to be found: `passage: `. A change embeds all anew."
    )
    embedder_max_characters: int = Field(
        default=8000, ge=1, le=1_000_000, description="Most characters of a text that are embedded; the rest is cut off."
    )
    embed_events: bool = Field(
        default=True, description="Embed events too, so that they can be searched by meaning. Off: only memories."
    )
    vector_cache_bytes: Bytes = Field(
        default=256 << 20, description="Memory for the vectors of scopes that were searched lately: 256 MiB."
    )
    memory: bool = Field(default=True, description="Offer long-term memory. Off: its calls are refused.")
    memory_ingest: Annotated[str, BeforeValidator(_listed), AfterValidator(_ingestions)] = Field(
        default="never",
        description="When sessions go into long-term memory by themselves: `never`, or some of `on_expiry` (before they are "
        "deleted), `on_idle` (when nothing was appended for `memory_idle`) and `on_compaction` (what leaves the window), with "
        "commas between.",
    )
    memory_idle: Interval = Field(
        default=timedelta(minutes=30), description="How long a session must be quiet for `on_idle` to take it in."
    )

    @property
    def memory_ingestions(self) -> frozenset[str]:
        """Of `memory_ingest`: on_expiry, on_idle, on_compaction."""
        return frozenset(self.memory_ingest.split(",")) - {"never"}
