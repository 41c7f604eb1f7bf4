"""How a conversation can fail, beside what the SDK raises for calls to the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .types.messages import Message

if TYPE_CHECKING:
    from .types.requests import ChatClientResponse


class ChatError(Exception):
    """Base of the errors of this kit."""


class MissingSession(ChatError):
    """A memory was asked without a session: give one with `.session(...)`."""


class WrongUser(ChatError):
    """The session is another user's."""


class NothingToResume(ChatError):
    """The session holds nothing of this agent's to go on with."""


class AnswerNotStored(ChatError):
    """A turn ended with `response`, but the memory could not take it; the cause is why.

    To resume the turn asks the model, or runs the tools of the last round, once more.
    """

    def __init__(self, response: ChatClientResponse, error: Exception) -> None:
        super().__init__(f"the answer, which is in .response, could not be stored: {type(error).__name__}: {error}")
        self.response = response


class InvalidChain(ChatError):
    """The advisors cannot work together; the message says which and what to do."""


class InvalidTool(ChatError):
    """What was given cannot be a tool; the message says why and what to change."""


class UnknownTool(ChatError):
    """The model called `name`, which it was not offered."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"the model called {name!r}, which is no tool of this request; it has: {', '.join(known) or 'none'}")
        self.name = name


class ToolFailed(ChatError):
    """A tool raised, and errors are not told to the model. The cause is what it raised.

    `partial`: what other calls of this round were answered; None for nothing.
    """

    def __init__(self, name: str, message: str, partial: Message | None = None) -> None:
        super().__init__(f"the tool {name!r} failed: {message}")
        self.name = name
        self.partial = partial


class ToolCallLimitExceeded(ChatError):
    """The model wanted more calls than one turn may have. `partial`: what was answered in this round; None for nothing."""

    def __init__(self, message: str, partial: Message | None = None) -> None:
        super().__init__(message)
        self.partial = partial


class ModelFailed(ChatError):
    """The model's endpoint refused, could not be reached, or answered what cannot be read.

    `status`: of HTTP, 0 without one. `retry`: the same request may work later, after `retry_after` seconds if that is known.
    """

    def __init__(self, message: str, *, status: int = 0, retry: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry = retry
        self.retry_after = retry_after


class ModelTimeout(ModelFailed):
    """The model did not answer in time."""


class UnsupportedContent(ChatError):
    """A message holds what the model's provider has no form for; the message says what, and what would do."""
