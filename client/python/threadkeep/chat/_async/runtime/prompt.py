"""One request to a client, put together step by step."""

from __future__ import annotations

import warnings
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ....memory import MemoryProvider
from ....v1.context_pb2 import ContextSpec
from ....v1.event_pb2 import SessionEvent
from ....values.events import Event
from ...context_keys import AUTO_TOOLS, RESUME
from ...errors import InvalidChain
from ...runtime.arguments import SessionLike, check_form, mapping_of, messages_of, options_of, tools_of, user_message
from ...runtime.request_builder import RequestBuilder
from ...telemetry.choice import Telemetry
from ...tools.tool import Tool
from ...types.messages import Content, Message
from ...types.options import ChatOptions, ToolOptions
from ...types.requests import ChatClientRequest, ChatClientResponse
from ..providers.model import AsyncChatModel
from .chain import AsyncAdvisor, AsyncAdvisorChain
from .registration import AsyncRegistration, has_memory, uses_session
from .tracing import AsyncTracedModel, traced_call, traced_stream

CLIENT = "AsyncChatClient"
_NOT_KEPT = (
    ".session(...) without a memory advisor: the conversation is neither read nor stored. Give AsyncChatClient "
    "advisors=[AsyncSessionMemoryAdvisor(...)], or, if only tools use the session, call .tool_context(session=...) instead"
)


@dataclass(frozen=True, slots=True)
class AsyncAgent:
    """The settings that all requests of a client share."""

    name: str
    model: AsyncChatModel
    registration: AsyncRegistration
    telemetry: Telemetry
    advisors: tuple[AsyncAdvisor, ...] = ()
    complete: tuple[AsyncAdvisor, ...] = ()
    """`advisors` with the tool loop: what most requests need, computed once."""


@dataclass(frozen=True, slots=True)
class AsyncPromptSpec:
    """A request of a client, made by `AsyncChatClient.prompt`. `call` or `stream` sends it, any number of times.

    Immutable: each step returns a new request. Its settings override the client's, which override the model's defaults; tools
    and mappings are merged by name.
    """

    _agent: AsyncAgent = field(repr=False)
    _builder: RequestBuilder = field(default_factory=RequestBuilder)
    _advisors: tuple[AsyncAdvisor, ...] = ()

    def system(self, text: str | None = None, /, **values: Any) -> AsyncPromptSpec:
        """Sets the instructions in place of the client's; without a text, fills in the client's. `values`: for the
        placeholders `{name}`.

        Without values braces have no meaning; `{{name}}` becomes `{name}`. Raises ValueError for a placeholder without a
        value.
        """
        return self._with(self._builder.with_system(text, values))

    def user(self, content: Content) -> AsyncPromptSpec:
        """Adds the user's message: a text, a part, or several. Messages keep their order."""
        return self._with(self._builder.with_messages(user_message(content)))

    def messages(self, *messages: Message | Event | SessionEvent) -> AsyncPromptSpec:
        """Adds messages of any role: a conversation without a memory, or results of tools that the program ran."""
        return self._with(self._builder.with_messages(*messages_of(messages)))

    def tools(self, *tools: Tool | Callable[..., Any]) -> AsyncPromptSpec:
        """Adds tools: Tools and Python functions. A tool replaces the client's tool of the same name.

        Raises InvalidTool for other objects.
        """
        return self._with(self._builder.with_options(ToolOptions(tools=tools_of(tools, CLIENT))))

    def advisors(self, *advisors: AsyncAdvisor) -> AsyncPromptSpec:
        """Adds advisors for this request."""
        return replace(self, _advisors=(*self._advisors, *advisors_of(advisors)))

    def params(self, mapping: Mapping[str, Any] | None = None, /, **values: Any) -> AsyncPromptSpec:
        """Adds values for advisors, by names in `threadkeep.chat.context_keys` or their own. Tools and the model do not see
        them."""
        return self._with(self._builder.with_context({**mapping_of("params", mapping), **values}))

    def options(self, options: ChatOptions | None = None, /, **fields: Any) -> AsyncPromptSpec:
        """Adds options: `options(temperature=0.2)`, ChatOptions, or both. Raises TypeError for an unknown name."""
        return self._with(self._builder.with_options(options_of(options, fields, CLIENT)))

    def tool_context(self, /, **values: Any) -> AsyncPromptSpec:
        """Adds values for tools, in `ToolContext.values`. The model does not see them."""
        return self._with(self._builder.with_options(ToolOptions(tool_context=values)))

    def session(self, session: SessionLike, *, user_id: str | None = None, run_id: str | None = None) -> AsyncPromptSpec:
        """Sets the session of the conversation, for advisors and tools, in place of an earlier one and its values. Without a
        memory advisor the request warns, and nothing is stored.

        `user_id`: the owner, default the SDK client's user. `run_id`: distinguishes runs in idempotent ids.
        """
        return self._with(self._builder.with_session(session, user_id, run_id))

    def memory(self, memory: MemoryProvider | ContextSpec) -> AsyncPromptSpec:
        """Sets what is read of the session, and whether it is written, in place of the memory advisor's setting."""
        return self._with(self._builder.with_memory(memory))

    async def call(self) -> ChatClientResponse:
        """Returns the whole answer. Raises ValueError without a message, InvalidChain for advisors that cannot be combined,
        and the errors of the model (ModelFailed, ModelTimeout) and of advisors."""
        chain, request = self._chain()
        agent = self._agent
        return await traced_call(agent.telemetry, agent.name, self._builder.conversation, chain, request)

    def stream(self) -> AsyncGenerator[ChatClientResponse, None]:
        """Returns the answer in chunks. Close it (`aclosing`) if you do not read it to its end. Errors of the request are
        raised at once."""
        chain, request = self._chain()
        agent = self._agent
        return traced_stream(agent.telemetry, agent.name, self._builder.conversation, chain, request)

    async def resume(self) -> ChatClientResponse:
        """Resumes the session's last turn, which was interrupted, for example by a crash between two rounds.

        Runs open calls, calls the model if necessary, and returns an answer that is already stored. There is no new message.
        Raises MissingSession without a session, InvalidChain without a memory advisor.
        """
        return await self._resuming().call()

    def resume_stream(self) -> AsyncGenerator[ChatClientResponse, None]:
        """Like `resume`, in chunks."""
        return self._resuming().stream()

    def _resuming(self) -> AsyncPromptSpec:
        return self._with(self._builder.resuming())

    def _with(self, builder: RequestBuilder) -> AsyncPromptSpec:
        return replace(self, _builder=builder)

    def _chain(self) -> tuple[AsyncAdvisorChain, ChatClientRequest]:
        agent, builder = self._agent, self._builder
        request = builder.request(agent.model.default_options)
        if builder.context.get(RESUME) and not has_memory(self._advisors):
            raise InvalidChain("resuming needs a memory: add a SessionMemoryAdvisor to the advisors")
        if builder.session and not uses_session(self._advisors):
            warnings.warn(_NOT_KEPT, stacklevel=3)
        wanted = builder.context.get(AUTO_TOOLS, True) is not False
        if wanted and self._advisors is agent.advisors:
            advisors = agent.complete
        else:
            advisors = agent.registration.complete(self._advisors, wanted=wanted)
        model = AsyncTracedModel(agent.model, agent.telemetry, builder.conversation)
        return AsyncAdvisorChain(advisors, model), request


def advisors_of(advisors: object) -> tuple[AsyncAdvisor, ...]:
    """Returns the advisors. Raises TypeError for other objects and for advisors of the other form."""
    if not isinstance(advisors, list | tuple):
        raise TypeError(f"advisors are a sequence of advisors, not {type(advisors).__name__}")
    for each in advisors:
        if isinstance(each, list | tuple):
            raise TypeError("pass advisors one by one: .advisors(*advisors)")
        check_form(each, AsyncAdvisor, CLIENT, ("advise_call", "advise_stream"))
    return tuple(advisors)
