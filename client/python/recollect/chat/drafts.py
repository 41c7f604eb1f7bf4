"""A request while it is put together: what was said of it so far, as an immutable value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..memory import MemoryProvider
from ..v1.context_pb2 import ContextSpec
from .errors import MissingSession
from .frozen import nothing
from .given import filled, session_id, session_of
from .keys import MEMORY, RESUME, RUN, SESSION, USER
from .messages import Message, system
from .options import ChatOptions, ToolOptions
from .requests import ChatClientRequest


@dataclass(frozen=True, slots=True)
class Draft:
    """`system`: the instructions. `context`: what advisors are told."""

    system: str = ""
    messages: tuple[Message, ...] = ()
    options: ChatOptions = field(default_factory=ToolOptions)
    context: Mapping[str, Any] = field(default_factory=nothing, hash=False)

    @property
    def conversation(self) -> str:
        """The session's id; empty without one."""
        return session_id(self.context.get(SESSION))

    def with_system(self, text: str | None, values: Mapping[str, Any]) -> Draft:
        """None: the instructions that it has, with values for their places."""
        if text is not None and not isinstance(text, str):
            raise TypeError(f"instructions are text, not {type(text).__name__}")
        return replace(self, system=filled(self.system if text is None else text, values))

    def with_messages(self, *messages: Message) -> Draft:
        return replace(self, messages=(*self.messages, *messages))

    def with_options(self, options: ChatOptions) -> Draft:
        """These win over those that it has."""
        return replace(self, options=options.over(self.options))

    def with_context(self, values: Mapping[str, Any]) -> Draft:
        return replace(self, context={**self.context, **values})

    def with_session(self, session: object, user_id: str | None, run_id: str | None) -> Draft:
        """Both advisors and tools are told."""
        found = session_of(session)
        about = {SESSION: found, USER: user_id, RUN: run_id}
        shown = {"session": found, "user_id": user_id}
        known = {name: value for name, value in about.items() if value is not None}
        told = {name: value for name, value in shown.items() if value is not None}
        return self.with_context(known).with_options(ToolOptions(tool_context=told))

    def with_memory(self, memory: object) -> Draft:
        if not isinstance(memory, MemoryProvider | ContextSpec):
            raise TypeError(f"memory is a MemoryProvider or a ContextSpec, not {type(memory).__name__}")
        return self.with_context({MEMORY: memory})

    def resuming(self) -> Draft:
        """Raises MissingSession without a session, ValueError if something new is said."""
        if not self.conversation:
            raise MissingSession("only a session can be resumed: give one with .session(...)")
        if self.messages:
            raise ValueError("a resumed turn takes no new message: use .call() or .stream() to say something")
        return self.with_context({RESUME: True})

    def request(self, defaults: ChatOptions) -> ChatClientRequest:
        """What goes into the chain. `defaults`: the model's. Raises ValueError if nothing is said."""
        if not self.messages and not self.context.get(RESUME):
            raise ValueError(
                'nothing is said: give .prompt("..."), .user(...) or .messages(...), or .resume() a turn that was interrupted'
            )
        first = (system(self.system),) if self.system.strip() else ()
        return ChatClientRequest((*first, *self.messages), self.options.over(defaults), self.context)
