# Generated from _async by `make sync-client`. Do not edit.
"""The tool loop: calls the model and runs its tool calls until an answer has none."""

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
    """Returns whether the loop continues: the answer has tool calls."""
    return bool(answer.tool_calls)


class ToolCallingAdvisor:
    """Runs tools for a model. Requests whose options are not ToolOptions pass unchanged. One object serves many requests.

    `manager`: runs the tools, default an ToolCallingManager with `concurrent`. `eligible`: decides whether the tools of
    an answer run; otherwise the answer ends the turn, as does one without a response. `internal_history`: each round's request
    contains the whole turn; False: the first SYSTEM message and the last message, for an inner memory that adds the rest.
    `max_iterations`: model calls in one turn, None for no limit.

    A turn also ends when all called tools are return-direct, at a limit of the manager, and after `max_iterations` answers.
    The finish reason is then "returnDirect", "toolCallLimitExceeded" or "toolIterationsExceeded". Inner memories store such an
    end, and an UnknownTool or ToolFailed that ends a turn, so that every stored call has a result; if they cannot,
    AnswerNotStored contains the answer. The usage covers the whole turn.

    Streams: chunks other than tool calls are passed on at once. Tools run before the next chunk arrives, and no longer once
    the stream is closed. The usage of earlier rounds is added to each chunk with a usage; if the last answer has none, a chunk
    without generations follows.

    Subclasses: the hooks run in the order of their definition, the middle ones once per round; each has a counterpart for
    streams. `changed` also copies settings of a subclass that are listed in `settings`, stored in an attribute with an
    underscore, and validated in `check`.
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
            raise ValueError("concurrent: set it on the manager")
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
        """Returns a copy of the same type with other settings. Raises TypeError for an unknown one."""
        twin = copy.copy(self)
        for name, value in settings.items():
            if name not in self.settings:
                raise TypeError(f"{type(self).__name__} has no setting {name!r}; it has: {', '.join(self.settings)}")
            setattr(twin, f"_{name}", value)
        twin.check()
        return twin

    def check(self) -> None:
        """Raises ValueError or TypeError that names an invalid setting."""
        if not HIGHEST_PRECEDENCE < self._order < LOWEST_PRECEDENCE:
            raise ValueError(f"order: between {HIGHEST_PRECEDENCE} and {LOWEST_PRECEDENCE}, and neither, not {self._order}")
        if not isinstance(self._manager, ToolManager):
            raise TypeError(f"manager: definitions and execute, as an ToolCallingManager has, not {self._manager!r}")
        if not callable(self._eligible):
            raise TypeError(f"eligible: a function of a response, not {self._eligible!r}")
        if self._max_iterations is not None and self._max_iterations < 1:
            raise ValueError(f"max_iterations: at least 1 or None, not {self._max_iterations}")

    def initialize_loop(self, request: ChatClientRequest, chain: AdvisorChain) -> ChatClientRequest:
        """Runs once, before the first round. Returns the request from which every round starts."""
        return request

    def before_call(self, request: ChatClientRequest, chain: AdvisorChain) -> ChatClientRequest:
        """Returns the request of this round. Its tools are those that can be called; options start from the initial ones in
        each round."""
        return request

    def after_call(self, response: ChatClientResponse, chain: AdvisorChain) -> ChatClientResponse:
        """Returns the response of the round. Its context is passed to the next round's request."""
        return response

    def next_instructions(
        self, request: ChatClientRequest, response: ChatClientResponse, execution: ToolExecution
    ) -> Sequence[Message]:
        """Returns the messages of the next round. `execution`: the whole turn; its last message has this round's results."""
        if self._internal_history:
            return execution.history
        first = next((message for message in execution.history if message.role is Role.SYSTEM), None)
        return execution.history[-1:] if first is None else (first, execution.history[-1])

    def finalize_loop(self, response: ChatClientResponse, chain: AdvisorChain) -> ChatClientResponse:
        """Runs once, with the final response."""
        return response

    def initialize_loop_stream(self, request: ChatClientRequest, chain: AdvisorChain) -> ChatClientRequest:
        """Calls `initialize_loop` by default."""
        return self.initialize_loop(request, chain)

    def before_stream(self, request: ChatClientRequest, chain: AdvisorChain) -> ChatClientRequest:
        """Calls `before_call` by default."""
        return self.before_call(request, chain)

    def after_stream(self, response: ChatClientResponse, chain: AdvisorChain) -> ChatClientResponse:
        """Calls `after_call` by default. `response`: the joined chunks of the round, with tool calls. The loop continues with
        the result; the reader has already seen the text, see `finalize_loop_stream`."""
        return self.after_call(response, chain)

    def next_instructions_stream(
        self, request: ChatClientRequest, response: ChatClientResponse, execution: ToolExecution
    ) -> Sequence[Message]:
        """Calls `next_instructions` by default. `response`: the joined chunks of the round."""
        return self.next_instructions(request, response, execution)

    def finalize_loop_stream(
        self, chunks: Generator[ChatClientResponse, None, None], chain: AdvisorChain
    ) -> Generator[ChatClientResponse, None, None]:
        """Runs once, around the stream of all rounds; the reader sees what it yields. Replaces `finalize_loop` for streams."""
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
        """Returns the open calls of the turn that is resumed."""
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
        """Returns the results of the round's tools, or the response that ends the turn, which memories have stored."""
        response = answer.response
        if response is None:  # unreachable, see `_has_calls_to_run`
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
                failure.add_note(f"in addition, the memory could not store the results: {error}")
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
        """Returns the response that ends a turn after memories stored it. Raises AnswerNotStored."""
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
