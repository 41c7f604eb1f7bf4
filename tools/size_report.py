"""How large the written code is: `make lint` runs it. Exits 1 for a file or a function that is too long to read at once."""

from __future__ import annotations

import ast
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
WRITTEN = ("client/python/threadkeep", "server/threadkeep_server", "tests", "tools")
GENERATED = tuple(ROOT / "client/python/threadkeep" / name for name in ("v1", "_sync", "chat/_sync"))
SDKS = {
    "typescript": ("client/typescript", "src/*.ts", "//"),
    "go": ("client/go", "*.go", "//"),
    "java": ("client/java", "src/main/java/**/*.java", "//"),
    "rust": ("client/rust", "src/*.rs", "//"),
}
"""The other clients: where they live, which files are the library, what begins a comment."""
BUILT = {"node_modules", "target", "gen", "generated", "dist", "threadkeep", ".build"}
"""Directories below a client that hold nothing written."""
MOST_FILE_LINES = 400
MOST_FUNCTION_LINES = 60

Sized = tuple[int, str]


def files() -> Iterator[Path]:
    for top in WRITTEN:
        for path in sorted((ROOT / top).rglob("*.py")):
            if not any(path.is_relative_to(generated) for generated in GENERATED):
                yield path


def functions(tree: ast.Module, name: str) -> Iterator[Sized]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1, f"{name}:{node.lineno} {node.name}"


def contracts(tree: ast.Module) -> Iterator[bool]:
    """For each public module, class and Protocol method: whether it says what it promises."""
    yield ast.get_docstring(tree) is not None
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield ast.get_docstring(node) is not None
            if any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases):
                yield from (ast.get_docstring(each) is not None for each in node.body if isinstance(each, ast.AsyncFunctionDef))


def row(what: str, sizes: Sequence[Sized]) -> str:
    lines = sorted(size for size, _ in sizes)
    ninetieth = lines[min(len(lines) - 1, len(lines) * 9 // 10)]
    return f"{what:<10}{len(lines):>6}{statistics.median(lines):>8.0f}{ninetieth:>6}{max(sizes)[0]:>6}  {max(sizes)[1]}"


def client_files(top: Path) -> Iterator[Path]:
    """What is written in a client's directory, whatever it is for."""
    for path in sorted(top.rglob("*")):
        inside = path.relative_to(top)
        if (
            path.suffix in {".ts", ".go", ".java", ".rs"}
            and BUILT.isdisjoint(inside.parts[:-1])
            and "dist" not in inside.parts[0]
        ):
            yield path


def code_lines(path: Path, comment: str) -> int:
    """Lines that hold more than a comment; tests that stand in a library's file are not counted."""
    source = path.read_text().split("#[cfg(test)]\nmod tests {")[0]
    lines = (line.strip() for line in source.splitlines())
    return sum(bool(line) and not line.startswith((comment, "/*", "*")) for line in lines)


def clients() -> list[Sized]:
    """Prints how large each client's library is; gives the sizes of all files."""
    sizes: list[Sized] = []
    for language, (top, library, comment) in SDKS.items():
        sizes += [(path.read_text().count("\n"), str(path.relative_to(ROOT))) for path in client_files(ROOT / top)]
        files = [path for path in (ROOT / top).glob(library) if "test" not in path.stem.lower()]
        lines = sum(code_lines(path, comment) for path in files)
        print(f"{language:<12}{lines:>5} lines of code in {len(files)} files of the client, comments aside")
    return sizes


def main() -> int:
    file_sizes: list[Sized] = []
    function_sizes: list[Sized] = []
    told: list[bool] = []
    comments = 0
    for path in files():
        name, source = str(path.relative_to(ROOT)), path.read_text()
        tree = ast.parse(source)
        file_sizes.append((source.count("\n"), name))
        function_sizes += functions(tree, name)
        comments += sum(line.lstrip().startswith("#") for line in source.splitlines())
        if not name.startswith("tests/"):
            told += contracts(tree)
    total = sum(size for size, _ in file_sizes)
    print("              all  median   90%  most lines")
    print(row("files", file_sizes))
    print(row("functions", function_sizes))
    density = comments * 100 / total
    print(f"{density:.1f} comments per 100 of {total} lines; {sum(told)} of {len(told)} contracts have a docstring")
    file_sizes += clients()
    too_long = [(size, name, MOST_FILE_LINES) for size, name in file_sizes if size > MOST_FILE_LINES]
    too_long += [(size, name, MOST_FUNCTION_LINES) for size, name in function_sizes if size > MOST_FUNCTION_LINES]
    for size, name, most in too_long:
        print(f"too long: {name} has {size} lines, the limit is {most}", file=sys.stderr)
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
