"""The front ends: what accepts connections."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from ..config.settings import Settings
from .server import Running, serve_grpc_and_http


def serve(settings: Settings) -> AbstractAsyncContextManager[Running]:
    """Serves while the context is open, then drains.

    Raises CannotListen or AddressInUse for a port, DatabaseInUse, SchemaTooNew and StoreUnavailable for the database, and
    EnvoyFailed for a failure that a server behind Envoy has logged itself.
    """
    if settings.frontend == "envoy":
        from .envoy import serve_behind_envoy  # other servers need not load it

        return serve_behind_envoy(settings)
    return serve_grpc_and_http(settings)
