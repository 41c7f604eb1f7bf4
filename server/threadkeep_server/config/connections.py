"""The settings of connections and calls; part of `settings.Settings`."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field
from pydantic_settings import BaseSettings

from .types import Interval


class ConnectionSettings(BaseSettings):
    """Part of `settings.Settings`."""

    max_connections: int = Field(
        default=10_000,
        ge=1,
        le=1_000_000,
        description="Most open connections on each port; fewer if the system allows fewer open files. Further ones are closed.",
    )
    max_calls: int = Field(
        default=10_000,
        ge=1,
        le=1_000_000,
        description="Most calls in flight on this server, without subscriptions. Further ones fail with RATE_LIMITED.",
    )
    max_connection_calls: int = Field(
        default=100_000,
        ge=1,
        le=1_000_000,
        description="Most calls and subscriptions in flight on one connection of HTTP/2. Clients hold further ones back until "
        "others end, or retry them.",
    )
    request_timeout: Interval = Field(
        default=timedelta(seconds=30),
        description="Time in which a handshake, the headers of a request, and its body must arrive. A body has a second more "
        "for every 16 KiB.",
    )
