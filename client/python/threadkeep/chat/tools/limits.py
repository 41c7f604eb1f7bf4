"""Limits of the tool calls of one turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ..types.messages import Message, Role, ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallLimits:
    """Limits of one turn: the calls after the last USER message, including the current round. A resumed turn counts from zero.

    `per_tool`: calls of each tool; `total`: of all tools; None for no limit. `excluded`: tools that count only towards the
    total. `on_breach`: "raise" ends the turn with ToolCallLimitExceeded, "answer" returns an error to the model and continues.
    Raises ValueError for a negative limit.
    """

    per_tool: int | None = 40
    total: int | None = 150
    excluded: frozenset[str] = frozenset()
    on_breach: Literal["raise", "answer"] = "raise"

    def __post_init__(self) -> None:
        object.__setattr__(self, "excluded", frozenset(self.excluded))
        for name, bound in (("per_tool", self.per_tool), ("total", self.total)):
            if bound is not None and bound < 0:
                raise ValueError(f"{name}: at least 0 or None, not {bound}")
        if self.on_breach not in ("raise", "answer"):
            raise ValueError(f"on_breach: 'raise' or 'answer', not {self.on_breach!r}")

    def breaches(self, history: Sequence[Message], calls: Sequence[ToolCall]) -> tuple[str, ...]:
        """Returns for each call the message of the limit that it exceeds; empty for an allowed one."""
        made = Counter(call.name for message in _this_turn(history) for call in message.tool_calls)
        return tuple(self._each(made, calls))

    def _each(self, made: Counter[str], calls: Sequence[ToolCall]) -> Iterator[str]:
        for call in calls:
            made[call.name] += 1
            if self.total is not None and made.total() > self.total:
                yield f"no more tools can be called in this turn: the limit is {self.total}"
            elif self.per_tool is not None and call.name not in self.excluded and made[call.name] > self.per_tool:
                yield f"the tool {call.name!r} cannot be called again in this turn: the limit is {self.per_tool}"
            else:
                yield ""


def _this_turn(history: Sequence[Message]) -> Sequence[Message]:
    last = max((at for at, message in enumerate(history) if message.role is Role.USER), default=-1)
    return history[last + 1 :]
