"""Regular expressions of filters, in the syntax of RE2: the time to match is linear in the text, for every pattern.

That time is at most about 5 ns per byte of the text and instruction of the program, so both are bounded: a text takes at most
a second or so of one processor, without the interpreter's lock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import re2

from ..domain.errors import InvalidField

MOST_CHARACTERS = 1024
"""Of a pattern."""
MOST_INSTRUCTIONS = 4000
"""Of the program of a pattern. A class of Unicode letters takes 1,200."""
MOST_BYTES = 64 << 10
"""Of a text that is matched; what follows is not."""
# Of a compiled pattern, for the program and what is computed while it matches. re2.compile keeps 128 patterns.
_MOST_MEMORY = 1 << 20


@dataclass(frozen=True, slots=True)
class RegularExpression:
    """Implements domain.filters.Pattern."""

    source: str
    _compiled: Any = field(compare=False, repr=False)

    def found_in(self, text: str) -> bool:
        encoded = text.encode()
        if len(encoded) > MOST_BYTES:
            # Whole characters only.
            encoded = encoded[:MOST_BYTES].decode(errors="ignore").encode()
        return self._compiled.search(encoded) is not None


def compiled(name: str, source: str) -> RegularExpression:
    """Raises InvalidField for the field with this name."""
    if len(source) > MOST_CHARACTERS:
        raise InvalidField(name, f"must have at most {MOST_CHARACTERS:,} characters")
    options = re2.Options()
    options.max_mem = _MOST_MEMORY
    options.never_capture = True
    options.log_errors = False
    try:
        expression = re2.compile(source, options)
    except re2.error as error:
        why = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error.args[0])
        raise InvalidField(name, f"must be a regular expression in the syntax of RE2: {why}") from None
    if max(expression.programsize, expression.reverseprogramsize) > MOST_INSTRUCTIONS:
        raise InvalidField(name, f"must compile to at most {MOST_INSTRUCTIONS:,} instructions; repeat less")
    return RegularExpression(source, expression)
