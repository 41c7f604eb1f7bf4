"""Filters that select the messages a memory stores."""

from __future__ import annotations

from typing import Any

import pytest

from threadkeep.chat import (
    Media,
    Message,
    MessageFilter,
    Reasoning,
    Role,
    ToolCall,
    ToolResult,
    accept_all,
    assistant,
    by_role,
    contains_text,
    skip_empty,
    system,
    tool,
    user,
)

CALL = ToolCall("c1", "look")
EACH = (user("hi"), assistant("hello"), system("Be brief."), tool(ToolResult("c1")))


@pytest.mark.parametrize("message", [*EACH, user(""), assistant(), assistant(" "), assistant(tool_calls=[CALL])])
def test_accept_all_accepts_every_message(message: Message) -> None:
    assert accept_all(message)


@pytest.mark.parametrize("nothing", [assistant(""), assistant("  \n\t"), assistant(), assistant(Reasoning("hm", b"signed"))])
def test_skip_empty_rejects_answers_without_content(nothing: Message) -> None:
    assert not skip_empty(nothing)


@pytest.mark.parametrize(
    "message",
    [assistant("x"), assistant("", tool_calls=[CALL]), assistant(Media("image/png", uri="x:y")), assistant([" ", "x"])],
)
def test_skip_empty_accepts_text_calls_and_media(message: Message) -> None:
    assert skip_empty(message)


@pytest.mark.parametrize("message", [user(""), system(" "), tool(), tool(ToolResult("c1"))])
def test_skip_empty_accepts_messages_of_other_roles(message: Message) -> None:
    assert skip_empty(message)


def test_by_role_accepts_only_the_given_roles() -> None:
    wanted = by_role(Role.USER, Role.TOOL)
    assert [wanted(message) for message in EACH] == [True, False, False, True]


def test_by_role_without_valid_role_raises_value_error() -> None:
    with pytest.raises(ValueError, match="at least one role"):
        by_role()
    with pytest.raises(ValueError, match="robot"):
        by_role("robot")  # type: ignore[arg-type]


def test_contains_text_ignores_case() -> None:
    wanted = contains_text("straße")
    assert [wanted(user(text)) for text in ("Die STRASSE", "strasse", "Strase", "")] == [True, True, False, False]


@pytest.mark.parametrize("message", [assistant(), assistant(tool_calls=[CALL]), tool(ToolResult("look"))])
def test_contains_text_rejects_messages_without_text(message: Message) -> None:
    assert not contains_text("look")(message)


@pytest.mark.parametrize("blank", ["", "  ", "\n"])
def test_contains_text_with_blank_keyword_raises_value_error(blank: str) -> None:
    with pytest.raises(ValueError, match="keyword must not be blank"):
        contains_text(blank)


@pytest.mark.parametrize(("one", "other"), [(a, b) for a in (True, False) for b in (True, False)])
def test_filters_combine_with_and_or_and_not(one: bool, other: bool) -> None:
    first, second = MessageFilter(lambda _: one), MessageFilter(lambda _: other)
    said = user("x")
    assert (first & second)(said) is (one and other)
    assert (first | second)(said) is (one or other)
    assert (~first)(said) is (not one)
    assert (~(first & second) | second)(said) is ((not (one and other)) or other)


@pytest.mark.parametrize("wrong", [None, "user", lambda message: True])
def test_filter_combined_with_other_type_raises_type_error(wrong: Any) -> None:
    with pytest.raises(TypeError, match="a filter combines with a filter"):
        skip_empty & wrong
    with pytest.raises(TypeError, match="a filter combines with a filter"):
        skip_empty | wrong
    with pytest.raises(TypeError, match="keyword must be str"):
        contains_text(None)  # type: ignore[arg-type]
