"""The trace of the caller, for the metadata of a call."""

from __future__ import annotations

import sys

from .._channel import Metadata


def trace_context() -> Metadata:
    """Returns the headers of the caller's span as OpenTelemetry's propagator writes them; none without a span, and at no cost
    where the program has not loaded OpenTelemetry."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None or not trace.get_current_span().get_span_context().is_valid:
        return ()
    from opentelemetry.propagate import inject

    headers: dict[str, str] = {}
    inject(headers)
    return tuple((name.lower(), value) for name, value in headers.items())
