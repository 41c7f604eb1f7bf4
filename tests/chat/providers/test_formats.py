"""The formats of the providers without a network: chunk boundaries do not matter, and odd input raises known errors."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.runs.thoroughness import examples
from threadkeep.chat import ChatResponse, Message, Prompt, Reasoning, Role, Text, ToolCall, ToolOptions
from threadkeep.chat.providers.formats import anthropic, anthropic_answers, gemini, gemini_answers, openai, openai_answers
from threadkeep.chat.providers.formats.reading import ErrorEvent, Unfinished, Unreadable, object_of
from threadkeep.chat.providers.formats.sse import Event, EventReader

from ..fakes.loopback_anthropic import message, streamed
from ..fakes.models import WEATHER, merged

READERS: dict[str, tuple[Any, Any]] = {
    "openai": (openai_answers.answer, openai_answers.Chunks),
    "anthropic": (anthropic_answers.answer, anthropic_answers.Chunks),
    "gemini": (gemini_answers.answer, gemini_answers.Chunks),
}
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
names = st.text("abcdefgh_", min_size=1, max_size=8)
odd_json = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *(
                        "choices",
                        "message",
                        "delta",
                        "content",
                        "tool_calls",
                        "function",
                        "index",
                        "usage",
                        "id",
                        "type",
                        "name",
                    ),
                    *("candidates", "parts", "text", "thought", "functionCall", "inlineData", "data", "thoughtSignature"),
                    *("content_block", "usageMetadata", "promptFeedback", "finish_reason", "prompt_tokens_details", "error"),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)
KINDS = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "text",
    "tool_use",
]
typed_json = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS)},
    optional={"index": st.integers(0, 1), **dict.fromkeys(("delta", "content_block", "message", "usage"), odd_json)},
)
chunk_json = st.dictionaries(
    st.sampled_from(["choices", "candidates", "usage", "error", "id"]), st.lists(odd_json, max_size=2) | odd_json
)


def events_of(data: bytes, cuts: Iterable[int] = ()) -> list[Event]:
    """Returns the events that a reader makes of bytes cut at these places."""
    reader, at = EventReader(), 0
    found: list[Event] = []
    for cut in [*sorted(cuts), len(data)]:
        found += reader.feed(data[at:cut])
        at = cut
    return [*found, *reader.finish()]


def read(chunks: Any, events: Iterable[Any]) -> list[ChatResponse]:
    found = [response for event in events for response in chunks.add(Event(json.dumps(event)))]
    return [*found, *chunks.finish()]


@given(st.data(), st.lists(texts, max_size=4), st.sampled_from(["\n", "\r\n", "\r"]))
def test_event_reader_result_is_independent_of_chunk_boundaries(data: st.DataObject, said: list[str], end: str) -> None:
    lines = [json.dumps(text, ensure_ascii=False) for text in said]
    stream = "".join(f": note{end}event: e{end}data: {line}{end}data:more{end}{end}" for line in lines).encode()
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=12))
    assert events_of(stream, cuts) == [Event(f"{line}\nmore", "e") for line in lines]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_event_reader_accepts_a_cut_at_every_byte(end: str) -> None:
    stream = f"event: e{end}data: å{end}data: b{end}{end}data: c{end}{end}".encode()
    for cut in range(len(stream)):
        assert events_of(stream, [cut]) == [Event("å\nb", "e"), Event("c")]
    assert events_of(stream, range(len(stream))) == [Event("å\nb", "e"), Event("c")]


def test_event_reader_returns_unterminated_last_event() -> None:
    assert events_of(b"data: a\n\ndata: b") == [Event("a"), Event("b")]
    assert events_of(b"data: a\n\n\n\nevent: x\n\n") == [Event("a")]


def test_event_reader_keeps_unicode_line_separators_in_data() -> None:
    text = "one\u2028two\u0085three\x0bfour"
    assert events_of(f"data: {text}\n\n".encode()) == [Event(text)]


def test_event_reader_rejects_invalid_utf8() -> None:
    with pytest.raises(Unreadable, match="UTF-8"):
        events_of(b"data: \xff\n\n")


def test_event_reader_reads_long_line_in_linear_time() -> None:
    line = b"data: " + b"x" * 4_000_000 + b"\n\n"
    (event,) = events_of(line, range(0, len(line), 64))  # 62 500 pieces: minutes if each were joined to the rest
    assert len(event.data) == 4_000_000


@st.composite
def openai_streams(draw: st.DrawFn) -> tuple[list[dict[str, Any]], str, list[ToolCall]]:
    """A text and calls in pieces; the pieces of different calls are interleaved."""
    text, arguments = draw(texts), draw(st.lists(texts, max_size=3))
    calls = [ToolCall(f"id{at}", draw(names), each) for at, each in enumerate(arguments)]
    deltas: list[dict[str, Any]] = [{"content": piece} for piece in _pieces(draw, text)]
    queues = []
    for at, call in enumerate(calls):
        head, *rest = _pieces(draw, call.arguments) or [""]
        first = {"index": at, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": head}}
        queues.append([first, *({"index": at, "function": {"arguments": piece}} for piece in rest)])
    while left := [queue for queue in queues if queue]:
        deltas.append({"tool_calls": [draw(st.sampled_from(left)).pop(0)]})
    return deltas, text, calls


def _pieces(draw: st.DrawFn, text: str) -> list[str]:
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@given(openai_streams())
def test_openai_deltas_in_any_interleaving_give_the_same_answer(stream: tuple[Any, str, list[ToolCall]]) -> None:
    deltas, text, calls = stream
    chunks = [{"id": "c1", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    ending = {"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    found = read(openai_answers.Chunks(), [*chunks, ending])
    assert [each.tool_calls for each in found if each.tool_calls] == ([tuple(calls)] if calls else [])
    assert merged(found).text == text


@given(
    texts,
    texts.filter(bool),
    st.lists(st.tuples(names, st.dictionaries(names, texts, max_size=2)), max_size=3),
    st.integers(1, 9),
)
def test_anthropic_deltas_at_any_chunk_size_give_the_same_answer(
    thinking: str, text: str, calls: list[tuple[str, dict[str, str]]], cut: int
) -> None:
    blocks = [{"type": "tool_use", "id": f"id{at}", "name": name, "input": given} for at, (name, given) in enumerate(calls)]
    whole = message({"type": "thinking", "thinking": thinking, "signature": "sig"}, text, *blocks)
    events = [event for each in streamed(whole, cut=cut) for event in events_of(each.encode())]
    reader = anthropic_answers.Chunks()
    found = merged([response for event in events for response in reader.add(event)] + list(reader.finish()))
    expected = anthropic_answers.answer(whole)
    assert found.message is not None
    assert expected.message is not None
    assert [_plain(part) for part in found.message.parts] == [_plain(part) for part in expected.message.parts]
    assert (found.finish_reason, found.usage, found.message.metadata) == (
        expected.finish_reason,
        expected.usage,
        expected.message.metadata,
    )


def _plain(part: Any) -> Any:
    """Returns a call with parsed arguments, because their whitespace may differ."""
    return (part.id, part.name, json.loads(part.arguments)) if isinstance(part, ToolCall) else part


def _quietly(act: Callable[[], object]) -> None:
    with contextlib.suppress(Unreadable, Unfinished, ErrorEvent):  # the adapters turn these into ModelFailed
        act()


@pytest.mark.parametrize("provider", READERS)
@settings(max_examples=examples(150))
@given(
    body=st.dictionaries(st.sampled_from(["choices", "content", "candidates", "usage", "id"]), odd_json | st.lists(odd_json))
)
def test_odd_answer_is_parsed_or_raises_known_error(provider: str, body: dict[str, Any]) -> None:
    answer, _ = READERS[provider]
    _quietly(lambda: answer(body))


@pytest.mark.parametrize("provider", READERS)
@settings(max_examples=examples(150))
@given(events=st.lists(typed_json | chunk_json, max_size=4))
def test_odd_events_are_parsed_or_raise_known_error(provider: str, events: Sequence[Any]) -> None:
    _, chunks = READERS[provider]
    _quietly(lambda: read(chunks(), events))


parts = st.one_of(
    st.builds(Text, texts),
    st.builds(Reasoning, texts, st.binary(max_size=4), st.binary(max_size=4)),
    st.builds(ToolCall, texts, names, texts, st.sampled_from(["function", "custom"])),
)


@given(st.lists(st.builds(Message, st.sampled_from(Role), st.lists(parts, max_size=3).map(tuple)), max_size=4))
def test_any_conversation_becomes_valid_request_json(messages: list[Message]) -> None:
    prompt = Prompt(tuple(messages), ToolOptions(model="m", tools=(WEATHER,)))
    for body in (openai.request(prompt), anthropic.request(prompt), gemini.request(prompt)):
        assert json.loads(json.dumps(body)) == body
    said = anthropic.request(prompt)["messages"]
    assert all(one["role"] != other["role"] for one, other in itertools.pairwise(said))


@pytest.mark.parametrize("provider", READERS)
def test_deeply_nested_event_raises_unreadable(provider: str) -> None:
    _, chunks = READERS[provider]
    with pytest.raises(Unreadable):
        list(chunks().add(Event('{"a":' * 100_000)))


def test_openai_content_list_and_object_arguments_are_parsed() -> None:
    calls = [{"id": "a", "function": {"name": "weather", "arguments": {"city": "Oslo"}}}]
    said = {"content": [{"type": "text", "text": "It "}, {"type": "text", "text": "rains."}], "tool_calls": calls}
    found = openai_answers.answer({"choices": [{"message": said, "finish_reason": "stop"}]})
    assert found.text == "It rains."
    assert [(each.id, each.arguments) for each in found.tool_calls] == [("a", '{"city":"Oslo"}')]


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [("", {}), (" ", {}), ("{}", {}), ('{"a": 1}', {"a": 1}), ("[1]", {"INVALID_JSON": "[1]"}), ("{", {"INVALID_JSON": "{"})],
)
def test_arguments_that_are_no_object_are_wrapped(arguments: str, sent: dict[str, Any]) -> None:
    assert object_of(arguments) == sent
