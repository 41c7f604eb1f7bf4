"""The turn of a conversation: its messages, and those of them that are to be stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ...memory import MemoryProvider
from ...v1.session_pb2 import SessionRef
from ..tools.pairing import Paired, answers, paired, with_calls
from ..types.messages import Message, Role, ToolResult
from ..types.responses import Generation


@dataclass(frozen=True, slots=True)
class Turn:
    """From the user's message to the final answer, over all rounds of tools.

    `messages`: the stored history and the messages of this turn; stored ones have the id of their event. `instructions`: the
    stored SYSTEM message. `extra_instructions`: SYSTEM messages of the first round after its first one, which is the only one
    that a tool loop repeats. `exists`: the session exists. `started`: a round has passed. `resumed`: an interrupted turn is
    resumed; there is no new message.
    """

    ref: SessionRef
    provider: MemoryProvider
    messages: tuple[Message, ...] = ()
    instructions: tuple[Message, ...] = ()
    extra_instructions: tuple[Message, ...] = ()
    exists: bool = False
    started: bool = False
    resumed: bool = False


class Results(NamedTuple):
    """Results that may be stored. `answered`: for each call the id of its event, empty if unknown, and its own id."""

    message: Message
    answered: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Round:
    """A round of a turn. `instructions`: all instructions to the model, stored ones first.

    `results`, `question`: the messages of `turn.messages` that are to be stored, by index.
    """

    turn: Turn
    instructions: tuple[Message, ...] = ()
    results: dict[int, Results] = field(default_factory=dict)
    question: int | None = None

    def prompt(self) -> Paired:
        """Returns the messages for the model."""
        conversation, dropped = paired(self.turn.messages)
        return Paired((*self.instructions, *conversation), dropped)


def start_round(turn: Turn, messages: Sequence[Message]) -> Round:
    """Returns the round that starts with these messages of a request. They are appended to the turn unless it already ends
    with them.

    Results are stored if their calls are stored. The user's message is stored if it is the last message except for answers and
    instructions. In the first round it is stored even if the history ends with the same text: the user repeated it.
    """
    incoming = [message for message in messages if message.role is not Role.SYSTEM]
    conversation, new = _merged(turn.messages, incoming)
    places = range(len(conversation) - 1, len(conversation) - len(incoming) - 1, -1)
    last = next((at for at in places if conversation[at].role in (Role.USER, Role.TOOL)), None)
    asks = last is not None and conversation[last].role is Role.USER and (last >= new or not turn.started)
    request_instructions = [message for message in messages if message.role is Role.SYSTEM]
    extra_instructions = turn.extra_instructions if turn.started else tuple(request_instructions[1:])
    instructions = _distinct([*turn.instructions, *request_instructions, *extra_instructions])
    return Round(
        replace(turn, messages=tuple(conversation), extra_instructions=extra_instructions, started=True),
        tuple(instructions),
        results_of(conversation, new, unknown_calls=not turn.started and not turn.provider.reads),
        last if asks else None,
    )


def results_of(conversation: Sequence[Message], new: int, *, unknown_calls: bool = False) -> dict[int, Results]:
    """Returns, by index, the results of stored calls in the TOOL messages from `new` on.

    `unknown_calls`: include calls that may or may not be stored, because the memory is not read.
    """
    places = [at for at in range(new, len(conversation)) if conversation[at].role is Role.TOOL]
    if not places:
        return {}
    found: dict[int, Results] = {}
    for at, pairs in answers(conversation, since=places[0]).items():
        known = [
            (conversation[requested].id, result) for requested, result in pairs if conversation[requested].id or unknown_calls
        ]
        if at >= new and known:
            found[at] = _results(conversation[at], known)
    return found


def messages_by_generation(generations: Sequence[Generation]) -> dict[int, Message]:
    """Returns the messages that generations add to a conversation, by their index and in the order of the conversation.

    Only the calls of the first generation that has calls run. It comes last, so that its results follow it; the other
    generations keep their content without calls.
    """
    calling = next((at for at, each in enumerate(generations) if each.message.tool_calls), None)
    conversation = {}
    for at, each in enumerate(generations):
        message = with_calls(each.message, set()) if each.message.tool_calls else each.message
        if at != calling and not (each.message.tool_calls and message.is_blank):
            conversation[at] = message
    if calling is not None:
        conversation[calling] = generations[calling].message
    return conversation


def _results(message: Message, known: Sequence[tuple[str, ToolResult]]) -> Results:
    kept = tuple(result for _, result in known)
    stored = message if kept == message.tool_results else replace(message, parts=kept)
    return Results(stored, tuple((event_id, result.call_id) for event_id, result in known))


def _merged(memory: Sequence[Message], incoming: Sequence[Message]) -> tuple[list[Message], int]:
    """Joins the memory and the messages of a request. Returns the conversation and the index of the first new message.

    Messages of the request that repeat the memory, whole or its end, are not duplicated; the memory's messages are kept.
    """
    if memory and len(incoming) > len(memory):
        for at in range(1, len(incoming) - len(memory) + 1):
            if _equal(memory, incoming[at : at + len(memory)]):
                end = at + len(memory)
                return [*incoming[:at], *memory, *incoming[end:]], end
    for overlap in range(min(len(memory), len(incoming)), 0, -1):
        if _equal(memory[-overlap:], incoming[:overlap]):
            return [*memory, *incoming[overlap:]], len(memory)
    return [*memory, *incoming], len(memory)


def _equal(some: Sequence[Message], others: Sequence[Message]) -> bool:
    return all(one.says_the_same(other) for one, other in zip(some, others, strict=True))


def _distinct(instructions: Sequence[Message]) -> list[Message]:
    kept: list[Message] = []
    for message in instructions:
        if not any(message.says_the_same(each) for each in kept):
            kept.append(message)
    return kept
