"""A request under construction, as an immutable value."""

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
"""Keys of `ToolContext.values` for the session."""


@dataclass(frozen=True, slots=True)
class RequestBuilder:
    """`system`: the instructions. `context`: values for advisors. `session`: the context values of the session, which take
    precedence."""

    system: str = ""
    messages: tuple[Message, ...] = ()
    options: ChatOptions = field(default_factory=ToolOptions)
    context: Mapping[str, Any] = field(default_factory=nothing, hash=False)
    session: Mapping[str, Any] = field(default_factory=nothing, hash=False)

    @property
    def conversation(self) -> str:
        """Returns the session id; empty without one."""
        return session_id({**self.context, **self.session}.get(SESSION))

    def with_system(self, text: str | None, values: Mapping[str, Any]) -> RequestBuilder:
        """Sets the instructions, or with None fills in the current ones. `values`: for their placeholders."""
        if text is not None and not isinstance(text, str):
            raise TypeError(f"instructions are text, not {type(text).__name__}")
        return replace(self, system=filled(self.system if text is None else text, values))

    def with_messages(self, *messages: Message) -> RequestBuilder:
        return replace(self, messages=(*self.messages, *messages))

    def with_options(self, options: ChatOptions) -> RequestBuilder:
        """Adds options; they override the current ones."""
        return replace(self, options=options.over(self.options))

    def with_context(self, values: Mapping[str, Any]) -> RequestBuilder:
        return replace(self, context={**self.context, **values})

    def with_session(self, session: object, user_id: str | None, run_id: str | None) -> RequestBuilder:
        """Sets the session for advisors and tools, and drops the values of an earlier one."""
        about = {SESSION: session_of(session), USER: id_of("user_id", user_id), RUN: id_of("run_id", run_id)}
        return replace(self, session={name: value for name, value in about.items() if value is not None})

    def with_memory(self, memory: object) -> RequestBuilder:
        if not isinstance(memory, MemoryProvider | ContextSpec):
            raise TypeError(f"memory is a MemoryProvider or a ContextSpec, not {type(memory).__name__}")
        return self.with_context({MEMORY: memory})

    def resuming(self) -> RequestBuilder:
        """Marks the request as resuming. Raises MissingSession without a session, ValueError with a new message."""
        if not self.conversation:
            raise MissingSession("only a session can be resumed: call .session(...)")
        if self.messages:
            raise ValueError("a resumed turn takes no new message: use .call() or .stream() to send one")
        return self.with_context({RESUME: True})

    def request(self, defaults: ChatOptions) -> ChatClientRequest:
        """Returns the request for the chain. `defaults`: the model's options. Raises ValueError without messages."""
        if not self.messages and not self.context.get(RESUME):
            raise ValueError(
                'the request has no message: use .prompt("..."), .user(...) or .messages(...), or .resume() an interrupted turn'
            )
        first = (system(self.system),) if self.system.strip() else ()
        for_tools = {name: self.session[key] for name, key in _FOR_TOOLS.items() if key in self.session}
        options = self.options
        if for_tools and isinstance(options, ToolOptions):  # always true: the default is ToolOptions
            options = options.changed(tool_context={**options.tool_context, **for_tools})
        return ChatClientRequest((*first, *self.messages), options.over(defaults), {**self.context, **self.session})
