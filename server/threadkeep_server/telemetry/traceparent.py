"""The header `traceparent` of W3C Trace Context."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_FORM: Final = re.compile(r"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_SAMPLED: Final = 1
_MOST_STATE: Final = 512


class TraceParent(NamedTuple):
    """The trace and the span of a caller."""

    trace_id: int
    span_id: int
    sampled: bool


def parsed(header: str | None) -> TraceParent | None:
    """Returns what the header names; None without a valid one, as for a call outside of a trace."""
    matched = None if header is None else _FORM.fullmatch(header.strip())
    if matched is None or (matched[4] and matched.string.startswith("00")):
        return None
    trace_id, span_id = int(matched[1], 16), int(matched[2], 16)
    return TraceParent(trace_id, span_id, bool(int(matched[3], 16) & _SAMPLED)) if trace_id and span_id else None


def usable_state(header: str | None) -> str | None:
    """Returns a `tracestate` that may be passed on: ASCII of at most 512 characters."""
    return header if header and len(header) <= _MOST_STATE and header.isascii() and header.isprintable() else None
