"""Writes the synchronous client from the asynchronous one: `python tools/async_to_sync.py [--check]`.

The rules are textual, so that code, docstrings and their examples change alike and the output does not depend on the
version of Python. Whatever asynchronous syntax is left makes the program fail.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from pathlib import Path

THREADKEEP = Path(__file__).resolve().parent.parent / "client/python/threadkeep"
PACKAGES = (THREADKEEP, THREADKEEP / "chat")
HEADER = "# Generated from _async by `make sync-client`. Do not edit.\n"
RULES = (
    (r"import grpc\.aio\n", ""),
    (r"\bgrpc\.aio\b", "grpc"),
    (r"import asyncio\b", "import threading"),
    (r"\basyncio\.(?=Lock|Semaphore|Event)", "threading."),
    (r"\b(_[a-z]+)_aio\b", r"\1_threads"),
    (r"(?m)return \(await (.*)\)(\.\w+)$", r"return \1\2"),
    (r"\(await (self\.\w+\(\))\)", r"\1"),
    (r"\n\n\nasync def _each\((?s:.*)\Z", "\n"),
    (r"\b_each\((\w+)\)", r"\1"),
    (r"\nif TYPE_CHECKING:.*\n(    .*\n)+", ""),
    (r"\bTYPE_CHECKING, |, cast\b", ""),
    (r'\bcast\("\w+", (.*)\)', r"\1"),
    (r"\bawait ", ""),
    (r"\banext\(", "next("),
    (r"\basync (?=def |for |with )", ""),
    (r"\b__a(?=(enter|exit|iter|next)__)", "__"),
    (r"\bAsyncIterable(\[.*\]) \| Iterable\1", r"Iterable\1"),
    (r"\bAsyncIterable, AsyncIterator, Iterable\b", "Iterable, Iterator"),
    (r"\bAwaitable, ", ""),
    (r"\bAwaitable\[(\w+)\]", r"\1"),
    (r"\baclosing\b", "closing"),
    (r"\basynccontextmanager\b, contextmanager\b", "contextmanager"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\benter_async_context\b", "enter_context"),
    (r"\b(Abstract|Default)Async(?=ContextManager\b|HttpxClient\b)", r"\1"),
    (r"\.a(?=(close|read|iter_bytes)\()", "."),
    (r'"aclose"', '"close"'),
    (r"\bAsyncGenerator\[([\w.]+), None\]", r"Generator[\1, None, None]"),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\basynchronous\b", "synchronous"),
    (r", which then belongs to the running event loop", ""),
)
ASYNC_NODES = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)


def to_sync(source: str, name: str) -> str:
    """The synchronous form of a module."""
    for pattern, replacement in RULES:
        source = re.sub(pattern, replacement, source)
    for node in ast.walk(ast.parse(source, name)):
        identifier = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "name", None) or ""
        if isinstance(node, ASYNC_NODES) or "async" in str(identifier).lower():
            raise SystemExit(f"{name}: no rule for what becomes {ast.unparse(node)!r}")
    return HEADER + source


def generated(package: Path) -> dict[Path, str]:
    """Every file of the synchronous client with its text."""
    return {
        package / "_sync" / path.relative_to(package / "_async"): to_sync(path.read_text(encoding="utf-8"), str(path))
        for path in sorted((package / "_async").rglob("*.py"))
    }


def drift(package: Path) -> list[str]:
    """What differs from what would be generated: changed, missing and extra files."""
    expected = generated(package)
    present = set((package / "_sync").rglob("*.py"))
    changed = [path for path in present & expected.keys() if path.read_text(encoding="utf-8") != expected[path]]
    return sorted(
        [f"{path.relative_to(package)}: differs" for path in changed]
        + [f"{path.relative_to(package)}: missing" for path in expected.keys() - present]
        + [f"{path.relative_to(package)}: not generated" for path in present - expected.keys()]
    )


def write(package: Path) -> None:
    expected = generated(package)
    for path in set((package / "_sync").rglob("*.py")) - expected.keys():
        path.unlink()
    for path, source in expected.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")


def main() -> int:
    """Write, or with --check compare; the exit status is 1 when something differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the output would differ")
    if parser.parse_args().check:
        problems = [f"{package.name}/{problem}" for package in PACKAGES for problem in drift(package)]
        for problem in problems:
            print(f"{problem}; run `make sync-client`", file=sys.stderr)
        return 1 if problems else 0
    for package in PACKAGES:
        write(package)
    return 0


if __name__ == "__main__":
    sys.exit(main())
