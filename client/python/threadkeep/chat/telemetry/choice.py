"""Telemetry, or a substitute that records nothing if OpenTelemetry is not installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from .spans import Telemetry
else:
    try:
        from opentelemetry.metrics import MeterProvider
        from opentelemetry.trace import TracerProvider

        from .spans import Telemetry
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "opentelemetry":
            raise
        from .off import Telemetry

        MeterProvider = TracerProvider = Any

__all__ = ["MeterProvider", "Telemetry", "TracerProvider"]
