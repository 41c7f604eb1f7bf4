"""The context that an agent receives, and its forms for models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..formats import anthropic, gemini, openai
from ..v1.event_service_pb2 import GetContextResponse
from .events import Event
from .wrapper import Wrapper


class Context(Wrapper[GetContextResponse]):
    """The events that an agent receives. Fields of GetContextResponse, such as `truncated` and `window`, are attributes too."""

    __slots__ = ("_events",)

    def __init__(self, pb: GetContextResponse) -> None:
        super().__init__(pb)
        self._events: list[Event] | None = None

    @property
    def events(self) -> list[Event]:
        """The system event, the summaries, then the conversation."""
        if self._events is None:
            self._events = [Event(event) for event in self.pb.events]
        return self._events

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.pb.events)

    def to_openai(self) -> list[dict[str, Any]]:
        """The `messages` of OpenAI's chat completions. Messages that were appended in that form come back unchanged."""
        return openai.messages_of(self.pb.events)

    def to_anthropic(self) -> dict[str, Any]:
        """`messages`, and `system` where there is one: the keyword arguments of Anthropic's `messages.create`."""
        return anthropic.request_of(self.pb.events)

    def to_gemini(self) -> dict[str, Any]:
        """`contents`, and `config` with the system instruction: the keyword arguments of Gemini's `generate_content`."""
        return gemini.request_of(self.pb.events)

    def text(self) -> str:
        """The conversation as text: the role and the text of each event, with tool calls and results."""
        return "\n".join(line for event in self.events for line in _lines(event))

    def __repr__(self) -> str:
        return f"Context({len(self)} events, window_version={self.pb.window_version}, events={self.events!r})"


def _lines(event: Event) -> Iterator[str]:
    if event.text:
        yield f"{event.role}: {event.text}"
    for call in event.tool_calls:
        yield f"{event.role} calls {call.name}({call.arguments})"
    for result in event.tool_results:
        yield f"{event.role}{' error' if result.is_error else ''}: {result.text}"
