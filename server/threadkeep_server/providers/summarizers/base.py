"""The summarizer protocol and its error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ...domain.model import Usage


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary, never blank. `usage` as reported; `model` is the name that the endpoint reports."""

    text: str
    usage: Usage
    model: str


class SummarizerFailed(Exception):
    """There is no summary. `problem` may be shown to a client: it contains no key, address or text of the vendor."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class Summarizer(Protocol):
    """Writes summaries. Several tasks of one event loop may use it at the same time."""

    @property
    def model(self) -> str:
        """The name of the requested model."""
        ...

    async def summarize(self, *, system_prompt: str, prompt: str, max_tokens: int) -> Summary:
        """Returns a complete summary of at most `max_tokens` tokens. Raises SummarizerFailed; cancellation ends the request at
        once."""
        ...

    async def aclose(self) -> None:
        """Closes the connections. The summarizer cannot be used afterwards."""
        ...
