"""What goes wrong beside a conversation without ending it: told to the log and to the current span, never with contents."""

from __future__ import annotations

import logging
from typing import Any


def warn(what: str, **facts: Any) -> None:
    """A warning of the logger "threadkeep.chat", and an event of the span that is being recorded, if there is one."""
    logging.getLogger("threadkeep.chat").warning("%s (%s)", what, ", ".join(f"{name}={value}" for name, value in facts.items()))
    try:
        from opentelemetry import trace
    except ImportError:  # it is an extra's
        return
    trace.get_current_span().add_event(what, {f"threadkeep.{name}": str(value) for name, value in facts.items()})


def error_kind(error: BaseException) -> str:
    """What may be told of an error: its class, the server's reason and the field. Its words may quote the conversation."""
    told = (type(error).__name__, getattr(error, "reason", ""), getattr(error, "field", ""))
    return " ".join(str(each) for each in told if each)
