# Generated from _async by `make sync-client`. Do not edit.
"""Advisors of a request: those that were passed, and the tool loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import InvalidChain
from ...telemetry.choice import TracerProvider
from ..tools.tool_calling import ToolCallingAdvisor
from ..tools.tool_manager import ToolCallingManager, ToolManager
from .advisor import MemoryAdvisor, ToolAdvisor
from .chain import Advisor


@dataclass(frozen=True, slots=True)
class Registration:
    """How a client adds the tool loop. `enabled`: False adds none. `manager`: runs the calls."""

    enabled: bool
    manager: ToolManager

    def complete(self, advisors: Sequence[Advisor], *, wanted: bool = True) -> tuple[Advisor, ...]:
        """Returns the advisors with a tool loop: the one among them, or a new one if it is `wanted`. It is added even without
        tools, because an advisor may add some. A loop around a memory leaves the history to the memory.

        Raises InvalidChain for two loops.
        """
        loop = tool_advisor(advisors)
        if loop is None:
            if not (self.enabled and wanted):
                return tuple(advisors)
            loop = ToolCallingAdvisor(manager=self.manager)
            advisors = (*advisors, loop)
        return tuple(_beside_memory(loop, advisors) if each is loop else each for each in advisors)


def registration(
    enabled: bool, manager: ToolManager | None, tracer_provider: TracerProvider | None, record_content: bool
) -> Registration:
    """Returns the registration with this manager, or a new one with the client's tracing. Raises TypeError for another type."""
    if manager is not None and not isinstance(manager, ToolManager):
        raise TypeError(f"tool_manager: definitions and execute, as an ToolCallingManager has, not {manager!r}")
    own = manager or ToolCallingManager(tracer_provider=tracer_provider, record_content=record_content)
    return Registration(enabled, own)


def tool_advisor(advisors: Sequence[Advisor]) -> ToolAdvisor | None:
    """Returns the advisor that runs the tool loop; None without one. Raises InvalidChain for two."""
    loops = [each for each in advisors if isinstance(each, ToolAdvisor) and each.runs_tools]
    if len(loops) > 1:
        names = " and ".join(repr(each.name) for each in loops)
        raise InvalidChain(f"a request has one loop of tools, not {len(loops)}: leave out one of {names}")
    return loops[0] if loops else None


def has_memory(advisors: Sequence[Advisor]) -> bool:
    return any(isinstance(each, MemoryAdvisor) for each in advisors)


def uses_session(advisors: Sequence[Advisor]) -> bool:
    """Returns whether an advisor stores the conversation, or declares that it needs the session."""
    return has_memory(advisors) or any(getattr(each, "needs_session", False) for each in advisors)


def _beside_memory(loop: ToolAdvisor, advisors: Sequence[Advisor]) -> Advisor:
    """Turns off the loop's own history if an inner memory adds the history to each round."""
    ordered = sorted(advisors, key=lambda advisor: advisor.order)
    if has_memory(ordered[ordered.index(loop) + 1 :]) and isinstance(loop, ToolCallingAdvisor):
        return loop.changed(internal_history=False) if loop.internal_history else loop
    return loop
