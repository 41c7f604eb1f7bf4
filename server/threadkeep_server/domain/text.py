"""Comparison and counting of text. One definition, so that all stores return the same results."""

from __future__ import annotations

from collections.abc import Iterable

# PostgreSQL's text cannot contain U+0000; folding replaces it on both sides of every comparison.
_NUL = "\x00"
_NUL_STAND_IN = "\ufffd"


def fold(text: str) -> str:
    """Returns text for comparison: Unicode case folding, no normalization, U+0000 as U+FFFD."""
    return text.casefold().replace(_NUL, _NUL_STAND_IN)


def estimate_tokens(characters: int) -> int:
    """Returns one token per four characters, rounded up."""
    return -(-characters // 4)


_SPEAKERS = {1: "User", 2: "Assistant", 3: "System", 4: "Tool"}


def prompt_line(role: int, text: str, calls: Iterable[str] = (), results: Iterable[str] = ()) -> str:
    """Returns a message as a prompt line: the text for token counts and summaries.

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
