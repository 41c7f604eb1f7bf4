"""Errors of the kit. Calls to the server raise the errors of the SDK as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .types.messages import Message

if TYPE_CHECKING:
    from .types.requests import ChatClientResponse


class ChatError(Exception):
    """Base class of the kit's errors."""


class MissingSession(ChatError):
    """A memory advisor requires a session: call `.session(...)`."""


class WrongUser(ChatError):
    """The session belongs to another user."""


class NothingToResume(ChatError):
    """The session has no turn of this agent to resume."""


class AnswerNotStored(ChatError):
    """The turn ended with `response`, but the memory could not store it. The cause is the error of the server.

    Resuming the turn calls the model, or runs the tools of the last round, again.
    """

    def __init__(self, response: ChatClientResponse, error: Exception) -> None:
        super().__init__(f"the answer, which is in .response, could not be stored: {type(error).__name__}: {error}")
        self.response = response


class InvalidChain(ChatError):
    """The advisors cannot be combined; the message names them and the correction."""


class InvalidTool(ChatError):
    """The object cannot be a tool; the message names the reason and the correction."""


class UnknownTool(ChatError):
    """The model called the tool `name`, which the request does not offer."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(
            f"the model called {name!r}, which is not a tool of this request; its tools: {', '.join(known) or 'none'}"
        )
        self.name = name


class ToolFailed(ChatError):
    """A tool raised an exception, which is the cause, and `errors_to_model` is off.

    `partial`: the results of the other calls of this round; None without any.
    """

    def __init__(self, name: str, message: str, partial: Message | None = None) -> None:
        super().__init__(f"the tool {name!r} failed: {message}")
        self.name = name
        self.partial = partial


class ToolCallLimitExceeded(ChatError):
    """The model made more calls than a turn may have. `partial`: the results of this round so far; None without any."""

    def __init__(self, message: str, partial: Message | None = None) -> None:
        super().__init__(message)
        self.partial = partial


class ModelFailed(ChatError):
    """The model's endpoint rejected the request, was unreachable, or sent an invalid answer.

    `status`: the HTTP status; 0 without one. `retry`: the same request may succeed later, after `retry_after` seconds if
    known.
    """

    def __init__(self, message: str, *, status: int = 0, retry: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry = retry
        self.retry_after = retry_after


class ModelTimeout(ModelFailed):
    """The model did not answer within the timeout."""


class UnsupportedContent(ChatError):
    """A message contains a part that the model's provider does not support; the message names it and the alternative."""
