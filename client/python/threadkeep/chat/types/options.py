"""Options of a model call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, Self

from ..tools.tool import Tool
from .frozen import frozen, nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """Sampling and limits; None leaves the choice to the model. `max_tokens`: of the answer. `timeout`: seconds of one model
    call.

    `extra`: the provider's own parameters, sent unchanged; they take precedence.
    """

    model: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] | None = None
    seed: int | None = None
    timeout: float | None = None
    extra: Mapping[str, Any] = field(default_factory=nothing, hash=False)

    def __post_init__(self) -> None:
        stop: Any = self.stop
        if stop is not None and not isinstance(stop, tuple):  # one text, or several in another sequence
            object.__setattr__(self, "stop", (stop,) if isinstance(stop, str) else tuple(stop))
        object.__setattr__(self, "extra", frozen(self.extra))

    def changed(self, **values: Any) -> Self:
        """Returns a copy with changed fields. Raises TypeError for an unknown field."""
        return replace(self, **values)

    def over(self, below: ChatOptions | None) -> ChatOptions:
        """Returns these options, completed by those of `below`. Tools and mappings are merged by name; these take precedence.

        The result has the fields of both classes: ToolOptions if either is, and those of subclasses. Raises TypeError for
        classes that cannot be combined.
        """
        if below is None:
            return self
        kinds: tuple[Any, Any] = type(self), type(below)
        kind = _kind_of(*kinds)
        mine = {item.name: getattr(self, item.name) for item in fields(self)}
        theirs = {item.name: getattr(below, item.name) for item in fields(below)}
        return kind(**{name: _joined(name, mine.get(name), theirs.get(name)) for name in theirs | mine})


@dataclass(frozen=True, kw_only=True)
class ToolOptions(ChatOptions):
    """Options of a conversation with tools. ToolCallingAdvisor runs its loop only for these.

    `tools`: the tools that the model may call. `tool_context`: values for tools, hidden from the model. `tool_choice`: "auto",
    "none", "required" or the name of one tool. `parallel_tool_calls`: permit several calls in one answer.
    """

    tools: tuple[Tool, ...] = ()
    tool_context: Mapping[str, Any] = field(default_factory=nothing, hash=False, repr=False)
    tool_choice: str | None = None
    parallel_tool_calls: bool | None = None

    def __post_init__(self) -> None:
        ChatOptions.__post_init__(self)
        object.__setattr__(self, "tools", tuple(self.tools))
        object.__setattr__(self, "tool_context", frozen(self.tool_context))


@cache
def _kind_of(over: type[ChatOptions], below: type[ChatOptions]) -> type[ChatOptions]:
    """Returns the class with the fields of both."""
    if issubclass(over, below) or issubclass(below, over):
        return over if issubclass(over, below) else below
    try:
        both = type(f"{below.__name__}And{over.__name__}", (below, over), {})
    except TypeError as error:
        raise TypeError(
            f"{below.__name__} and {over.__name__} cannot be combined ({error}); derive one from the other"
        ) from None
    return dataclass(frozen=True, kw_only=True)(both)


def _joined(name: str, over: Any, below: Any) -> Any:
    if name == "tools":
        tools: dict[str, Tool] = {each.name: each for each in (*(below or ()), *(over or ()))}
        return tuple(tools.values())
    if isinstance(over, Mapping) and isinstance(below, Mapping):
        return {**below, **over}
    return below if over is None else over
