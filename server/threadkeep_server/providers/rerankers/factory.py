"""Creation of a reranker from options."""

from __future__ import annotations

from ..logging import quiet_vendor_loggers
from .bounded import BoundedReranker
from .options import RerankerOptions


def open_reranker(options: RerankerOptions) -> BoundedReranker | None:
    """Returns a reranker; None without a provider. An endpoint is not connected yet; a local model is loaded, which takes
    seconds. Raises ValueError if a library or a file is missing or cannot be used."""
    if not options.provider:
        return None
    if options.provider == "onnx":
        from .onnx import open_cross_encoder

        return BoundedReranker(open_cross_encoder(options), options)
    try:
        from .endpoint import RerankEndpoint
    except ModuleNotFoundError as error:
        raise ValueError(f"the reranker needs the package {error.name!r}; install 'threadkeep[embedder]'") from error
    model = RerankEndpoint(model=options.model, base_url=options.base_url, api_key=options.api_key)
    quiet_vendor_loggers()
    return BoundedReranker(model, options)
