"""Triggers. They check a session's counters, so their cost does not depend on the length of the log.

The counters are those of the active window: synthetic events count as events, tokens and bytes, but not as turns. `field` is
the request field of a trigger, for InvalidField.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, InitVar, dataclass

from ..domain.errors import InvalidField
from ..domain.model import Counters
from .limits import at_least

MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class TurnCount:
    """Fires above this number of turns."""

    max_turns: int
    _: KW_ONLY
    field: InitVar[str] = "trigger"

    def __post_init__(self, field: str) -> None:
        at_least(1, f"{field}.turns_over", self.max_turns)

    def fires(self, counters: Counters) -> bool:
        return counters.turns > self.max_turns


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Fires from this number of tokens."""

    threshold: int
    _: KW_ONLY
    field: InitVar[str] = "trigger"

    def __post_init__(self, field: str) -> None:
        at_least(1, f"{field}.tokens", self.threshold)

    def fires(self, counters: Counters) -> bool:
        return counters.tokens >= self.threshold


@dataclass(frozen=True, slots=True)
class ByteSize:
    """Fires from this number of bytes, as sent."""

    threshold: int
    _: KW_ONLY
    field: InitVar[str] = "trigger"

    def __post_init__(self, field: str) -> None:
        at_least(1, f"{field}.bytes", self.threshold)

    def fires(self, counters: Counters) -> bool:
        return counters.bytes >= self.threshold


@dataclass(frozen=True, slots=True)
class EventCount:
    """Fires from this number of events."""

    threshold: int
    _: KW_ONLY
    field: InitVar[str] = "trigger"

    def __post_init__(self, field: str) -> None:
        at_least(1, f"{field}.events", self.threshold)

    def fires(self, counters: Counters) -> bool:
        return counters.events >= self.threshold


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Fires if any of several triggers fires."""

    triggers: tuple[Trigger, ...]
    _: KW_ONLY
    field: InitVar[str] = "trigger"

    def __post_init__(self, field: str) -> None:
        _check_nested(f"{field}.any_of", self.triggers)

    def fires(self, counters: Counters) -> bool:
        return any(trigger.fires(counters) for trigger in self.triggers)


@dataclass(frozen=True, slots=True)
class AllOf:
    """Fires if all of several triggers fire."""

    triggers: tuple[Trigger, ...]
    _: KW_ONLY
    field: InitVar[str] = "trigger"

    def __post_init__(self, field: str) -> None:
        _check_nested(f"{field}.all_of", self.triggers)

    def fires(self, counters: Counters) -> bool:
        return all(trigger.fires(counters) for trigger in self.triggers)


Trigger = TurnCount | TokenCount | ByteSize | EventCount | AnyOf | AllOf


def _check_nested(field: str, triggers: tuple[Trigger, ...]) -> None:
    if not triggers:
        raise InvalidField(field, "must name at least one trigger")
    if max(map(_depth, triggers)) >= MAX_DEPTH:
        raise InvalidField(field, f"must be nested at most {MAX_DEPTH} deep")


def _depth(trigger: Trigger) -> int:
    return 1 + max(map(_depth, trigger.triggers)) if isinstance(trigger, (AnyOf, AllOf)) else 0
