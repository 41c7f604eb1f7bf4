"""The code blocks of a Markdown document."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block, its language ("" if it names none), and the line of its first line of code, from 1."""

    path: Path
    line: int
    language: str
    code: str
    printed: str | None
    """The block without code that follows with nothing in between: the expected output. None without one."""


def blocks_of(path: Path) -> list[Block]:
    """Returns all blocks, in order."""
    text = path.read_text("utf-8")
    found = list(_BLOCK.finditer(text))
    blocks = []
    for number, match in enumerate(found):
        follows = found[number + 1] if number + 1 < len(found) else None
        printed = None
        if follows is not None and follows[1] in {"", "text"} and not text[match.end() : follows.start()].strip():
            printed = follows[2]
        blocks.append(Block(path, text.count("\n", 0, match.start()) + 2, match[1], match[2], printed))
    return blocks
