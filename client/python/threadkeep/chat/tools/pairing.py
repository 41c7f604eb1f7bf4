"""Pairs of tool calls and results: open calls, and conversations in which every call has its result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..memory.event_ids import results_id
from ..types.messages import Message, Role, ToolCall, ToolResult


class Paired(NamedTuple):
    """A conversation that every provider accepts, and the number of calls and results that were dropped."""

    messages: tuple[Message, ...]
    dropped: int


class _Claim(NamedTuple):
    """A result and the index of its message."""

    at: int
    result: ToolResult


class _Calls:
    """Matches results to calls. Ids need not be unique: of several open calls with one id, a result answers the call from
    which its event id is derived, else the latest of its branch, else the latest."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self.open: dict[str, list[tuple[int, int]]] = {}
        self.claims: dict[int, list[_Claim]] = {}
        self.answered: set[tuple[int, int]] = set()
        self.orphans = 0
        for at, message in enumerate(messages):
            if message.role is Role.ASSISTANT:
                for place, call in enumerate(message.tool_calls):
                    self.open.setdefault(call.id, []).append((at, place))
            elif message.role is Role.TOOL:
                for result in message.tool_results:
                    self._answer(at, result)

    def _answer(self, at: int, result: ToolResult) -> None:
        waiting = self.open.get(result.call_id)
        if not waiting:
            self.orphans += 1
            return
        found = self._meant(self._messages[at], waiting) if len(waiting) > 1 else waiting[0]
        waiting.remove(found)
        self.answered.add(found)
        self.claims.setdefault(found[0], []).append(_Claim(at, result))

    def _meant(self, results: Message, waiting: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """Finds the call of a result among calls with the same id; within a message, the last comes first."""
        latest = waiting[-1]
        if not results.id:  # of the current turn, whose call is the latest
            return latest
        ids = [result.call_id for result in results.tool_results]
        of_branch = None
        for call in reversed(waiting):
            made = self._messages[call[0]]
            if made.id and results.id == results_id([(made.id, each) for each in ids]):
                return call
            if of_branch is None and made.branch == results.branch:
                of_branch = call
        return of_branch or latest


def paired(messages: Sequence[Message]) -> Paired:
    """Returns the conversation without calls that have no result and results that have no call, with each result right after
    its call.

    Other events may separate them: agents on other branches, or a user who did not wait.
    """
    if _in_order(messages):
        return Paired(tuple(messages), 0)
    calls = _Calls(messages)
    dropped = calls.orphans
    kept: list[Message] = []
    for at, message in enumerate(messages):
        if message.role is Role.TOOL:
            continue
        requested = message.tool_calls if message.role is Role.ASSISTANT else ()
        if not requested:
            kept.append(message)
            continue
        answered = {place for place in range(len(requested)) if (at, place) in calls.answered}
        dropped += len(requested) - len(answered)
        shown = message if len(answered) == len(requested) else with_calls(message, answered)
        if not shown.is_blank:
            kept.append(shown)
        kept += _results(messages, calls.claims.get(at, ()))
    return Paired(tuple(kept), dropped)


def _in_order(messages: Iterable[Message]) -> bool:
    """Returns whether the conversation is already paired: the usual case, and faster to check."""
    waiting: list[str] = []
    for message in messages:
        if waiting:
            if [each.call_id for each in message.parts if isinstance(each, ToolResult)] != waiting:
                return False
            waiting = []
        elif message.role is Role.ASSISTANT:
            waiting = [each.id for each in message.parts if isinstance(each, ToolCall)]
        elif message.role is Role.TOOL:
            return False
    return not waiting


def answers(messages: Sequence[Message], *, since: int = 0) -> dict[int, list[tuple[int, ToolResult]]]:
    """Returns, by index of a TOOL message, its results with the index of the message that made the call.

    `since`: earlier indexes may be left out. Results usually follow their calls.
    """
    if 0 < since == len(messages) - 1 and _in_order(messages[since - 1 :]):
        return {since: [(since - 1, result) for result in messages[since].tool_results]}
    found: dict[int, list[tuple[int, ToolResult]]] = {}
    for requested, claims in _Calls(messages).claims.items():
        for claim in claims:
            found.setdefault(claim.at, []).append((requested, claim.result))
    return found


def unanswered(messages: Sequence[Message]) -> Message | None:
    """Returns the last answer with its calls that have no result; None if all have one."""
    results: set[str] = set()
    for message in reversed(messages):
        if message.role is Role.TOOL:
            results |= {result.call_id for result in message.tool_results}
            continue
        requested = message.tool_calls if message.role is Role.ASSISTANT else ()
        waiting = {place for place, call in enumerate(requested) if call.id not in results}
        if not waiting:
            return None
        return message if len(waiting) == len(requested) else with_calls(message, waiting)
    return None


def with_calls(message: Message, places: set[int]) -> Message:
    """Returns the message with these calls only."""
    number = iter(range(len(message.parts)))
    return replace(
        message, parts=tuple(part for part in message.parts if not isinstance(part, ToolCall) or next(number) in places)
    )


def with_results(message: Message, wanted: Iterable[ToolResult]) -> Message:
    """Returns the message with these results only."""
    results = tuple(wanted)
    return message if results == message.tool_results else replace(message, parts=results)


def _results(messages: Sequence[Message], claims: Sequence[_Claim]) -> Iterator[Message]:
    by_message: dict[int, list[ToolResult]] = {}
    for claim in claims:
        by_message.setdefault(claim.at, []).append(claim.result)
    for at, results in by_message.items():
        yield with_results(messages[at], results)
