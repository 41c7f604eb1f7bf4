"""Problems that do not fail a request: reported to the log and the current span, without content."""

from __future__ import annotations

import logging
from typing import Any


def warn(what: str, **facts: Any) -> None:
    """Logs a warning with the logger "threadkeep.chat" and adds an event to the recording span, if there is one."""
    logging.getLogger("threadkeep.chat").warning("%s (%s)", what, ", ".join(f"{name}={value}" for name, value in facts.items()))
    try:
        from opentelemetry import trace
    except ImportError:  # part of another extra
        return
    trace.get_current_span().add_event(what, {f"threadkeep.{name}": str(value) for name, value in facts.items()})


def error_kind(error: BaseException) -> str:
    """Returns the class, the server's reason and the field of an error. Its message may quote the conversation."""
    facts = (type(error).__name__, getattr(error, "reason", ""), getattr(error, "field", ""))
    return " ".join(str(each) for each in facts if each)
