"""From options to an embedder. A new vendor is an adapter like `openai`, named here and in `options`."""

from __future__ import annotations

from ..logging import quiet_vendor_loggers
from .base import Embedder
from .bounded import ModelEmbedder, check_dimension
from .hashing import HashingEmbedder
from .options import EmbedderOptions
from .request import EmbeddingModel

# Of one vector in an answer: some models have 4,096 numbers, some servers print each on a line of its own.
_BYTES_PER_VECTOR = 256 << 10


def open_embedder(options: EmbedderOptions, *, stored_dimension: int = 0) -> Embedder | None:
    """An embedder, not yet connected; None if the options name none. `stored_dimension` is that of the vectors that are stored
    under `options.name`, 0 if there are none. Raises ValueError if the vendor's library is missing, or the options want another
    dimension than is stored."""
    if not options.provider:
        return None
    if options.provider == "hashing":
        return HashingEmbedder(options.hashing_dimensions, max_characters=options.max_characters)
    check_dimension(options, stored_dimension)
    embedder = ModelEmbedder(_open_model(options), options, stored_dimension=stored_dimension)
    quiet_vendor_loggers()
    return embedder


def _open_model(options: EmbedderOptions) -> EmbeddingModel:
    """Imports the vendor's library only now: it is an extra, and takes seconds."""
    model, base_url, api_key, dimensions = options.model, options.base_url, options.api_key, options.dimensions
    limit = (1 << 20) + options.batch * _BYTES_PER_VECTOR
    try:
        if options.provider == "gemini":
            from .gemini import GeminiEmbeddings

            return GeminiEmbeddings(
                model=model,
                base_url=base_url,
                api_key=api_key,
                dimensions=dimensions,
                prefixed=(bool(options.document_prefix), bool(options.query_prefix)),
                max_answer_bytes=limit,
            )
        from .openai import OpenAIEmbeddings

        return OpenAIEmbeddings(model=model, base_url=base_url, api_key=api_key, dimensions=dimensions, max_answer_bytes=limit)
    except ModuleNotFoundError as exc:
        raise ValueError(
            f"the embedder {options.provider!r} needs the package {exc.name!r}; install 'threadkeep[embedder]'"
        ) from exc
