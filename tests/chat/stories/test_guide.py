"""The Python of docs/guides/agent-kit.md, and of the README's section on the kit, runs as it stands and prints what stands there."""

from __future__ import annotations

import asyncio
import io
import json
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.models.model_endpoint import served
from threadkeep_server.app.server import Running

from ..reasoning import Thinking, Thought, turn_of

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "docs" / "guides" / "agent-kit.md"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHARED = "sdk = Client("


@dataclass(frozen=True)
class Block:
    """Code, where it stands, and what it prints; None if that is not told."""

    path: Path
    line: int
    code: str
    printed: str | None


def sections(path: Path) -> dict[str, list[Block]]:
    """The blocks of Python, by heading. A block without a language behind one of Python is what that prints."""
    found: dict[str, list[Block]] = {}
    text = path.read_text("utf-8")
    matches = list(_BLOCK.finditer(text))
    for at, match in enumerate(matches):
        if match[1] != "python":
            continue
        heading = re.findall(r"^## (.*)$", text[: match.start()], re.MULTILINE)[-1]
        follows = matches[at + 1] if at + 1 < len(matches) else None
        told = follows is not None and not follows[1] and not text[match.end() : follows.start()].strip()
        line = text.count("\n", 0, match.start()) + 2
        block = Block(path, line, match[2], follows[2] if told and follows else None)
        found.setdefault(heading, []).append(block)
    return found


SECTIONS = sections(GUIDE)
[SHARED] = [block for blocks in SECTIONS.values() for block in blocks if _SHARED in block.code]
# They go on from the functions that are told of first, beside what all share.
USING_TOOLS = {"The loop", "Advisors", "Session memory", "Telemetry", "Testing"}


def rule(said: str, *thoughts: Thought) -> tuple[re.Pattern[str], Sequence[Thought]]:
    return re.compile(said), thoughts


ORDER = ("order", {"number": 7})
RULES = [
    rule("weather in Oslo", [("weather", {"city": "Oslo"})], "It is {}."),
    rule("Which city", "You asked about Oslo."),
    rule("What was the weather", "It was 4 degrees and rain in Oslo."),
    rule("Good morning", "Bonjour !"),
    rule("good night", "Bonne nuit !"),
    rule("Where is this", "That is Oslo."),
    rule("order 7", [ORDER], "Order 7: {}"),
    rule("receipt of 7", [("receipt", {"number": 7})]),
    rule("Cancel order 8", [("cancel", {"number": 8})], "{}"),
    rule("Orders 7 and 8", [ORDER, ("order", {"number": 8})], "Order 7: {}; Order 8: {}"),
    rule("I live in", "Noted."),
    rule("Search our talk", [("conversation_search", {"query": "we met"})], "{found}"),
    rule("Search for", [("conversation_search", {"innerThought": "said", "query": "we MET"})], "{found}"),
    rule("lamp cost", [("search_tools", {"query": "lamp price"})], [("lamp_price", {"model_name": "Arc"})], "{}"),
]


def think(asked: dict[str, Any]) -> Thought:
    """By what the user said last, and how many rounds of tools came of it; `{}` is what a tool answered."""
    turn = turn_of(asked)
    said = _text(turn[0]["content"])
    if "Where do I live" in said:
        homes = re.findall(r"I live in (\w+)", " ".join(_text(each["content"]) for each in asked["messages"][:-1]))
        return f"You live in {homes[-1]}." if homes else "You did not say."
    [thoughts] = [thoughts for pattern, thoughts in RULES if pattern.search(said)]
    thought: Thought = thoughts[sum(each["role"] == "assistant" for each in turn)]
    results = [str(each["content"]) for each in turn if each["role"] == "tool"]
    if not isinstance(thought, str):
        known = {each["function"]["name"] for each in asked["tools"]}
        assert {name for name, _ in thought} <= known, "a model calls what it is shown"
        return thought
    if thought == "{found}":
        rows = json.loads(results[-1])
        return str((rows["results"] if isinstance(rows, dict) else rows)[0]["text"])
    return thought.format(*results[-thought.count("{}") :])


def _text(content: Any) -> str:
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)


Run = Callable[[Sequence[Block]], Any]


@pytest.fixture
async def run(server: Running, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Run]:
    """Runs blocks one after the other, each seeing what those before it have left."""
    async with served(Thinking(think)) as endpoint:
        for name, value in {
            "THREADKEEP_ADDRESS": f"127.0.0.1:{server.grpc_port}",
            "OPENAI_BASE_URL": endpoint.url,
            "OPENAI_API_KEY": "none",
            "ANTHROPIC_API_KEY": "none",
            "GEMINI_API_KEY": "none",
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        }.items():
            monkeypatch.setenv(name, value)
        yield lambda blocks: asyncio.to_thread(_run, blocks)


def _run(blocks: Sequence[Block]) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        for block in blocks:
            printed = io.StringIO()
            code = compile("\n" * (block.line - 1) + block.code, str(block.path), "exec")
            with redirect_stdout(printed):
                exec(code, names)
            if block.printed is not None:
                assert printed.getvalue().strip() == block.printed.strip(), f"{block.path.name}:{block.line}"
    finally:
        for name in ("sdk", "model"):
            if name in names:
                names[name].close()


def _with_earlier(heading: str) -> Iterator[Block]:
    own = SECTIONS[heading]
    if SHARED not in own:
        yield SHARED
        if heading in USING_TOOLS:
            yield SECTIONS["Tools"][0]
    yield from own


@pytest.mark.parametrize("heading", SECTIONS)
async def test_each_section_of_the_guide_runs(run: Run, heading: str) -> None:
    await run([*_with_earlier(heading)])


async def test_the_readmes_lines_run(run: Run) -> None:
    blocks = sections(ROOT / "README.md")["The agent kit"]
    assert blocks[0].code == SECTIONS["Ten lines"][0].code, "the ten lines are the same in both"
    assert len([line for line in blocks[0].code.splitlines() if line.strip()]) <= 10
    await run(blocks)


def test_every_block_that_prints_says_what() -> None:
    silent = [
        block.line for blocks in SECTIONS.values() for block in blocks if "print(" in block.code and block.printed is None
    ]
    assert silent == []


def test_the_readme_names_every_example() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    commands = re.findall(r"^\.venv/bin/python -m examples\.chat\.(\w+)$", text, re.MULTILINE)
    programs = {path.stem for path in (ROOT / "examples" / "chat").glob("*.py") if "__main__" in path.read_text("utf-8")}
    assert (len(commands), set(commands)) == (4, programs)
    tests = (Path(__file__).parent / "test_examples.py").read_text("utf-8")
    assert all(f'run("{name}"' in tests for name in commands)
