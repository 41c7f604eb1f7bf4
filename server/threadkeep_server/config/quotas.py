"""The settings of rate limits and quotas; part of `settings.Settings`."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_settings import BaseSettings

from .types import size

_Rate = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Bytes = Annotated[int, BeforeValidator(size), Field(ge=0)]
_Most = Annotated[int, Field(ge=0)]
_CALLER = "of one user, or of all callers of a tenant that are not bound to a user. 0: unlimited."
_TENANT = "of all callers of a tenant. 0: unlimited."


class QuotaSettings(BaseSettings):
    """Part of `settings.Settings`. Rates are those of one server; two seconds of a rate may be used at once."""

    caller_requests_per_second: _Rate = Field(
        default=0, description=f"Most requests, and messages of request streams, {_CALLER}"
    )
    caller_bytes_per_second: _Bytes = Field(default=0, description=f"Most bytes of encoded requests {_CALLER}")
    caller_search_seconds_per_second: _Rate = Field(
        default=0, description=f"Most time of searches per second, charged when they end, {_CALLER}"
    )
    tenant_requests_per_second: _Rate = Field(
        default=0, description=f"Most requests, and messages of request streams, {_TENANT}"
    )
    tenant_bytes_per_second: _Bytes = Field(default=0, description=f"Most bytes of encoded requests {_TENANT}")
    tenant_search_seconds_per_second: _Rate = Field(
        default=0, description=f"Most time of searches per second, charged when they end, {_TENANT}"
    )
    max_streams_per_caller: _Most = Field(default=0, description=f"Most open streams of every kind {_CALLER}")
    max_sessions_per_tenant: _Most = Field(
        default=0,
        description="Most sessions of a tenant. Counted every 30 seconds, so servers that share a database may exceed it. "
        "0: unlimited.",
    )
    max_events_per_tenant: _Most = Field(
        default=0, description="Most stored events of a tenant, counted likewise. 0: unlimited."
    )
