"""The events that compactions insert: their text, their results and their counts."""

from __future__ import annotations

import pytest

from threadkeep.v1 import event_pb2, message_pb2
from threadkeep_server.compaction.plan import NewEvent
from threadkeep_server.domain.model import NO_USAGE, SECOND_NS, EventDraft, Role, Tools
from threadkeep_server.domain.text import estimate_tokens
from threadkeep_server.transport.convert.events import DraftMaker
from threadkeep_server.transport.convert.summary_events import SummaryEncoder
from threadkeep_server.transport.wire.codec import EventCodec

NOW = 1_750_000_000 * SECOND_NS + 5


def count(text: str) -> int:
    return estimate_tokens(len(text))


COMPOSER = SummaryEncoder(DraftMaker(lambda: "unused", count))


def composed(new: NewEvent, original: event_pb2.SessionEvent | None = None) -> tuple[EventDraft, event_pb2.SessionEvent]:
    sealed = None if original is None else original.SerializeToString()
    draft = COMPOSER.compose(new, "e1", NOW, sealed)
    return draft, event_pb2.SessionEvent.FromString(draft.body)


def test_a_summary_is_a_synthetic_event() -> None:
    draft, event = composed(NewEvent(Role.ASSISTANT, "They met.", "recursive-summarization", "sub.agent"))
    assert (event.event_id, event.synthetic, event.compaction_source) == ("e1", True, "recursive-summarization")
    assert (event.branch, draft.branch, draft.synthetic) == ("sub.agent", "sub.agent", True)
    assert event.message == message_pb2.ChatMessage(role=message_pb2.ROLE_ASSISTANT, parts=[message_pb2.Part(text="They met.")])
    assert (event.event_time.seconds, event.event_time.nanos, draft.event_time) == (1_750_000_000, 5, NOW)
    assert draft.token_estimate == count("Assistant: They met.")
    assert (draft.usage, draft.turn_start, draft.tools) == (NO_USAGE, False, Tools.NONE)


def test_a_shadow_prompt_starts_no_turn() -> None:
    draft, _ = composed(NewEvent(Role.USER, "Summarize.", "recursive-summarization"))
    assert draft.counters.turns == 0


def test_a_pending_summary_has_empty_text() -> None:
    _, event = composed(NewEvent(Role.ASSISTANT, "", "recursive-summarization"))
    assert [part.WhichOneof("content") for part in event.message.parts] == ["text"]


def test_a_stub_has_a_result_for_each_call_of_the_original() -> None:
    original = event_pb2.SessionEvent(event_id="T1", author="tools", author_role="executor", invocation_id="run", seq=7)
    original.message.role = message_pb2.ROLE_TOOL
    original.message.parts.add().text = "an aside"
    for call_id, error in (("c1", False), ("c2", True)):
        result = original.message.parts.add().tool_result
        result.call_id, result.name, result.is_error = call_id, f"name-{call_id}", error
        result.parts.add().text = "x" * 1000
        result.structured_json = '{"long": true}'
    stub = NewEvent(Role.TOOL, "Left out.", "tool-result-trimming", stands_for="T1", result_names=("name-c1", "name-c2"))
    draft, event = composed(stub, original)
    assert stub.tokens(count) == draft.token_estimate
    assert (event.author, event.author_role, event.invocation_id, event.seq) == ("tools", "executor", "run", 0)
    results = [part.tool_result for part in event.message.parts]
    assert [(each.call_id, each.name, each.is_error) for each in results] == [
        ("c1", "name-c1", False),
        ("c2", "name-c2", True),
    ]
    assert {each.parts[0].text for each in results} == {"Left out."}
    assert {each.structured_json for each in results} == {""}
    assert EventCodec().ties(draft.body) == ((), ("c1", "c2"))
    assert draft.tools is Tools.RESULTS


@pytest.mark.parametrize(("counter", "noted"), [("", ""), ("tiktoken:o200k_base", "tiktoken:o200k_base")])
def test_sealing_appends_to_the_bytes_and_changes_none(counter: str, noted: str) -> None:
    draft, _ = composed(NewEvent(Role.ASSISTANT, "They met.", "recursive-summarization"))
    sealed = EventCodec(counter).seal(draft, 9, NOW)
    assert sealed.startswith(draft.body)
    event = event_pb2.SessionEvent.FromString(sealed)
    assert (event.seq, event.size_bytes, event.token_counter) == (9, len(draft.body), noted)
    assert event.token_estimate == draft.token_estimate
