# Generated from _async by `make sync-client`. Do not edit.
"""The memory of a chat client: its conversations are sessions of a Threadkeep server."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from .... import Client
from ...._convert import CreateOptions
from ....memory import MemoryProvider
from ....messages import new_event_id
from ....v1.context_pb2 import ContextSpec
from ...context_keys import MEMORY, RESUME, SESSION_MEMORY_ORDER
from ...errors import AnswerNotStored, NothingToResume
from ...memory._callables_threads import Strategy, Trigger
from ...memory.event_ids import EventIds, answer_id, random_ids, results_id
from ...memory.message_filters import skip_empty
from ...memory.turns import Results, Round, Turn, messages_by_generation, results_of, start_round
from ...runtime.arguments import check_sdk
from ...telemetry.log import warn
from ...tools.pairing import paired, unanswered
from ...types.aggregate import Aggregator
from ...types.messages import Message, Role
from ...types.requests import ChatClientRequest, ChatClientResponse
from ...types.responses import ChatResponse, Generation, Usage
from ..providers.model import ChatModel
from ..runtime.advisor import ToolAdvisor
from ..runtime.chain import AdvisorChain
from .compacting import Compactor
from .session_log import NewEvent, SessionLog, Stored


class SessionMemoryAdvisor:
    """Reads a session's history for the model, and stores the messages of the user, the model and tools.

    A request names its session (`.session("s1")`). Inside of the tool loop, the default, each step is stored before the next
    one starts, and an interrupted agent can `.resume()`. Outside (`order` below TOOL_CALLING_ORDER) only the user's message
    and the final answer are stored. The history is read once per turn, whatever the number of rounds.

    memory: what is read, and whether it is written; `context_keys.MEMORY` in a request's context replaces it.
    Default: the window.
    author, author_role: the agent, stored with its events. branch: its branch, stored as well; the agent sees its own branch,
    those above it and events without a branch. An agent without a branch sees all.
    message_filter: which messages are stored; a result is stored if and only if its call is.
    request_ids, response_ids: event ids of requests and answers; ids of results are derived from their calls.
    trigger, strategy, summarizer: compact after a reply without tool calls, with the server's model or with this one, within
    compaction_timeout seconds per call; a failure is reported to the log and the span, and the reply is returned. Without them
    the server's policy applies. Both may be functions: the trigger of the WindowCounters, true if it fires; the strategy of the
    Context, which returns a plan (`compaction.plan`), a summary of all of it, or None.
    create: create missing sessions, or how; False: they must exist. check_owner: where a request names a user, reject a new
    session whose id another user of the app has.

    Raises MissingSession, WrongUser, NothingToResume, and the errors of the SDK's `get_context` and `append`; AnswerNotStored
    if the turn's answer cannot be appended.
    """

    def __init__(
        self,
        client: Client,
        *,
        memory: MemoryProvider | ContextSpec | None = None,
        order: int = SESSION_MEMORY_ORDER,
        name: str = "Session Memory Advisor",
        author: str = "",
        author_role: str = "",
        branch: str = "",
        message_filter: Callable[[Message], bool] = skip_empty,
        request_ids: EventIds = random_ids,
        response_ids: EventIds = random_ids,
        trigger: Trigger | None = None,
        strategy: Strategy | None = None,
        summarizer: ChatModel | None = None,
        compaction_timeout: float | None = None,
        create: bool | CreateOptions = True,
        check_owner: bool = True,
    ) -> None:
        callables = {"message_filter": message_filter, "request_ids": request_ids, "response_ids": response_ids}
        for argument, value in callables.items():
            if not callable(value):
                raise TypeError(f"{argument} must be callable, not {type(value).__name__}")
        check_sdk(client, "SessionMemoryAdvisor")
        self._name = name
        self._order = order
        self._log = SessionLog(
            client, author=author, author_role=author_role, branch=branch, create=create, check_owner=check_owner
        )
        self._compactor = Compactor(client, trigger, strategy, summarizer, actor=author or name, timeout=compaction_timeout)
        self._memory = _provider(memory, "memory")
        self._filter = message_filter
        self._request_ids = request_ids
        self._response_ids = response_ids
        self._key = f"threadkeep.turn.{new_event_id()}"

    @property
    def name(self) -> str:
        return self._name

    @property
    def order(self) -> int:
        return self._order

    def advise_call(self, request: ChatClientRequest, chain: AdvisorChain) -> ChatClientResponse:
        turn = self._turn(request)
        if (answered := self._stored_answer(turn, request, chain)) is not None:
            return answered
        inner, turn = self._store_request(turn, request)
        response, stored = self._store_answer(turn, request, chain.next_call(inner))
        if not response.tool_calls:
            self._compactor.after(stored.turn.ref, stored.window)
        return self._with_turn(response, request, stored.turn)

    def advise_stream(self, request: ChatClientRequest, chain: AdvisorChain) -> Generator[ChatClientResponse, None, None]:
        """Yields the chunks as they arrive, except the last ones of the answer: those follow once it is stored."""
        turn = self._turn(request)
        if (answered := self._stored_answer(turn, request, chain)) is not None:
            yield answered
            return
        inner, turn = self._store_request(turn, request)
        whole, held, text_sent = Aggregator(), list[ChatClientResponse](), False
        with closing(chain.next_stream(inner)) as chunks:
            for chunk in chunks:
                whole.add(chunk)
                held.append(chunk)
                if not _must_wait(held, turn):
                    for ready in held:
                        text_sent = text_sent or bool(ready.text)
                        yield ready
                    held.clear()
        before = whole.response()
        response, stored = self._store_answer(turn, request, before)
        if response is not before:  # another process resumed this turn first
            held = [_replacement(response, text_sent)]
        *ended, last = held or [before.with_response(None)]
        for chunk in ended:
            yield chunk
        final = self._with_turn(response, request, stored.turn)
        yield ChatClientResponse(last.response, final.context)
        if not response.tool_calls:
            self._compactor.after(stored.turn.ref, stored.window)

    def record(self, request: ChatClientRequest, messages: Sequence[Message]) -> None:
        """Stores messages that a loop produced without calling the model, in one append: results that end a turn, and the
        answer.

        `request`: has the context of the round's response. The turn has ended afterwards.
        """
        turn = self._known(request)
        turn = self._turn(request) if turn is None else turn
        conversation, new = (*turn.messages, *messages), len(turn.messages)
        results = results_of(conversation, new, unknown_calls=not turn.started and not turn.provider.reads)
        kept = [at for at in range(new, len(conversation)) if at in results or self._is_stored(conversation[at])]
        new_events = [
            self._results_event(results[at]) if at in results else self._answer_event(turn, conversation[at], request, at - new)
            for at in kept
        ]
        stored = self._log.append(turn, new_events, request.context)
        if any(message.role is Role.ASSISTANT for message in messages):
            self._compactor.after(stored.turn.ref, stored.window)

    def pending(self, request: ChatClientRequest) -> ChatClientResponse | None:
        """Returns, when resuming, the stored answer with its calls that have no result; None if there are none.

        The caller passes its context, which contains the history, to the next round's request.
        """
        turn = self._turn(request)
        return self._open_calls(turn, request) if turn.resumed else None

    # --- a round

    def _known(self, request: ChatClientRequest) -> Turn | None:
        turn = request.context.get(self._key)
        return turn if isinstance(turn, Turn) else None

    def _turn(self, request: ChatClientRequest) -> Turn:
        """Returns the turn of the previous round, or a new one."""
        known = self._known(request)
        if known is not None:
            return known
        chosen = _provider(request.context.get(MEMORY), MEMORY) or self._memory or MemoryProvider.limited_window()
        turn = self._log.read(request.context, chosen)
        says_nothing = all(message.role is Role.SYSTEM for message in request.messages)
        return replace(turn, resumed=True) if request.context.get(RESUME) and says_nothing else turn

    def _store_request(self, turn: Turn, request: ChatClientRequest) -> tuple[ChatClientRequest, Turn]:
        """Stores the new messages of a request. Returns the request for the model, and the turn."""
        round_ = self._store_new(start_round(turn, request.messages), request)
        messages, dropped = round_.prompt()
        if dropped and not turn.started and (count := self._dropped(round_.turn)):
            warn("tool calls without a result, or results without a call, are not shown to the model", count=count)
        inner = replace(request, messages=messages, context=_without(request.context, self._key))
        return inner, round_.turn

    def _dropped(self, turn: Turn) -> int:
        """Counts dropped calls and results of this agent's branch; agents on other branches may still wait for their tools."""
        branch = self._log.branch
        return paired([message for message in turn.messages if message.branch == branch or not message.id]).dropped

    def _store_new(self, round_: Round, request: ChatClientRequest) -> Round:
        new_events = {at: self._results_event(results) for at, results in round_.results.items()}
        question = round_.question
        if question is not None and self._is_stored(message := round_.turn.messages[question]):
            new_events[question] = NewEvent(message, self._request_ids(message, request.context))
        if not new_events:
            return round_
        places = sorted(new_events)
        stored = self._log.append(round_.turn, [new_events[at] for at in places], request.context)
        conversation = list(round_.turn.messages)
        for at, message in zip(places, stored.messages, strict=True):
            requested = new_events[at].message
            partly = requested is not conversation[at] and message.says_the_same(requested)
            conversation[at] = replace(conversation[at], id=message.id) if partly else message
        return replace(round_, turn=replace(stored.turn, messages=tuple(conversation)))

    def _store_answer(
        self, turn: Turn, request: ChatClientRequest, response: ChatClientResponse
    ) -> tuple[ChatClientResponse, Stored]:
        """Stores the generations that have content. Returns another response if another agent had already stored the answer."""
        if response.response is None:
            return response, Stored(turn, (), None)
        generations = list(response.response.generations)
        by_place = messages_by_generation(generations)
        kept = [at for at, message in by_place.items() if self._is_stored(message)]
        new_events = [
            self._answer_event(turn, by_place[at], request, at, response.usage if at == kept[0] else None) for at in kept
        ]
        try:
            stored = self._log.append(turn, new_events, request.context)
        except Exception as error:
            if response.tool_calls:  # nobody has been answered yet
                raise
            raise AnswerNotStored(self._with_turn(response, request, turn), error) from error
        changed = False
        for at, message in zip(kept, stored.messages, strict=True):
            if not message.says_the_same(by_place[at]):
                generations[at] = _generation(message)
                changed = True
            by_place[at] = message
        if changed:
            response = response.with_response(replace(response.response, generations=tuple(generations)))
        shown = tuple(message for message in by_place.values() if not message.is_blank)
        return response, stored._replace(turn=replace(stored.turn, messages=(*stored.turn.messages, *shown)))

    def _with_turn(self, response: ChatClientResponse, request: ChatClientRequest, turn: Turn) -> ChatClientResponse:
        """Returns the response with the turn in its context while the turn continues."""
        context = _without({**request.context, **response.context}, self._key)
        if response.tool_calls:
            context[self._key] = turn
        return ChatClientResponse(response.response, context)

    # --- resuming

    def _stored_answer(self, turn: Turn, request: ChatClientRequest, chain: AdvisorChain) -> ChatClientResponse | None:
        """Returns, when resuming, the session's final answer; None if the model is to be called. Raises NothingToResume."""
        if not turn.resumed or turn.started:
            return None
        last = next(reversed(self._own_messages(turn)), None)
        if last is None:
            raise NothingToResume(
                f"the session {turn.ref.session_id!r} has nothing to resume: send a message with .user(...) and .call()"
            )
        if last.role is Role.ASSISTANT and not last.tool_calls:
            return self._with_turn(_response_of(last), request, turn)
        # A loop further in runs only the calls of its own model, so the model is called again; open calls are not shown.
        looped = any(isinstance(each, ToolAdvisor) and each.runs_tools for each in chain.inner)
        return None if looped else self._open_calls(turn, request)

    def _open_calls(self, turn: Turn, request: ChatClientRequest) -> ChatClientResponse | None:
        requested = unanswered(self._own_messages(turn))
        if requested is None:
            return None
        instructions = [message for message in request.messages if message.role is Role.SYSTEM]
        return self._with_turn(
            _response_of(requested), request, replace(turn, started=True, extra_instructions=tuple(instructions[1:]))
        )

    def _own_messages(self, turn: Turn) -> list[Message]:
        """Returns the messages of this agent's branch in the window, without summaries."""
        return [message for message in turn.messages if message.id and message.branch == self._log.branch]

    # --- stored events

    def _is_stored(self, message: Message) -> bool:
        return message.role is not Role.TOOL and self._filter(message)

    def _results_event(self, results: Results) -> NewEvent:
        named = all(event_id for event_id, _ in results.answered)
        return NewEvent(results.message, results_id(results.answered) if named else new_event_id(), shared=named)

    def _answer_event(
        self, turn: Turn, message: Message, request: ChatClientRequest, index: int, usage: Usage | None = None
    ) -> NewEvent:
        if not turn.resumed:
            return NewEvent(message, self._response_ids(message, request.context), usage)
        anchor = next((each.id for each in reversed(self._own_messages(turn))), "")  # agents of other branches resume their own
        return NewEvent(message, answer_id(anchor, index), usage, shared=True)


def _provider(memory: object, argument: str) -> MemoryProvider | None:
    if memory is None or isinstance(memory, MemoryProvider):
        return memory
    if isinstance(memory, ContextSpec):
        return MemoryProvider(memory)
    raise TypeError(f"{argument} must be MemoryProvider or ContextSpec, not {type(memory).__name__}")


def _without(context: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {each: value for each, value in context.items() if each != key}


def _generation(message: Message) -> Generation:
    return Generation(message, "tool_calls" if message.tool_calls else "stop")


def _response_of(message: Message) -> ChatClientResponse:
    return ChatClientResponse(ChatResponse((_generation(message),)))


def _must_wait(held: Sequence[ChatClientResponse], turn: Turn) -> bool:
    """Returns whether these chunks wait until the answer is stored: the end of the answer, and in a resumed turn tool calls."""
    if turn.resumed and any(chunk.tool_calls for chunk in held):
        return True
    newest = held[-1].response
    return newest is None or all(each.finish_reason or not each.message.parts for each in newest.generations)


def _replacement(response: ChatClientResponse, text_sent: bool) -> ChatClientResponse:
    """Returns the answer that another process stored, as the end of a stream; without text if some was already sent."""
    if response.response is None or not text_sent:
        return response
    generations = tuple(
        replace(each, message=replace(each.message, parts=each.message.tool_calls)) for each in response.response.generations
    )
    return response.with_response(replace(response.response, generations=generations))
