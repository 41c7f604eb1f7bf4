"""What `append` accepts, as events."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import threadkeep
from threadkeep import Event, SessionEvent, chat
from threadkeep.chat.runtime.arguments import messages_of
from threadkeep.v1.message_pb2 import ChatMessage
from threadkeep.values.incoming import events_of


class FromASdk:
    """A message of a vendor's SDK, which is a pydantic model."""

    role = "assistant"

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return self._fields


def one(item: Any) -> Event:
    (event,) = events_of([item])
    return Event(event)


def test_a_text_is_said_by_the_user() -> None:
    assert events_of(["hi"]) == [threadkeep.user("hi")]


def test_events_and_lists_of_them_are_copied() -> None:
    event = threadkeep.user("a")
    items: list[Any] = [event, [Event(event), ("b", [event])], iter(["c"])]
    found = events_of(items)
    assert [threadkeep.text_of(each) for each in found] == ["a", "a", "b", "a", "c"]
    assert found[0] is not event


def test_a_chat_message_of_the_protocol_becomes_an_event() -> None:
    message = threadkeep.user("a").message
    assert events_of([message]) == [SessionEvent(message=ChatMessage(role=message.role, parts=message.parts))]


OPENAI: list[tuple[dict[str, Any], SessionEvent]] = [
    ({"role": "user", "content": "hi"}, threadkeep.user("hi")),
    ({"role": "system", "content": "be kind"}, threadkeep.system("be kind")),
    ({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, threadkeep.user(["a", "b"])),
    (
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{ "a":1}'}}],
        },
        threadkeep.assistant(tool_calls=[threadkeep.tool_call("c1", "f", '{ "a":1}')]),
    ),
    ({"role": "tool", "tool_call_id": "c1", "content": "yes"}, threadkeep.tool_result("c1", "yes")),
]


@pytest.mark.parametrize(("message", "event"), OPENAI)
def test_an_openai_message_survives_the_round_trip_through_an_event(message: dict[str, Any], event: SessionEvent) -> None:
    assert events_of([message]) == [event]
    assert context(event).to_openai() == [message]
    assert events_of([FromASdk(**message)]) == [event]


def test_an_openai_message_that_parts_cannot_represent_is_stored_verbatim() -> None:
    message = {"role": "developer", "content": "be kind", "later": [1]}
    event = one(message)
    assert (event.role, event.text, event.native.format) == ("system", "be kind", "openai.chat.message/1")
    assert context(event.pb).to_openai() == [message]


def test_an_anthropic_message_survives_the_round_trip_through_an_event() -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "eA=="},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iQ=="}},
    ]
    event = one({"role": "assistant", "content": blocks})
    assert (event.role, event.text, event.tool_calls[0].args) == ("assistant", "Let me look.", {"a": 1})
    assert event.metadata == {"reasoning_of": "anthropic"}
    assert context(event.pb).to_anthropic() == {"messages": [{"role": "assistant", "content": blocks}]}


def test_anthropic_tool_results_are_an_event_of_their_own() -> None:
    blocks = [
        {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "yes"}], "is_error": True},
        {"type": "text", "text": "And BA118?"},
    ]
    result, said = (Event(event) for event in events_of([{"role": "user", "content": blocks}]))
    assert (result.role, result.tool_results[0].text, result.tool_results[0].is_error) == ("tool", "yes", True)
    assert (said.role, said.text) == ("user", "And BA118?")


def test_a_response_of_the_anthropic_sdk_is_its_message() -> None:
    answer = FromASdk(
        id="msg_1", type="message", model="m", role="assistant", content=[{"type": "text", "text": "Yes."}], usage={"a": 1}
    )
    assert events_of([answer]) == [threadkeep.assistant("Yes.")]


def test_a_message_of_the_agent_kit_becomes_an_event() -> None:
    parts: list[Any] = [chat.Reasoning("hm", b"s"), "Let me look.", chat.Media("image/png", data=b"1"), chat.Data("x", "[1]")]
    message = replace(chat.assistant(parts, tool_calls=[chat.ToolCall("c1", "f", "{}")]), metadata={"a": 1})
    event = one(message)
    assert (event.role, event.text, event.metadata) == ("assistant", "Let me look.", {"a": 1})
    assert [part.WhichOneof("content") for part in event.message.parts] == ["reasoning", "text", "media", "data", "tool_call"]
    assert events_of([chat.user("hi")]) == [threadkeep.user("hi")]
    answer = chat.tool(chat.ToolResult("c1", "f", (chat.Text("yes"),)))
    assert events_of([answer]) == [threadkeep.tool_result("c1", "yes", name="f")]


def test_events_are_messages_of_the_agent_kit() -> None:
    said = threadkeep.user("hi", event_id="e1", metadata={"a": 1})
    prompt = chat.ChatClient(chat.ScriptedModel("Yes.")).prompt()
    assert prompt.messages(said, Event(threadkeep.assistant("Yes."))) is not None
    assert messages_of([said, Event(said)]) == (replace(chat.user("hi"), metadata={"a": 1}),) * 2
    assert messages_of([said])[0].id == "e1"


def test_both_packages_have_one_role() -> None:
    assert chat.Role is threadkeep.Role


def said(*blocks: dict[str, Any], role: str = "assistant") -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


@pytest.mark.parametrize(
    ("items", "kind", "problem"),
    [
        ([7], TypeError, r"events\[0\] must be str, Event"),
        ([None], TypeError, r"events\[0\] must be .* not NoneType"),
        (["a", [b"b"]], TypeError, r"events\[1\] must be .* not bytes"),
        ([{}], ValueError, r"events\[0\]\.role: must be one of system, "),
        ([{"role": "robot", "content": "x"}], ValueError, r"events\[0\]\.role"),
        ([{"role": "user", "content": 7}], ValueError, r"events\[0\]\.content: must be text"),
        ([{"role": "user", "content": [{"type": "text"}]}], ValueError, r"events\[0\]\.content\[0\]\.text"),
        ([{"role": "tool", "content": "x"}], ValueError, r"events\[0\]\.tool_call_id"),
        ([said({"type": "tool_use"}, role="robot")], ValueError, r"events\[0\]\.role: must be user or assistant"),
        (
            [{"role": "assistant", "content": [{"type": "tool_use"}]}],
            ValueError,
            r"events\[0\]\.content\[0\]\.id: must be text",
        ),
        (
            [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": 7}]}],
            ValueError,
            "a list of blocks",
        ),
        (
            [{"role": "user", "content": [{"type": "image", "source": {"type": "tape"}}]}],
            ValueError,
            "source.type: must be base64",
        ),
        (["\ud83d"], ValueError, r"events\[0\] contains a lone surrogate \(U\+D83D at index 0\)"),
        (
            [chat.user("a \ud83d")],
            ValueError,
            r"events\[0\]\.parts\[0\]\.text contains a lone surrogate \(U\+D83D at",
        ),
    ],
)
def test_values_that_are_no_messages_are_rejected_by_place(items: list[Any], kind: type[Exception], problem: str) -> None:
    with pytest.raises(kind, match=problem):
        events_of(items)


@pytest.mark.parametrize(
    ("build", "field"),
    [
        (lambda: threadkeep.user("\ud800"), "text"),
        (lambda: threadkeep.user("a", author="\ud800"), "author"),
        (lambda: threadkeep.user("a", metadata='{"a":"\ud800"}'), "metadata"),
        (lambda: threadkeep.tool_call("c1", "f", "\ud800"), "arguments"),
        (lambda: threadkeep.Client("localhost", app="\ud800"), "app"),
        (lambda: threadkeep.Client("localhost", user_id="\ud800"), "user_id"),
        (lambda: threadkeep.Client("localhost").session("\ud800"), "session"),
    ],
)
def test_a_lone_surrogate_is_rejected_by_field(build: Any, field: str) -> None:
    with pytest.raises(ValueError, match=rf"^{field} contains a lone surrogate \(U\+D800"):
        build()


def context(*events: SessionEvent) -> threadkeep.Context:
    return threadkeep.Context(threadkeep.GetContextResponse(events=events))


TALK = (
    threadkeep.system("be kind"),
    threadkeep.user("On time?", author="a b"),
    threadkeep.assistant(["Let me look."], tool_calls=[threadkeep.tool_call("c:1", "arrival", '{"flight":"BA117"}')]),
    threadkeep.tool_result("c:1", "18:40"),
    threadkeep.user([threadkeep.media("image/png", uri="https://x/y.png")]),
    threadkeep.assistant([threadkeep.reasoning("hm")]),
)


def test_a_context_for_openai_has_no_empty_messages_and_no_invalid_names() -> None:
    assert context(*TALK).to_openai() == [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "On time?"},
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [
                {"id": "c:1", "type": "function", "function": {"name": "arrival", "arguments": '{"flight":"BA117"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c:1", "content": "18:40"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]},
    ]


def test_a_context_for_anthropic_alternates_roles_and_has_valid_ids() -> None:
    call = {"type": "tool_use", "id": "c_1", "name": "arrival", "input": {"flight": "BA117"}}
    assert context(*TALK).to_anthropic() == {
        "system": "be kind",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "On time?"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Let me look."}, call]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c_1", "content": "18:40"},
                    {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
                ],
            },
        ],
    }


def test_a_context_for_gemini_names_the_functions_of_results() -> None:
    found = context(*TALK).to_gemini()
    assert found["config"] == {"system_instruction": "be kind"}
    assert found["contents"] == [
        {"role": "user", "parts": [{"text": "On time?"}]},
        {
            "role": "model",
            "parts": [
                {"text": "Let me look."},
                {"function_call": {"id": "c:1", "name": "arrival", "args": {"flight": "BA117"}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"function_response": {"id": "c:1", "name": "arrival", "response": {"output": "18:40"}}},
                {"file_data": {"mime_type": "image/png", "file_uri": "https://x/y.png"}},
            ],
        },
    ]


@pytest.mark.parametrize("mime_type", ["", "image/png"])
def test_media_in_a_data_url_is_inline_data_for_gemini(mime_type: str) -> None:
    event = threadkeep.user([threadkeep.media(mime_type, uri="data:image/png;base64,iVBORw0KGgo=")])
    assert context(event).to_gemini()["contents"][0]["parts"] == [
        {"inline_data": {"mime_type": "image/png", "data": "iVBORw0KGgo="}}
    ]


def test_a_context_as_text_has_a_line_for_each_statement() -> None:
    assert context(*TALK).text().splitlines() == [
        "system: be kind",
        "user: On time?",
        "assistant: Let me look.",
        'assistant calls arrival({"flight":"BA117"})',
        "tool: 18:40",
    ]


def test_reasoning_of_another_provider_is_left_out() -> None:
    signed = threadkeep.assistant([threadkeep.reasoning("hm", signature=b"s"), "Yes."], metadata={"reasoning_of": "openai"})
    assert context(signed).to_anthropic()["messages"][0]["content"] == [{"type": "text", "text": "Yes."}]
    assert context(signed).to_gemini()["contents"][0]["parts"] == [{"text": "Yes."}]


def test_a_context_is_iterable_and_keeps_the_fields_of_the_response() -> None:
    found = threadkeep.Context(threadkeep.GetContextResponse(events=TALK, truncated=True))
    assert [event.role for event in found] == [event.role for event in found.events]
    assert (len(found), found.truncated, found.pb.truncated) == (6, True, True)
    assert len(events_of([found])) == 6
