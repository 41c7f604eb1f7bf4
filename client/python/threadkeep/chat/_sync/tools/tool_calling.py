# Generated from _async by `make sync-client`. Do not edit.
"""The loop of tools: asks the model, runs what it calls, and asks again until it calls nothing."""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any, ClassVar, Self

from ...context_keys import HIGHEST_PRECEDENCE, LOWEST_PRECEDENCE, TOOL_CALLING_ORDER
from ...errors import AnswerNotStored, ToolCallLimitExceeded, ToolFailed, UnknownTool
from ...tools.executions import ToolExecution, complete_results, direct_answer, iterations_exceeded, limit_exceeded
from ...tools.loop_state import LoopRound, LoopState
from ...types.messages import Message, Role
from ...types.options import ToolOptions
from ...types.requests import ChatClientRequest, ChatClientResponse, Prompt
from ..runtime.advisor import MemoryAdvisor
from ..runtime.chain import AdvisorChain
from .tool_manager import ToolCallingManager, ToolManager

Eligible = Callable[[ChatClientResponse], bool]


def default_eligible(answer: ChatClientResponse) -> bool:
    """Whether the loop goes on: the answer calls tools."""
    return bool(answer.tool_calls)


class ToolCallingAdvisor:
    """Runs tools for a model. Requests whose options are no ToolOptions pass unchanged. One object serves many requests.

    `manager`: runs the tools, by default an ToolCallingManager; `concurrent` is for that one. `eligible`: whether the
    tools of an answer are run; if not, that answer ends the turn, and so does one without a response. `internal_history`: each
    round is asked with all of the turn; False: with the first SYSTEM message, if there is one, and the last message, for a
    memory further in that adds the rest. `max_iterations`: how often the model is asked in one turn, None for no bound.

    A turn also ends when every tool that was called is return-direct, at a limit of the manager's, and after `max_iterations`
    answers; the response then has one of the finish reasons "returnDirect", "toolCallLimitExceeded" and
    "toolIterationsExceeded". Memories further in are told of such an end, and of an UnknownTool or ToolFailed that ends a turn,
    so that no call is stored without a result; an end that they cannot take is in the AnswerNotStored that is raised. Usage is
    that of the whole turn.

    As a stream: chunks pass as they come but for tool calls; tools run while the next chunk is waited for, and none is run
    once the stream is closed. Earlier rounds' usage is added to each chunk that has one; if none of the last answer's has, a
    chunk without generations follows that tells it.

    For a subclass: the hooks are called in the order in which they stand here, those in the middle once in each round; each has
    a twin for streams. `changed` copies also what a subclass adds: it names its settings in `settings`, keeps each in an
    attribute of that name after an underscore, and looks at them in `check`.
    """

    settings: ClassVar[tuple[str, ...]] = ("manager", "order", "name", "eligible", "internal_history", "max_iterations")

    def __init__(
        self,
        *,
        manager: ToolManager | None = None,
        order: int = TOOL_CALLING_ORDER,
        name: str = "Tool Calling Advisor",
        eligible: Eligible = default_eligible,
        internal_history: bool = True,
        max_iterations: int | None = 50,
        concurrent: bool = False,
    ) -> None:
        """Raises ValueError or TypeError, which name the parameter."""
        if manager is not None and concurrent:
            raise ValueError("concurrent: how tools are run is the manager's setting; give it there")
        self._manager = ToolCallingManager(concurrent=concurrent) if manager is None else manager
        self._order = order
        self._name = name
        self._eligible = eligible
        self._internal_history = internal_history
        self._max_iterations = max_iterations
        self.check()

    @property
    def name(self) -> str:
        return self._name

    @property
    def order(self) -> int:
        return self._order

    @property
    def runs_tools(self) -> bool:
        return True

    @property
    def manager(self) -> ToolManager:
        return self._manager

    @property
    def internal_history(self) -> bool:
        return self._internal_history

    def changed(self, **settings: Any) -> Self:
        """A copy of the same type with other settings. Raises TypeError for an unknown one."""
        twin = copy.copy(self)
        for name, value in settings.items():
            if name not in self.settings:
                raise TypeError(f"{type(self).__name__} has no setting {name!r}; it has: {', '.join(self.settings)}")
            setattr(twin, f"_{name}", value)
        twin.check()
        return twin

    def check(self) -> None:
        """Raises ValueError or TypeError for a setting that cannot be, and names it."""
        if not HIGHEST_PRECEDENCE < self._order < LOWEST_PRECEDENCE:
            raise ValueError(f"order: between {HIGHEST_PRECEDENCE} and {LOWEST_PRECEDENCE}, and neither, not {self._order}")
        if not isinstance(self._manager, ToolManager):
            raise TypeError(f"manager: definitions and execute, as an ToolCallingManager has, not {self._manager!r}")
        if not callable(self._eligible):
            raise TypeError(f"eligible: a function of a response, not {self._eligible!r}")
        if self._max_iterations is not None and self._max_iterations < 1:
            raise ValueError(f"max_iterations: at least 1 or None, not {self._max_iterations}")

    def initialize_loop(self, request: ChatClientRequest, chain: AdvisorChain) -> ChatClientRequest:
        """Once, before the first round. What it returns is what every round starts from."""
        return request

    def before_call(self, request: ChatClientRequest, chain: AdvisorChain) -> ChatClientRequest:
        """What the model is asked in this round. Its tools are those that can be called; options start anew in each round."""
        return request

    def after_call(self, response: ChatClientResponse, chain: AdvisorChain) -> ChatClientResponse:
        """What the round came to. Its context goes into the next round's request."""
        return response

    def next_instructions(
        self, request: ChatClientRequest, response: ChatClientResponse, execution: ToolExecution
    ) -> Sequence[Message]:
        """The messages of the next round. `execution`: the whole turn, with this round's results as its last message."""
        if self._internal_history:
            return execution.history
        first = next((message for message in execution.history if message.role is Role.SYSTEM), None)
        return execution.history[-1:] if first is None else (first, execution.history[-1])

    def finalize_loop(self, response: ChatClientResponse, chain: AdvisorChain) -> ChatClientResponse:
        """Once, with what goes out."""
        return response

    def initialize_loop_stream(self, request: ChatClientRequest, chain: AdvisorChain) -> ChatClientRequest:
        """As `initialize_loop`, which it calls."""
        return self.initialize_loop(request, chain)

    def before_stream(self, request: ChatClientRequest, chain: AdvisorChain) -> ChatClientRequest:
        """As `before_call`, which it calls."""
        return self.before_call(request, chain)

    def after_stream(self, response: ChatClientResponse, chain: AdvisorChain) -> ChatClientResponse:
        """As `after_call`, which it calls. `response`: the chunks of the round put together, tool calls included. The loop goes
        on with what is returned; the reader has seen the text already: see `finalize_loop_stream`."""
        return self.after_call(response, chain)

    def next_instructions_stream(
        self, request: ChatClientRequest, response: ChatClientResponse, execution: ToolExecution
    ) -> Sequence[Message]:
        """As `next_instructions`, which it calls. `response`: the chunks of the round put together."""
        return self.next_instructions(request, response, execution)

    def finalize_loop_stream(
        self, chunks: Generator[ChatClientResponse, None, None], chain: AdvisorChain
    ) -> Generator[ChatClientResponse, None, None]:
        """Once, around all that goes out, of every round: what it yields is what the reader sees. In place of `finalize_loop`,
        which is for whole answers."""
        return chunks

    def advise_call(self, request: ChatClientRequest, chain: AdvisorChain) -> ChatClientResponse:
        if not isinstance(request.options, ToolOptions):
            return chain.next_call(request)
        turn = LoopState(self.initialize_loop(request, chain), self._internal_history)
        while True:
            round_request = self.before_call(turn.request, chain)
            answer = self._pending(turn, round_request, chain) or chain.next_call(round_request)
            answer = self.after_call(answer, chain)
            turn.add_answer(answer)
            outcome = self._run_tools(turn, round_request, answer, chain) if self._has_calls_to_run(answer) else answer
            if isinstance(outcome, ChatClientResponse):
                return self.finalize_loop(turn.with_turn_usage(outcome), chain)
            turn.start_next_round(answer, outcome, self.next_instructions(round_request, answer, outcome))

    def advise_stream(self, request: ChatClientRequest, chain: AdvisorChain) -> Generator[ChatClientResponse, None, None]:
        if not isinstance(request.options, ToolOptions):
            with closing(chain.next_stream(request)) as passing:
                for chunk in passing:
                    yield chunk
            return
        turn = LoopState(self.initialize_loop_stream(request, chain), self._internal_history)
        with (
            closing(self._rounds(turn, chain)) as source,
            closing(self.finalize_loop_stream(source, chain)) as chunks,
        ):
            for chunk in chunks:
                yield chunk

    def _rounds(self, turn: LoopState, chain: AdvisorChain) -> Generator[ChatClientResponse, None, None]:
        while True:
            round_request = self.before_stream(turn.request, chain)
            round_ = LoopRound()
            with closing(self._round_chunks(turn, round_request, chain)) as chunks:
                for chunk in chunks:
                    if (ready := round_.passing(chunk)) is not None:
                        yield turn.chunk_with_turn_usage(ready)
            answer = self.after_stream(round_.answer(), chain)
            turn.add_answer(answer)
            if not self._has_calls_to_run(answer):
                for chunk in round_.ending(answer):
                    yield turn.chunk_with_turn_usage(chunk)
                for chunk in turn.usage_chunks(answer):
                    yield chunk
                return
            outcome = self._run_tools(turn, round_request, answer, chain)
            if isinstance(outcome, ChatClientResponse):
                yield turn.with_turn_usage(outcome)
                return
            turn.start_next_round(answer, outcome, self.next_instructions_stream(round_request, answer, outcome))

    def _has_calls_to_run(self, answer: ChatClientResponse) -> bool:
        return answer.response is not None and self._eligible(answer)

    def _round_chunks(
        self, turn: LoopState, round_request: ChatClientRequest, chain: AdvisorChain
    ) -> Generator[ChatClientResponse, None, None]:
        pending = self._pending(turn, round_request, chain)
        if pending is not None:
            yield pending
            return
        with closing(chain.next_stream(round_request)) as chunks:
            for chunk in chunks:
                yield chunk

    def _pending(self, turn: LoopState, round_request: ChatClientRequest, chain: AdvisorChain) -> ChatClientResponse | None:
        """What the interrupted turn that is resumed here has left to be executed."""
        if not turn.resumes:
            return None
        for memory in _memories(chain):
            found = memory.pending(round_request)
            if found is not None:
                return found
        return None

    def _run_tools(
        self, turn: LoopState, round_request: ChatClientRequest, answer: ChatClientResponse, chain: AdvisorChain
    ) -> ToolExecution | ChatClientResponse:
        """What the round's tools came to, or the response that ends the turn, of which memories have been told."""
        response = answer.response
        if response is None:  # never: see `_goes_on`
            return answer
        if self._max_iterations is not None and turn.rounds >= self._max_iterations:
            end = iterations_exceeded(answer, self._max_iterations)
            return self._end_turn(turn, round_request, end, chain, complete_results(answer.tool_calls, None, end.text))
        try:
            execution = self._manager.execute(Prompt(turn.history(round_request), round_request.options), response)
        except ToolCallLimitExceeded as breach:
            end = limit_exceeded(answer, str(breach), breach.partial)
            return self._end_turn(
                turn, round_request, end, chain, complete_results(answer.tool_calls, breach.partial, end.text)
            )
        except (UnknownTool, ToolFailed) as failure:
            partial = failure.partial if isinstance(failure, ToolFailed) else None
            try:
                _record(
                    round_request.with_context(answer.context),
                    chain,
                    complete_results(answer.tool_calls, partial, str(failure)),
                )
            except Exception as error:
                failure.add_note(f"and the memory could not be told: {error}")
            raise
        if not execution.return_direct:
            return execution
        return self._end_turn(turn, round_request, direct_answer(answer, execution), chain, execution.history[-1])

    def _end_turn(
        self,
        turn: LoopState,
        round_request: ChatClientRequest,
        end: ChatClientResponse,
        chain: AdvisorChain,
        results: Message,
    ) -> ChatClientResponse:
        """The end of a turn, once memories have been told of it. Raises AnswerNotStored."""
        said = end.response.generations if end.response is not None else ()
        try:
            _record(round_request.with_context(end.context), chain, results, *(each.message for each in said))
        except Exception as error:
            raise AnswerNotStored(turn.with_turn_usage(end), error) from error
        return end


def _record(request: ChatClientRequest, chain: AdvisorChain, *messages: Message) -> None:
    for memory in _memories(chain):
        memory.record(request, messages)


def _memories(chain: AdvisorChain) -> list[MemoryAdvisor]:
    return [advisor for advisor in chain.inner if isinstance(advisor, MemoryAdvisor)]
