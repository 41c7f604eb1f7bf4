"""Creation of an embedder from options. A new provider is an adapter like `openai`, named here and in `options`."""

from __future__ import annotations

from dataclasses import replace

from ..logging import quiet_vendor_loggers
from .base import Embedder
from .bounded import ModelEmbedder, check_dimension
from .hashing import HashingEmbedder
from .options import EmbedderOptions
from .request import EmbeddingModel

# The size of one vector in a response: some models have 4,096 numbers, some servers print each on its own line.
_BYTES_PER_VECTOR = 256 << 10


def open_embedder(options: EmbedderOptions, *, stored_dimension: int = 0) -> Embedder | None:
    """Returns an embedder, not connected yet; None without a provider. `stored_dimension` is the dimension of the vectors
    stored for `options.name`, 0 if there are none. Raises ValueError if the provider's library is missing, or if the dimension
    of the options differs from the stored one."""
    if not options.provider:
        return None
    if options.provider == "hashing":
        return HashingEmbedder(options.hashing_dimensions, max_characters=options.max_characters)
    if options.provider == "onnx":
        return ModelEmbedder(*_open_onnx(options))
    check_dimension(options, stored_dimension)
    embedder = ModelEmbedder(_open_model(options), options, stored_dimension=stored_dimension)
    quiet_vendor_loggers()
    return embedder


def open_embedders(options: EmbedderOptions, soon: EmbedderOptions) -> tuple[Embedder, Embedder] | None:
    """Returns two embedders of one model, with the limits of `options` and of `soon`, which differs in nothing else; a local
    model is loaded once, which takes seconds. None without a provider. Raises ValueError as `open_embedder` does."""
    if options.provider == "onnx":
        model, completed = _open_onnx(options)
        hurried = replace(
            completed, timeout=soon.timeout, deadline=soon.deadline, max_attempts=soon.max_attempts, backoff=soon.backoff
        )
        return ModelEmbedder(model, completed), ModelEmbedder(model, hurried)
    embedder, questions = open_embedder(options), open_embedder(soon)
    return None if embedder is None or questions is None else (embedder, questions)


def _open_onnx(options: EmbedderOptions) -> tuple[EmbeddingModel, EmbedderOptions]:
    """Imports the library late, as `_open_model` does."""
    from .onnx import open_onnx

    return open_onnx(options)


def _open_model(options: EmbedderOptions) -> EmbeddingModel:
    """Imports the provider's library late: it is optional, and its import takes seconds."""
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

        return OpenAIEmbeddings(
            model=model,
            base_url=base_url,
            api_key=api_key,
            dimensions=dimensions,
            query_type=options.query_type,
            document_type=options.document_type,
            max_answer_bytes=limit,
        )
    except ModuleNotFoundError as exc:
        raise ValueError(
            f"the embedder {options.provider!r} needs the package {exc.name!r}; install 'threadkeep[embedder]'"
        ) from exc
