"""What goes wrong beside a conversation without ending it: told to the log and to the current span, never with contents."""

from __future__ import annotations

import logging
from typing import Any


def tell(what: str, **facts: Any) -> None:
    """A warning of the logger "recollect.chat", and an event of the span that is being recorded, if there is one."""
    logging.getLogger("recollect.chat").warning("%s (%s)", what, ", ".join(f"{name}={value}" for name, value in facts.items()))
    try:
        from opentelemetry import trace
    except ImportError:  # it is an extra's
        return
    trace.get_current_span().add_event(what, {f"recollect.{name}": str(value) for name, value in facts.items()})


def kind_of(error: BaseException) -> str:
    """What may be told of an error: its class, and the server's reason if it has one. Its words may quote the conversation."""
    reason = getattr(error, "reason", "")
    return f"{type(error).__name__}: {reason}" if reason else type(error).__name__
