"""A request while it is put together: what was said of it so far, as an immutable value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...memory import MemoryProvider
from ...v1.context_pb2 import ContextSpec
from ..context_keys import MEMORY, RESUME, RUN, SESSION, USER
from ..errors import MissingSession
from ..types.frozen import nothing
from ..types.messages import Message, system
from ..types.options import ChatOptions, ToolOptions
from ..types.requests import ChatClientRequest
from .arguments import filled, id_of, session_id, session_of

_FOR_TOOLS = {"session": SESSION, "user_id": USER}
"""What tools are told of the session."""


@dataclass(frozen=True, slots=True)
class RequestBuilder:
    """`system`: the instructions. `context`: what advisors are told. `session`: the same of the session, which wins."""

    system: str = ""
    messages: tuple[Message, ...] = ()
    options: ChatOptions = field(default_factory=ToolOptions)
    context: Mapping[str, Any] = field(default_factory=nothing, hash=False)
    session: Mapping[str, Any] = field(default_factory=nothing, hash=False)

    @property
    def conversation(self) -> str:
        """The session's id; empty without one."""
        return session_id({**self.context, **self.session}.get(SESSION))

    def with_system(self, text: str | None, values: Mapping[str, Any]) -> RequestBuilder:
        """None: the instructions that it has, with values for their places."""
        if text is not None and not isinstance(text, str):
            raise TypeError(f"instructions are text, not {type(text).__name__}")
        return replace(self, system=filled(self.system if text is None else text, values))

    def with_messages(self, *messages: Message) -> RequestBuilder:
        return replace(self, messages=(*self.messages, *messages))

    def with_options(self, options: ChatOptions) -> RequestBuilder:
        """These win over those that it has."""
        return replace(self, options=options.over(self.options))

    def with_context(self, values: Mapping[str, Any]) -> RequestBuilder:
        return replace(self, context={**self.context, **values})

    def with_session(self, session: object, user_id: str | None, run_id: str | None) -> RequestBuilder:
        """Both advisors and tools are told. In place of an earlier session, of which nothing stays."""
        about = {SESSION: session_of(session), USER: id_of("user_id", user_id), RUN: id_of("run_id", run_id)}
        return replace(self, session={name: value for name, value in about.items() if value is not None})

    def with_memory(self, memory: object) -> RequestBuilder:
        if not isinstance(memory, MemoryProvider | ContextSpec):
            raise TypeError(f"memory is a MemoryProvider or a ContextSpec, not {type(memory).__name__}")
        return self.with_context({MEMORY: memory})

    def resuming(self) -> RequestBuilder:
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
        for_tools = {name: self.session[key] for name, key in _FOR_TOOLS.items() if key in self.session}
        options = self.options
        if for_tools and isinstance(options, ToolOptions):  # always: it began as one
            options = options.changed(tool_context={**options.tool_context, **for_tools})
        return ChatClientRequest((*first, *self.messages), options.over(defaults), {**self.context, **self.session})
