"""How text is compared and counted. One definition, so that every store gives the same answer."""

from __future__ import annotations

# PostgreSQL's text cannot hold U+0000; folding replaces it on both sides of every comparison.
_NUL = "\x00"
_NUL_STAND_IN = "\ufffd"


def fold(text: str) -> str:
    """Text as it is compared: Unicode case folding, no normalisation, U+0000 as U+FFFD."""
    return text.casefold().replace(_NUL, _NUL_STAND_IN)


def estimate_tokens(characters: int) -> int:
    """One token for every four characters, rounded up: free of dependencies, and good enough to trigger on."""
    return -(-characters // 4)
