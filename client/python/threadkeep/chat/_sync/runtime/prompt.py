# Generated from _async by `make sync-client`. Do not edit.
"""One request to a client, put together step by step."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ....memory import MemoryProvider
from ....v1.context_pb2 import ContextSpec
from ...context_keys import AUTO_TOOLS, RESUME
from ...errors import InvalidChain
from ...runtime.arguments import SessionLike, check_form, mapping_of, messages_of, options_of, tools_of, user_message
from ...runtime.request_builder import RequestBuilder
from ...telemetry.choice import Telemetry
from ...tools.tool import Tool
from ...types.messages import Content, Message
from ...types.options import ChatOptions, ToolOptions
from ...types.requests import ChatClientRequest, ChatClientResponse
from ..providers.model import ChatModel
from .chain import Advisor, AdvisorChain
from .registration import Registration, has_memory, uses_session
from .tracing import TracedModel, traced_call, traced_stream

CLIENT = "ChatClient"
_NOT_KEPT = (
    ".session(...) without a memory advisor: the conversation is neither read nor stored. Give ChatClient "
    "advisors=[SessionMemoryAdvisor(...)], or, if only tools use the session, call .tool_context(session=...) instead"
)


@dataclass(frozen=True, slots=True)
class Agent:
    """What all requests of a client share."""

    name: str
    model: ChatModel
    registration: Registration
    telemetry: Telemetry
    advisors: tuple[Advisor, ...] = ()
    complete: tuple[Advisor, ...] = ()
    """The same, with the loop of tools: what most requests have, found once."""


@dataclass(frozen=True, slots=True)
class PromptSpec:
    """What is asked of a client, and how. Made by `ChatClient.prompt`; `call` or `stream` asks it, as often as you like.

    Immutable: each step gives a new one, so that one may be the beginning of many. What a request says wins over what its
    client says, and that over the model's defaults; tools and mappings are joined, by name.
    """

    _agent: Agent = field(repr=False)
    _builder: RequestBuilder = field(default_factory=RequestBuilder)
    _advisors: tuple[Advisor, ...] = ()

    def system(self, text: str | None = None, /, **values: Any) -> PromptSpec:
        """The instructions, in place of the client's; without a text, the client's. `values` fill their places: `{name}`.

        Without values braces mean nothing; `{{name}}` stands for `{name}`. Raises ValueError naming a place without a value.
        """
        return self._with(self._builder.with_system(text, values))

    def user(self, content: Content) -> PromptSpec:
        """What the user says: a text, a part, or several of both. Messages stand in the order in which they are given."""
        return self._with(self._builder.with_messages(user_message(content)))

    def messages(self, *messages: Message) -> PromptSpec:
        """Messages of any role: of a conversation that no memory holds, or results of tools that the program ran itself."""
        return self._with(self._builder.with_messages(*messages_of(messages)))

    def tools(self, *tools: Tool | Callable[..., Any]) -> PromptSpec:
        """What the model may call: Tools and Python functions. One wins over a client's of the same name.

        Raises InvalidTool for what cannot be called.
        """
        return self._with(self._builder.with_options(ToolOptions(tools=tools_of(tools, CLIENT))))

    def advisors(self, *advisors: Advisor) -> PromptSpec:
        """Further advisors, for this request only."""
        return replace(self, _advisors=(*self._advisors, *advisors_of(advisors)))

    def params(self, mapping: Mapping[str, Any] | None = None, /, **values: Any) -> PromptSpec:
        """Values for advisors, by names in `threadkeep.chat.context_keys` or their own. Tools and model do not see them."""
        return self._with(self._builder.with_context({**mapping_of("params", mapping), **values}))

    def options(self, options: ChatOptions | None = None, /, **fields: Any) -> PromptSpec:
        """How the model answers: `options(temperature=0.2)`, ChatOptions, or both. Raises TypeError for an unknown name."""
        return self._with(self._builder.with_options(options_of(options, fields, CLIENT)))

    def tool_context(self, /, **values: Any) -> PromptSpec:
        """Values for tools, which find them in `ToolContext.values`. The model does not see them."""
        return self._with(self._builder.with_options(ToolOptions(tool_context=values)))

    def session(self, session: SessionLike, *, user_id: str | None = None, run_id: str | None = None) -> PromptSpec:
        """The session that the conversation lives in; advisors and tools are told. It takes the place of an earlier one, with
        all that was said of that. Without an advisor that keeps the conversation the request warns: nothing is stored.

        `user_id`: whose it has to be, by default the SDK client's user. `run_id`: what tells runs apart for idempotent ids.
        """
        return self._with(self._builder.with_session(session, user_id, run_id))

    def memory(self, memory: MemoryProvider | ContextSpec) -> PromptSpec:
        """What is seen of the session, and whether it is written, in place of what the memory advisor says."""
        return self._with(self._builder.with_memory(memory))

    def call(self) -> ChatClientResponse:
        """The whole answer. Raises ValueError if nothing is said, InvalidChain for advisors that cannot work together, what the
        model raises (ModelFailed, ModelTimeout) and what advisors raise."""
        chain, request = self._chain()
        agent = self._agent
        return traced_call(agent.telemetry, agent.name, self._builder.conversation, chain, request)

    def stream(self) -> Generator[ChatClientResponse, None, None]:
        """The answer in chunks, as they come. Close it (`closing`) when you do not read it to its end; what is wrong with the
        request is raised at once."""
        chain, request = self._chain()
        agent = self._agent
        return traced_stream(agent.telemetry, agent.name, self._builder.conversation, chain, request)

    def resume(self) -> ChatClientResponse:
        """Goes on with the session's last turn, which was interrupted: an agent that was killed between two of its rounds.

        Nothing new is said. Calls that nobody answered are run, the model is asked where it was not, and an answer that stands
        already is returned. Raises MissingSession without a session, InvalidChain without a memory advisor.
        """
        return self._resuming().call()

    def resume_stream(self) -> Generator[ChatClientResponse, None, None]:
        """The same in chunks."""
        return self._resuming().stream()

    def _resuming(self) -> PromptSpec:
        return self._with(self._builder.resuming())

    def _with(self, builder: RequestBuilder) -> PromptSpec:
        return replace(self, _builder=builder)

    def _chain(self) -> tuple[AdvisorChain, ChatClientRequest]:
        agent, builder = self._agent, self._builder
        request = builder.request(agent.model.default_options)
        if builder.context.get(RESUME) and not has_memory(self._advisors):
            raise InvalidChain("only a memory knows what was interrupted: give a SessionMemoryAdvisor among the advisors")
        if builder.session and not uses_session(self._advisors):
            warnings.warn(_NOT_KEPT, stacklevel=3)
        wanted = builder.context.get(AUTO_TOOLS, True) is not False
        if wanted and self._advisors is agent.advisors:
            advisors = agent.complete
        else:
            advisors = agent.registration.complete(self._advisors, wanted=wanted)
        model = TracedModel(agent.model, agent.telemetry, builder.conversation)
        return AdvisorChain(advisors, model), request


def advisors_of(advisors: object) -> tuple[Advisor, ...]:
    """Raises TypeError for what is no advisor of this form."""
    if not isinstance(advisors, list | tuple):
        raise TypeError(f"advisors are a sequence of advisors, not {type(advisors).__name__}")
    for each in advisors:
        if isinstance(each, list | tuple):
            raise TypeError("give advisors one by one: .advisors(*advisors)")
        check_form(each, Advisor, CLIENT, ("advise_call", "advise_stream"))
    return tuple(advisors)
