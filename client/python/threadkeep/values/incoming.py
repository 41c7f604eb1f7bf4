"""The values that `append` accepts, as events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from .._convert import encodable
from ..formats import anthropic, chat, openai
from ..formats.fields import FieldError
from ..v1.event_pb2 import SessionEvent
from ..v1.message_pb2 import ROLE_USER, ChatMessage, Part
from .events import Event


class MessageLike(Protocol):
    """A message of `threadkeep.chat`, or an object with its attributes."""

    @property
    def role(self) -> str:
        """The role: "system", "user", "assistant" or "tool"."""

    @property
    def parts(self) -> Sequence[Any]:
        """The parts: values of the classes of `threadkeep.chat`."""


class ModelLike(Protocol):
    """A message of OpenAI's or Anthropic's SDK, which is a pydantic model."""

    def model_dump(self) -> dict[str, Any]:
        """The message as a dict."""


Appendable = str | Event | SessionEvent | ChatMessage | Mapping[str, Any] | MessageLike | ModelLike
"""A text of the user, an event, a message of OpenAI or Anthropic (dict or object), or a message of `threadkeep.chat`."""


def events_of(items: Iterable[Appendable | Iterable[Appendable]], argument: str = "events") -> list[SessionEvent]:
    """New events, without ids where the values have none. Raises TypeError and ValueError that name the value's place."""
    found: list[SessionEvent] = []
    for item in _flat(items):
        try:
            found += _events(item, f"{argument}[{len(found)}]")
        except FieldError as error:
            raise ValueError(str(error)) from None
    return found


def _flat(items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        if isinstance(item, Iterable) and not isinstance(item, str | bytes | bytearray | Mapping) and not _is_object(item):
            yield from _flat(item)
        else:
            yield item


def _is_object(item: object) -> bool:
    """Whether the value is a message of a vendor's SDK, some of which are iterable."""
    return hasattr(item, "model_dump") or (hasattr(item, "role") and hasattr(item, "parts"))


def _events(item: Any, field: str) -> list[SessionEvent]:
    if isinstance(item, str):
        return [SessionEvent(message=ChatMessage(role=ROLE_USER, parts=[Part(text=encodable(item, field))]))]
    if isinstance(item, Event | SessionEvent):
        copy = SessionEvent()
        copy.CopyFrom(item.pb if isinstance(item, Event) else item)
        return [copy]
    if isinstance(item, ChatMessage):
        return [SessionEvent(message=item)]
    if hasattr(item, "model_dump"):
        item = item.model_dump(mode="json", exclude_none=True)
        if item.get("type") == "message":  # an answer of Anthropic: other fields are about the call
            item = {"role": item.get("role"), "content": item.get("content")}
    if isinstance(item, Mapping):
        return _of_dict(dict(item), field)
    if hasattr(item, "role") and hasattr(item, "parts"):
        return [chat.event_of(item, field)]
    raise TypeError(
        f"{field} must be str, Event, SessionEvent, a message (a dict of OpenAI or Anthropic, or one of threadkeep.chat) "
        f"or a list of them, not {type(item).__name__}"
    )


def _of_dict(message: dict[str, Any], field: str) -> list[SessionEvent]:
    if anthropic.is_anthropic(message):
        return anthropic.events_of(message, field)
    event = openai.event_of(message, "", field)
    native = event.native.content
    event.ClearField("native")
    if openai.messages_of([event]) != [_normalized(message)]:  # only what the parts cannot represent is stored verbatim
        event.native.format, event.native.content = openai.NATIVE, native
    return [event]


def _normalized(message: dict[str, Any]) -> dict[str, Any]:
    """The message as `messages_of` writes it: one text block is a text, and the content is always present."""
    content = message.get("content")
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], Mapping):
        block = content[0]
        if block.keys() == {"type", "text"} and block["type"] == "text":
            content = block["text"]
    return message | {"content": content}
