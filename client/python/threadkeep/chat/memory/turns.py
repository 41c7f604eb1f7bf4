"""A turn of a conversation that a memory accompanies: what the model has been told so far, and what of it is to be stored."""

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

    `said`: the stored history, then what was said in this turn; what is stored bears its event's id. `systems`: the stored
    SYSTEM message. `further`: SYSTEM messages that came with the first round beside the first: a loop repeats only that one.
    `exists`: the session does. `begun`: a round has passed. `resumed`: nobody said anything, an interrupted turn goes on.
    """

    ref: SessionRef
    provider: MemoryProvider
    said: tuple[Message, ...] = ()
    systems: tuple[Message, ...] = ()
    further: tuple[Message, ...] = ()
    exists: bool = False
    begun: bool = False
    resumed: bool = False


class Results(NamedTuple):
    """Results that may be stored, and the calls that they answer: by event id, empty if that is not known, and call id."""

    message: Message
    answered: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Round:
    """A turn as a request takes it on. `systems`: the instructions to the model, stored ones first.

    `results`, `question`: what of `turn.said` is to be stored, by place.
    """

    turn: Turn
    systems: tuple[Message, ...] = ()
    results: dict[int, Results] = field(default_factory=dict)
    question: int | None = None

    def prompt(self) -> Paired:
        """What the model is asked."""
        conversation, dropped = paired(self.turn.said)
        return Paired((*self.systems, *conversation), dropped)


def entered(turn: Turn, messages: Sequence[Message]) -> Round:
    """A round that begins with these messages of a request: they follow what was said, unless they were said already.

    To be stored are the results whose calls are stored, and the user's message if it is the last of what is neither an answer
    nor an instruction. That of a turn's first round is stored even if the history ends with the same words: it was said again.
    """
    talk = [message for message in messages if message.role is not Role.SYSTEM]
    said, new = _joined(turn.said, talk)
    places = range(len(said) - 1, len(said) - len(talk) - 1, -1)
    last = next((at for at in places if said[at].role in (Role.USER, Role.TOOL)), None)
    asks = last is not None and said[last].role is Role.USER and (last >= new or not turn.begun)
    given = [message for message in messages if message.role is Role.SYSTEM]
    further = turn.further if turn.begun else tuple(given[1:])
    systems = _distinct([*turn.systems, *given, *further])
    return Round(
        replace(turn, said=tuple(said), further=further, begun=True),
        tuple(systems),
        results_of(said, new, unknown_calls=not turn.begun and not turn.provider.reads),
        last if asks else None,
    )


def results_of(said: Sequence[Message], new: int, *, unknown_calls: bool = False) -> dict[int, Results]:
    """By place, what may be stored of the TOOL messages from `new` on: results of calls that are stored.

    `unknown_calls`: also of calls of which nobody knows whether they are, because the memory is not read.
    """
    places = [at for at in range(new, len(said)) if said[at].role is Role.TOOL]
    if not places:
        return {}
    found: dict[int, Results] = {}
    for at, pairs in answers(said, since=places[0]).items():
        known = [(said[asked].id, result) for asked, result in pairs if said[asked].id or unknown_calls]
        if at >= new and known:
            found[at] = _results(said[at], known)
    return found


def said_by(generations: Sequence[Generation]) -> dict[int, Message]:
    """What the generations of an answer add to a conversation, by their places and in the order in which they are told.

    Only the calls of the first that calls tools are run: it comes last, so that its results follow it, and of the others only
    what they say beside calls is left.
    """
    calling = next((at for at, each in enumerate(generations) if each.message.tool_calls), None)
    said = {}
    for at, each in enumerate(generations):
        message = with_calls(each.message, set()) if each.message.tool_calls else each.message
        if at != calling and not (each.message.tool_calls and message.is_blank):
            said[at] = message
    if calling is not None:
        said[calling] = generations[calling].message
    return said


def _results(message: Message, known: Sequence[tuple[str, ToolResult]]) -> Results:
    kept = tuple(result for _, result in known)
    stored = message if kept == message.tool_results else replace(message, parts=kept)
    return Results(stored, tuple((event_id, result.call_id) for event_id, result in known))


def _joined(memory: Sequence[Message], talk: Sequence[Message]) -> tuple[list[Message], int]:
    """Memory and what a request brings as one conversation, and from where on it is new.

    What a request repeats of the memory, whole or from somewhere on, is not told twice; the memory's own messages stay.
    """
    if memory and len(talk) > len(memory):
        for at in range(1, len(talk) - len(memory) + 1):
            if _alike(memory, talk[at : at + len(memory)]):
                end = at + len(memory)
                return [*talk[:at], *memory, *talk[end:]], end
    for overlap in range(min(len(memory), len(talk)), 0, -1):
        if _alike(memory[-overlap:], talk[:overlap]):
            return [*memory, *talk[overlap:]], len(memory)
    return [*memory, *talk], len(memory)


def _alike(some: Sequence[Message], others: Sequence[Message]) -> bool:
    return all(one.says_the_same(other) for one, other in zip(some, others, strict=True))


def _distinct(systems: Sequence[Message]) -> list[Message]:
    kept: list[Message] = []
    for message in systems:
        if not any(message.says_the_same(each) for each in kept):
            kept.append(message)
    return kept
