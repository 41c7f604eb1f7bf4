"""How many calls of tools one turn may have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ..types.messages import Message, Role, ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallLimits:
    """Bounds of one turn: what the model calls after the last USER message, the calls of this round included. A turn that is
    resumed counts anew: `.resume()` bears only what is left of it.

    `per_tool`: of each tool; `total`: of all together; None for no bound. `excluded`: tools without a bound of their own, which
    still count to the total. `on_breach`: "raise" ends the turn with ToolCallLimitExceeded, "answer" tells the model of each
    call that is too many and goes on. Raises ValueError for a negative bound.
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
        """For each of the calls that follow this history what it breaches, in words; empty for one that is allowed."""
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
