"""How text is compared and counted. One definition, so that every store gives the same answer."""

from __future__ import annotations

from collections.abc import Iterable

# PostgreSQL's text cannot hold U+0000; folding replaces it on both sides of every comparison.
_NUL = "\x00"
_NUL_STAND_IN = "\ufffd"


def fold(text: str) -> str:
    """Text as it is compared: Unicode case folding, no normalisation, U+0000 as U+FFFD."""
    return text.casefold().replace(_NUL, _NUL_STAND_IN)


def estimate_tokens(characters: int) -> int:
    """One token for every four characters, rounded up: free of dependencies, and good enough to trigger on."""
    return -(-characters // 4)


_SPEAKERS = {1: "User", 2: "Assistant", 3: "System", 4: "Tool"}


def prompt_line(role: int, text: str, calls: Iterable[str] = (), results: Iterable[str] = ()) -> str:
    """A message as a line of a prompt: what tokens are counted on, and what a model is given to summarise.

    `role` is a model.Role; `calls` are like 'find({"q": 1})', `results` like 'find -> 3'. The form is Spring AI Session's.

    >>> prompt_line(2, "Let me see.", ['find({"q": 1})'])
    'Assistant: Let me see. [tool calls: find({"q": 1})]'
    """
    made, answered = ", ".join(calls), ", ".join(results)
    notes = [*([f"[tool calls: {made}]"] if made else ()), *([f"[responses: {answered}]"] if answered else ())]
    speaker = _SPEAKERS.get(role, "Unknown")
    if not notes:
        return f"{speaker}: {text or '(no text)'}"
    return " ".join([f"{speaker}: {text}" if text else speaker, *notes])
