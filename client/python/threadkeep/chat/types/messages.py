"""Messages and their parts, as immutable values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ...values.role import Role as Role
from .frozen import Frozen, frozen, nothing


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Reasoning of the model, with the provider's signature or its encrypted form, verbatim: some providers require it back
    unchanged."""

    text: str = ""
    signature: bytes = b""
    encrypted: bytes = b""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A request of the model. `arguments`: the JSON text of the model, verbatim, valid or not."""

    id: str
    name: str
    arguments: str = ""
    kind: str = "function"


@dataclass(frozen=True, slots=True)
class Media:
    """Media of an IANA type, with exactly one of `data`, `uri` and the provider's `file_id`."""

    mime_type: str
    data: bytes | None = field(default=None, repr=False)
    uri: str | None = None
    file_id: str | None = None
    name: str = ""
    detail: str = ""

    def __post_init__(self) -> None:
        if sum(source is not None for source in (self.data, self.uri, self.file_id)) != 1:
            raise ValueError("pass exactly one of data, uri and file_id")


@dataclass(frozen=True, slots=True)
class Data:
    """Content of a provider or framework, as JSON text."""

    type: str
    json: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of the call `call_id`: parts, or a JSON object as text in `structured_json`."""

    call_id: str
    name: str = ""
    parts: tuple[Text | Media | Data, ...] = ()
    structured_json: str = ""
    is_error: bool = False

    @property
    def text(self) -> str:
        """Returns the text for the model: the text parts joined by line feeds, or the JSON."""
        return self.structured_json or "\n".join(part.text for part in self.parts if isinstance(part, Text))


Part = Text | Reasoning | ToolCall | ToolResult | Media | Data
_PARTS = frozenset((Text, Reasoning, ToolCall, ToolResult, Media, Data))
_P = TypeVar("_P", bound=Part)
Content = str | Part | Sequence[str | Part]
"""A text, a part, or several of both."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message. Messages are equal if role, parts and metadata are; `id`, `author` and `branch` do not count.

    `metadata`: JSON values that are stored with the message. `id`: the id of its event, empty if it is not stored. `author`,
    `branch`: of the agent that wrote it, as stored.
    """

    role: Role
    parts: tuple[Part, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=nothing, hash=False)
    id: str = field(default="", compare=False)
    author: str = field(default="", compare=False)
    branch: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Raises ValueError for an unknown role, TypeError for invalid parts; a single text is a part."""
        if type(self.role) is not Role:
            object.__setattr__(self, "role", Role(self.role))
        if type(self.parts) is not tuple or not _PARTS.issuperset(map(type, self.parts)):
            object.__setattr__(self, "parts", parts_of(self.parts))
        if type(self.metadata) is not Frozen:
            object.__setattr__(self, "metadata", frozen(self.metadata))

    @property
    def text(self) -> str:
        """Returns the text parts, concatenated: they may be pieces of one text."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return self._of(ToolCall)

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        return self._of(ToolResult)

    @property
    def media(self) -> tuple[Media, ...]:
        return self._of(Media)

    @property
    def reasoning(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Reasoning))

    @property
    def is_blank(self) -> bool:
        """Returns whether the message has only white space and reasoning."""
        return not any(not isinstance(part, Text | Reasoning) for part in self.parts) and not self.text.strip()

    def says_the_same(self, other: Message) -> bool:
        """Returns whether role and parts are equal."""
        return self.role is other.role and self.parts == other.parts

    def _of(self, kind: type[_P]) -> tuple[_P, ...]:
        return tuple(part for part in self.parts if isinstance(part, kind))


def system(content: Content) -> Message:
    """Returns a message with instructions to the model."""
    return Message(Role.SYSTEM, parts_of(content))


def user(content: Content) -> Message:
    """Returns a message of the user."""
    return Message(Role.USER, parts_of(content))


def assistant(content: Content = (), *, tool_calls: Sequence[ToolCall] = ()) -> Message:
    """Returns a message of the model, with the tools that it calls."""
    return Message(Role.ASSISTANT, (*parts_of(content), *tool_calls))


def tool(*results: ToolResult) -> Message:
    """Returns a message with the results of one round of tools."""
    return Message(Role.TOOL, results)


def parts_of(content: Content) -> tuple[Part, ...]:
    """Returns content as parts. Raises TypeError for anything but texts and parts."""
    items: Sequence[object] = [content] if isinstance(content, str | Part) else content
    if not isinstance(items, Sequence) or isinstance(items, bytes):
        raise TypeError(f"a message contains texts and parts, not {type(content).__name__}")
    return tuple(_part(item) for item in items)


def _part(item: object) -> Part:
    if isinstance(item, str):
        return Text(item)
    if isinstance(item, Part):
        return item
    raise TypeError(f"a message contains texts and parts, not {type(item).__name__}")
