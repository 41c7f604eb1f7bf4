"""The contract of what makes summaries, and how it fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ...domain.model import Usage


@dataclass(frozen=True, slots=True)
class Summary:
    """What a model wrote, never blank. `usage` is as it was reported; `model` is the model's own name for itself."""

    text: str
    usage: Usage
    model: str


class SummarizerFailed(Exception):
    """There is no summary. `problem` is fit for a client: no key, no address, and no word that the vendor wrote."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class Summarizer(Protocol):
    """Makes summaries. Safe to use from any number of tasks of one event loop."""

    @property
    def model(self) -> str:
        """The model that is asked."""
        ...

    async def summarize(self, *, system_prompt: str, prompt: str, max_tokens: int) -> Summary:
        """A complete answer of at most `max_tokens` tokens. Raises SummarizerFailed; cancelling it ends the request at once."""
        ...

    async def aclose(self) -> None:
        """Closes the connections. Nothing may be asked afterwards."""
        ...
