"""Writes the synchronous client from the asynchronous one: `python tools/async_to_sync.py [--check]`.

The syntax tree finds the places to change and the tokens between them stay, so comments and strings are kept. Ruff removes
the imports that became unused and formats the result. Asynchronous syntax without a rule makes the program fail.
"""

from __future__ import annotations

import argparse
import ast
import io
import keyword
import re
import subprocess
import sys
import tempfile
import tokenize
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
THREADKEEP = ROOT / "client/python/threadkeep"
PACKAGES = (THREADKEEP, THREADKEEP / "chat")
HEADER = "# Generated from _async by `make sync-client`. Do not edit.\n"
NAMES = {
    "anext": "next",
    "aiter": "iter",
    "aclosing": "closing",
    "asynccontextmanager": "contextmanager",
    "enter_async_context": "enter_context",
    "AbstractAsyncContextManager": "AbstractContextManager",
    "DefaultAsyncHttpxClient": "DefaultHttpxClient",
    "aclose": "close",
    "aread": "read",
    "aiter_bytes": "iter_bytes",
}
NAMES |= {f"__a{name}__": f"__{name}__" for name in ("enter", "exit", "iter", "next")}
ATTRIBUTES = {"grpc.aio": "grpc"} | {f"asyncio.{name}": f"threading.{name}" for name in ("Lock", "Semaphore", "Event")}
MODULES = {"asyncio": "threading"}
UNWRAPPED = ("_each",)
"""Functions that give an iterable of either kind one form. The synchronous client uses the iterable itself."""
TEXT = (
    (r"\bawait ", ""),
    (r"\basync (?=def |for |with )", ""),
    (r"\basynchronous\b", "synchronous"),
    (r"\bAsync(?=[A-Z])", ""),
    (r", which then belongs to the running event loop", ""),
    *((rf"\b{name}\b", to) for name, to in NAMES.items() if name.startswith("a")),
)
ASYNC_NODES = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)


def renamed(name: str) -> str:
    """The synchronous name of an identifier or a module."""
    if name in NAMES:
        return NAMES[name]
    if re.fullmatch(r"_?[a-z]+_aio", name):
        return name.removesuffix("_aio") + "_threads"
    return re.sub(r"Async(?=[A-Z])", "", name) if name.startswith(("Async", "_Async")) or name.endswith("AsyncStub") else name


class Rewriter(ast.NodeVisitor):
    """Collects the edits of one module: replacements of ranges of characters, none of them inside another's text."""

    def __init__(self, source: str, name: str) -> None:
        self.source = source
        self.tree = ast.parse(source, name)
        self.edits: list[tuple[int, int, str]] = []
        self.lines = [0]
        for line in source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.tokens = [token for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.string.strip()]
        self.starts = [self.lines[token.start[0] - 1] + token.start[1] for token in self.tokens]

    def result(self) -> str:
        """The module with all edits. An edit within a deleted range has no effect."""
        self.visit_tokens()
        self.visit(self.tree)
        pieces, at = [], 0
        for start, end, text in sorted(self.edits, key=lambda edit: (edit[0], -edit[1])):
            if start >= at:
                pieces += [self.source[at:start], text]
                at = end
        return "".join([*pieces, self.source[at:]])

    def span(self, node: ast.AST) -> tuple[int, int]:
        """The range of a node, in characters. The tree counts the columns in bytes."""

        def offset(line: int, column: int) -> int:
            start = self.lines[line - 1]
            return start + len(self.source[start : self.lines[line]].encode()[:column].decode())

        return (
            offset(node.lineno, node.col_offset),  # type: ignore[attr-defined]
            offset(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def replace(self, start: int, end: int, text: str = "") -> None:
        self.edits.append((start, end, text))

    def unwrap(self, outer: ast.AST, inner: ast.AST) -> None:
        """Keeps the inner of two nodes."""
        (start, end), (first, last) = self.span(outer), self.span(inner)
        self.replace(start, first)
        self.replace(last, end)

    def visit_tokens(self) -> None:
        """Removes the keywords, and renames identifiers where no other rule has removed them."""
        for token, start in zip(self.tokens, self.starts, strict=True):
            end = start + len(token.string)
            if token.string in ("async", "await") and token.type == tokenize.NAME:
                self.replace(start, end + (self.source[end : end + 1] == " "))
            elif token.type == tokenize.NAME and renamed(token.string) != token.string:
                self.replace(start, end, renamed(token.string))
            elif token.type == tokenize.COMMENT:
                self.replace(start, end, plain(token.string))

    def visit_Import(self, node: ast.Import) -> None:
        names = [MODULES.get(alias.name, alias.name) for alias in node.names if not alias.name.endswith(".aio")]
        self.replace(*self.span(node), f"import {', '.join(names)}" if names else "")

    def visit_Await(self, node: ast.Await) -> None:
        """Removes the parentheses that only the await needed."""
        start, end = self.span(node)
        first, last = bisect_left(self.starts, start), bisect_left(self.starts, end)
        if isinstance(node.value, ast.Call | ast.Name | ast.Attribute | ast.Subscript) and self.is_parenthesized(first, last):
            for n in (first - 1, last):
                self.replace(self.starts[n], self.starts[n] + 1)
        self.generic_visit(node)

    def is_parenthesized(self, first: int, last: int) -> bool:
        """Whether the tokens up to `last`, which is excluded, have parentheses of their own: not those of a call."""
        if not 2 <= first <= last < len(self.tokens) or (self.tokens[first - 1].string, self.tokens[last].string) != ("(", ")"):
            return False
        before = self.tokens[first - 2]
        return before.string not in (")", "]") and (before.type != tokenize.NAME or keyword.iskeyword(before.string))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        text = ast.unparse(node)
        if text in ATTRIBUTES:
            self.replace(*self.span(node), ATTRIBUTES[text])
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        function = ast.unparse(node.func)
        if function == "cast" and isinstance(node.args[0], ast.Constant) and "Async" in str(node.args[0].value):
            self.unwrap(node, node.args[1])
        elif function in UNWRAPPED:
            self.unwrap(node, node.args[0])
        elif function == "asyncio.to_thread" and len(node.args) == 1:
            start, end = self.span(node.args[0])
            self.replace(self.span(node)[0], start)
            self.replace(end, end, "(")
        self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        if node.name in UNWRAPPED:
            self.replace(*self.span(node))
        else:
            self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        kind = ast.unparse(node.value)
        if kind == "Awaitable":
            self.unwrap(node, node.slice)
        elif kind == "AsyncGenerator" and isinstance(node.slice, ast.Tuple):
            end = self.span(node.slice)[1]
            self.replace(end, end, ", None")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Keeps one member of a union whose members became the same."""
        left, right = (re.sub(r"\bAsync", "", ast.unparse(side)) for side in (node.left, node.right))
        if isinstance(node.op, ast.BitOr) and left == right:
            self.replace(self.span(node.left)[1], self.span(node)[1])
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        """Removes imports of stubs that exist for type checkers only; the synchronous ones exist at run time."""
        names = [alias.name for item in node.body if isinstance(item, ast.ImportFrom) for alias in item.names]
        if ast.unparse(node.test) == "TYPE_CHECKING" and names and all(name.endswith("AsyncStub") for name in names):
            self.replace(*self.span(node))
        else:
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Docstrings contain examples; other strings may be names."""
        if isinstance(node.value, str):
            start, end = self.span(node)
            self.replace(start, end, plain(self.source[start:end]))


def plain(text: str) -> str:
    """The synchronous form of a comment or a string."""
    for pattern, replacement in TEXT:
        text = re.sub(pattern, replacement, text)
    return text


def rewritten(source: str, name: str) -> str:
    """The synchronous form of a module, not formatted. Exits when asynchronous syntax remains."""
    source = Rewriter(source, name).result()
    for node in ast.walk(ast.parse(source, name)):
        identifier = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "name", None) or ""
        if isinstance(node, ASYNC_NODES) or "async" in str(identifier).lower():
            raise SystemExit(f"{name}: no rule for the synchronous form of {ast.unparse(node)!r}")
    return HEADER + source


def formatted(sources: Mapping[str, str]) -> dict[str, str]:
    """The modules without unused imports, formatted by ruff with the settings of this repository."""
    ruff = [sys.executable, "-m", "ruff"]
    with tempfile.TemporaryDirectory() as folder:
        for name, source in sources.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source, encoding="utf-8")
        options = ["--quiet", "--no-cache", "--config", str(ROOT / "pyproject.toml"), folder]
        subprocess.run([*ruff, "check", "--select=F401,I001", "--fix", "--exit-zero", *options], check=True)
        subprocess.run([*ruff, "format", *options], check=True)
        return {name: Path(folder, name).read_text(encoding="utf-8") for name in sources}


def to_sync(source: str, name: str) -> str:
    """The synchronous form of a module."""
    return formatted({"module.py": rewritten(source, name)})["module.py"]


def generated(package: Path) -> dict[Path, str]:
    """Every file of the synchronous client with its text."""
    sources = package / "_async"
    modules = {str(path.relative_to(sources)): path for path in sorted(sources.rglob("*.py"))}
    texts = formatted({name: rewritten(path.read_text(encoding="utf-8"), str(path)) for name, path in modules.items()})
    return {package / "_sync" / name: text for name, text in texts.items()}


def drift(package: Path) -> Iterator[str]:
    """Differences from the generated files: changed, missing and extra ones."""
    expected = generated(package)
    for path in sorted({*(package / "_sync").rglob("*.py"), *expected}):
        if path not in expected:
            yield f"{path.relative_to(package / '_sync')}: not generated"
        elif not path.exists():
            yield f"{path.relative_to(package / '_sync')}: missing"
        elif path.read_text(encoding="utf-8") != expected[path]:
            yield f"{path.relative_to(package / '_sync')}: differs"


def write(package: Path) -> None:
    """Writes the files that differ, and deletes those that are not generated."""
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
