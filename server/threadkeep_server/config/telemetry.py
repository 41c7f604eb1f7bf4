"""The settings of traces and metrics over OTLP; part of `settings.Settings`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from pydantic_settings import BaseSettings

from .types import lower

Exporter = Annotated[Literal["", "none", "otlp"], BeforeValidator(lower)]


class TelemetrySettings(BaseSettings):
    """Part of `settings.Settings`."""

    export_traces: Exporter = Field(
        default="",
        description="`otlp`: export traces over OTLP; requires the extra `otel`. `none`: no traces. Empty: as "
        "`OTEL_TRACES_EXPORTER` says, otherwise none.",
    )
    export_metrics: Exporter = Field(
        default="",
        description="`otlp`: export the metrics over OTLP as well; requires the extra `otel`. `none`: only on `/metrics`. "
        "Empty: as `OTEL_METRICS_EXPORTER` says, otherwise none.",
    )
    otlp_endpoint: str = Field(
        default="",
        description="URL of the collector, for OTLP over gRPC, such as `http://127.0.0.1:4317`; with `https`, over TLS. "
        "Empty: as `OTEL_EXPORTER_OTLP_ENDPOINT` says, otherwise `http://localhost:4317`.",
    )
    traces_sampler: Annotated[str, BeforeValidator(lower)] = Field(
        default="",
        description="Which calls are traced: `always_on`, `always_off`, `traceidratio`, or one of them after `parentbased_`, "
        "so that the caller decides if it has a trace. Empty: as `OTEL_TRACES_SAMPLER` says, otherwise "
        "`parentbased_always_on`.",
    )
    traces_sampler_ratio: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="The part of the calls that `traceidratio` records, from 0 to 1. Without: as `OTEL_TRACES_SAMPLER_ARG` "
        "says, otherwise 1.",
    )
