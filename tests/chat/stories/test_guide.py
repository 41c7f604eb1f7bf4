"""Each block of Python in docs/guides/agent-kit.md runs alone and prints the output that the guide shows."""

from __future__ import annotations

import asyncio
import io
import json
import re
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from tests.support.documents import Block, blocks_of
from tests.support.models.model_endpoint import served
from threadkeep_server.app.server import Running

from ..reasoning import Thinking, Thought, turn_of

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "docs" / "guides" / "agent-kit.md"


BLOCKS = [block for block in blocks_of(GUIDE) if block.language == "python"]


def rule(said: str, *thoughts: Thought) -> tuple[re.Pattern[str], Sequence[Thought]]:
    return re.compile(said), thoughts


ORDER = ("order", {"number": 7})
RULES = [
    rule("weather in Oslo", [("weather", {"city": "Oslo"})], "It is {}."),
    rule("Which city", "It was Oslo."),
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
    rule("Search for", [("conversation_search", {"innerThought": "recall", "query": "we MET"})], "{found}"),
    rule("lamp cost", [("search_tools", {"query": "lamp price"})], [("lamp_price", {"model_name": "Arc"})], "{}"),
]


def think(request: dict[str, Any]) -> Thought:
    """Replies by the user's last message and the number of rounds so far; `{}` is the result of a tool."""
    turn = turn_of(request)
    said = _text(turn[0]["content"])
    if "Where do I live" in said:
        homes = re.findall(r"I live in (\w+)", " ".join(_text(each["content"]) for each in request["messages"][:-1]))
        return f"You live in {homes[-1]}." if homes else "You did not say."
    [thoughts] = [thoughts for pattern, thoughts in RULES if pattern.search(said)]
    thought: Thought = thoughts[sum(each["role"] == "assistant" for each in turn)]
    results = [str(each["content"]) for each in turn if each["role"] == "tool"]
    if not isinstance(thought, str):
        known = {each["function"]["name"] for each in request["tools"]}
        assert {name for name, _ in thought} <= known, "a model calls only tools that it sees"
        return thought
    if thought == "{found}":
        rows = json.loads(results[-1])
        return str((rows["results"] if isinstance(rows, dict) else rows)[0]["text"])
    return thought.format(*results[-thought.count("{}") :])


def _text(content: Any) -> str:
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)


Run = Callable[[Block], Any]


@pytest.fixture
async def run(server: Running, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Run]:
    """Runs a block by itself and compares its output."""
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
        yield lambda block: asyncio.to_thread(_run, block)


def _run(block: Block) -> None:
    printed = io.StringIO()
    code = compile("\n" * (block.line - 1) + block.code, str(block.path), "exec")
    with redirect_stdout(printed):
        exec(code, {"__name__": "__main__"})
    if block.printed is not None:
        assert printed.getvalue().strip() == block.printed.strip(), f"{block.path.name}:{block.line}"


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"line-{block.line}")
async def test_guide_block_runs_alone_and_prints_the_shown_output(
    run: Run, block: Block, monkeypatch: pytest.MonkeyPatch
) -> None:
    if block is BLOCKS[0]:  # needs no model
        for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
            monkeypatch.delenv(name)
    await run(block)


def test_guide_shows_output_of_every_block_that_prints() -> None:
    assert [block.line for block in BLOCKS if "print(" in block.code and block.printed is None] == []


def test_guide_lists_every_example() -> None:
    commands = re.findall(r"^\.venv/bin/python -m examples\.chat\.(\w+)$", GUIDE.read_text("utf-8"), re.MULTILINE)
    programs = {path.stem for path in (ROOT / "examples" / "chat").glob("*.py") if "__main__" in path.read_text("utf-8")}
    assert (len(commands), set(commands)) == (4, programs)
    tests = (Path(__file__).parent / "test_examples.py").read_text("utf-8")
    assert all(f'run("{name}"' in tests for name in commands)
