"""Pairing of tool calls and results in any log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.chat import Message, Role, Text, ToolCall, ToolResult, assistant, tool, user
from threadkeep.chat.memory.event_ids import results_id
from threadkeep.chat.tools import pairing

IDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=3)
MESSAGES = st.lists(
    st.one_of(
        st.just(user("hi")),
        st.just(assistant("hello")),
        st.builds(lambda text, ids: assistant(text, tool_calls=[ToolCall(each, "look") for each in ids]), st.just("x"), IDS),
        st.builds(lambda ids: assistant(tool_calls=[ToolCall(each, "look") for each in ids]), IDS),
        st.builds(lambda ids: tool(*(ToolResult(each, parts=(Text("found"),)) for each in ids)), IDS),
    ),
    max_size=9,
)


def halves(messages: Sequence[Message]) -> int:
    return sum(len(message.tool_calls) + len(message.tool_results) for message in messages)


@given(MESSAGES)
def test_paired_puts_every_result_directly_after_its_call(messages: list[Message]) -> None:
    shown, dropped = pairing.paired(messages)
    assert halves(messages) - halves(shown) == dropped
    waiting: list[str] = []
    for message in shown:
        if message.role is Role.TOOL:
            for result in message.tool_results:
                waiting.remove(result.call_id)
        else:
            assert waiting == []
            waiting = [call.id for call in message.tool_calls]
    assert waiting == []
    texts = [message.text for message in messages if message.text]
    assert [message.text for message in shown if message.text] == texts, "texts stay, in order"
    assert pairing.paired(shown) == (shown, 0)


@given(MESSAGES)
def test_paired_leaves_ordered_messages_unchanged(messages: list[Message]) -> None:
    shown, _ = pairing.paired(messages)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairing, "_in_order", lambda messages: False)
        assert pairing.paired(shown) == (shown, 0)
        assert pairing.paired(messages).messages == shown
        slowly = pairing.answers(messages)
    last = len(messages) - 1
    found = pairing.answers(messages, since=last)
    assert found.get(last, []) == slowly.get(last, [])


@given(MESSAGES)
def test_unanswered_returns_the_open_calls_at_the_end(messages: list[Message]) -> None:
    unanswered = pairing.unanswered(messages)
    while messages and messages[-1].role is Role.TOOL:
        messages.pop()
    if unanswered is not None:
        assert messages[-1].role is Role.ASSISTANT
        assert set(unanswered.tool_calls) <= set(messages[-1].tool_calls)
        assert unanswered.text == messages[-1].text


def calls_of(call_id: str, event_id: str, branch: str = "") -> Message:
    return replace(assistant(tool_calls=[ToolCall(call_id, "look")]), id=event_id, branch=branch)


def finding(call_id: str, text: str, **stored: Any) -> Message:
    return replace(tool(ToolResult(call_id, parts=(Text(text),))), **stored)


@pytest.mark.parametrize("turned", [False, True])
def test_concurrent_writers_with_equal_call_ids_keep_their_results(turned: bool) -> None:
    """Event ids separate two processes on one branch; the branch separates other writers."""
    one, other = calls_of("0", "e1"), calls_of("0", "e2")
    found = [finding("0", f"of {each.id}", id=results_id([(each.id, "0")])) for each in (one, other)]
    shown, dropped = pairing.paired([one, other, *(found[::-1] if turned else found)])
    assert (shown, dropped) == ((one, found[0], other, found[1]), 0)

    one, other = calls_of("0", "e1", "writer"), calls_of("0", "e2", "researcher")
    found = [finding("0", f"of {each.branch}", id="x", branch=each.branch) for each in (one, other)]
    shown, dropped = pairing.paired([one, other, *(found[::-1] if turned else found)])
    assert (shown, dropped) == ((one, found[0], other, found[1]), 0)


def test_unstored_result_answers_the_latest_call_with_its_id() -> None:
    """The result is of a helper; its chief has an open call with the same id."""
    chief, helper, found = calls_of("0", "e1"), calls_of("0", "e2", "helper"), finding("0", "found")
    assert pairing.paired([chief, user("go"), helper, found]) == ((user("go"), helper, found), 1)
    assert pairing.answers([chief, user("go"), helper, found]) == {3: [(2, found.tool_results[0])]}
