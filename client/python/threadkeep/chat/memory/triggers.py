"""Compaction triggers, evaluated from the counters that each append returns, without a call to the server."""

from __future__ import annotations

from ...v1.compaction_pb2 import CompactionTrigger
from ...v1.session_pb2 import WindowCounters


def fires(trigger: CompactionTrigger, window: WindowCounters) -> bool:
    """Returns whether the trigger fires, by the server's rules. An unknown kind fires: the server then decides."""
    match trigger.WhichOneof("kind"):
        case "turns_over":
            return window.turns > trigger.turns_over
        case "tokens":
            return window.tokens >= trigger.tokens
        case "bytes":
            return window.bytes >= trigger.bytes
        case "events":
            return window.events >= trigger.events
        case "any_of":
            return any(fires(each, window) for each in trigger.any_of.triggers)
        case "all_of":
            return all(fires(each, window) for each in trigger.all_of.triggers)
    return True
