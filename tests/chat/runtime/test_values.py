"""Messages, options and responses as values: immutable, but copied, pickled and serialized like other objects."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from typing import Any

import pytest

from threadkeep.chat import (
    ChatClientRequest,
    ChatClientResponse,
    ChatOptions,
    ChatResponse,
    Generation,
    Media,
    Message,
    Role,
    Text,
    ToolCall,
    ToolContext,
    ToolOptions,
    Usage,
    assistant,
    user,
)

SAID = Message(Role.USER, (Text("Hi"),), {"mood": {"good": [1]}})
VALUES = (
    SAID,
    assistant("Yes", tool_calls=[ToolCall("a", "f", "{}")]),
    ChatResponse((Generation(SAID, "stop", {"a": []}),), Usage(1, 2, 3, native={"in": 1})),
    ToolOptions(temperature=0.5, extra={"a": []}, tool_context={"b": {}}),
    ChatClientRequest((SAID,), ChatOptions(), {"session": "s"}),
    ChatClientResponse(None, {"session": "s"}),
)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_can_be_copied_pickled_hashed_and_converted_to_dicts(value: Any) -> None:
    assert copy.copy(value) == copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value
    assert hash(copy.deepcopy(value)) == hash(value)
    assert json.loads(json.dumps(dataclasses.asdict(value))).keys() == {each.name for each in dataclasses.fields(value)}


@pytest.mark.parametrize(
    "mapping",
    [SAID.metadata, user("x").metadata, Message(Role.USER, (), {"a": 1}).metadata, VALUES[4].context, VALUES[3].extra],
)
def test_mappings_of_values_are_immutable(mapping: dict[str, Any]) -> None:
    before = dict(mapping)
    for change in (
        lambda: mapping.update(a=2),
        lambda: mapping.__setitem__("a", 2),
        lambda: mapping.setdefault("b", 2),
        lambda: mapping.__ior__({"a": 2}),
        mapping.clear,
        mapping.popitem,
    ):
        with pytest.raises(TypeError, match="cannot be changed"):
            change()
    assert mapping == before
    assert {**mapping.copy(), "a": 2} == {**before, "a": 2}


def test_values_copy_the_mappings_they_are_given() -> None:
    given = {"a": 1}
    message, options = Message(Role.USER, (), given), ToolOptions(extra=given, tool_context=given)
    given["a"] = 2
    assert message.metadata == options.extra == options.tool_context == {"a": 1}


def test_message_accepts_role_and_text_as_plain_strings() -> None:
    plain: Any = Message
    assert plain("system", "Be short.") == Message(Role.SYSTEM, (Text("Be short."),))
    assert plain("system", [Text("a"), "b"]).role is Role.SYSTEM
    assert hash(plain(Role.USER, ["a"])) == hash(user("a"))
    for wrong, error in ((("nobody", ()), ValueError), (("user", (5,)), TypeError), (("user", 5), TypeError)):
        with pytest.raises(error):
            plain(*wrong)
    with pytest.raises(TypeError, match="mapping"):
        plain("user", (), [1])


def test_repr_omits_secrets_and_media_bytes() -> None:
    for value in (ToolOptions(tool_context={"token": "hunter2"}), ToolContext({"token": "hunter2"})):
        assert "hunter2" not in repr(value)
    assert len(repr(Media("image/png", data=b"x" * 1_000_000))) < 200


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Own(ChatOptions):
    depth: int | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Other(ChatOptions):
    width: int | None = None


def test_options_of_custom_class_merge_with_tool_options() -> None:
    for options in (ToolOptions(seed=1).over(Own(depth=2)), Own(depth=2).over(ToolOptions(seed=1))):
        assert isinstance(options, Own)
        assert isinstance(options, ToolOptions)
        assert (options.seed, options.depth, options.tools) == (1, 2, ())
        again = options.changed(depth=3).over(Own(depth=2)).over(ToolOptions(seed=1, temperature=0.5))
        assert (type(again), again.temperature) == (type(options), 0.5)
    with pytest.raises(TypeError, match=r"Own and Other cannot be combined"):
        Other(width=1).over(Own(depth=2))


def test_stop_option_accepts_a_single_string() -> None:
    loose: Any = ChatOptions
    assert loose(stop="END").stop == loose(stop=["END"]).stop == ("END",)
