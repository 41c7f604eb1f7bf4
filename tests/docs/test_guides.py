"""Every code block of the README and the guides runs, and prints what the document shows."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest

from tests.support.documents import Block, blocks_of

from .terminal import Terminal

ROOT = Path(__file__).parents[2]
TESTED_ELSEWHERE = {"agent-kit.md"}
"""Run by tests/chat/stories, against endpoints that stand in for models."""
DOCUMENTS = [
    ROOT / "README.md",
    *(path for path in sorted((ROOT / "docs" / "guides").glob("*.md")) if path.name not in TESTED_ELSEWHERE),
]
RUN = {"python", "sh"}
SHOWN = {"text", "console", "json", "toml"}
"""Output, commands that need what a test lacks, and files."""
_VARYING = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ](?=\d\d:)"), ""),
    (re.compile(r"\d\d:\d\d:\d\d(\.\d+)?Z?"), "<time>"),
    (re.compile("─{10,}"), "───"),  # as wide as the terminal
)


def lines_of(text: str) -> list[str]:
    """The lines with text, with ids and times replaced."""
    for pattern, name in _VARYING:
        text = pattern.sub(name, text)
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def difference(shown: str, printed: str) -> str:
    """How the output differs from the document; empty if it does not. `...` at the end of a shown line fits any rest."""
    expected, actual = lines_of(shown), lines_of(printed)
    for number, (left, right) in enumerate(zip(expected, actual, strict=False)):
        if left.endswith("...") and right.startswith(left.removesuffix("...").rstrip()):
            actual[number] = left
    return "\n".join(difflib.unified_diff(expected, actual, "document", "printed", lineterm="", n=1))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_blocks_run_and_print_what_the_document_shows(path: Path, tmp_path: Path) -> None:
    differences = []
    with Terminal(tmp_path) as terminal:
        for block in blocks_of(path):
            if block.language in RUN:
                printed = terminal.run(block)
                if block.printed is not None and (differs := difference(block.printed, printed)):
                    differences.append(f"{path.name}:{block.line}\n{differs}")
    assert not differences, "\n\n".join(differences)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_blocks_name_their_language(path: Path) -> None:
    assert [_place(block) for block in blocks_of(path) if block.language not in RUN | SHOWN] == []


def _place(block: Block) -> str:
    return f"{block.path.name}:{block.line} is {block.language or 'without a language'}"
