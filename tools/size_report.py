"""Reports the size of hand-written code: `make lint` runs it. Exits 1 if a limit is exceeded."""

from __future__ import annotations

import ast
import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
WRITTEN = ("client/python/threadkeep", "server/threadkeep_server", "tests", "tools")
GENERATED = tuple(ROOT / "client/python/threadkeep" / name for name in ("v1", "_sync", "chat/_sync"))
SDKS = {
    "typescript": ("client/typescript", "src/*.ts", "//"),
    "go": ("client/go", "*.go", "//"),
    "java": ("client/java", "src/main/java/**/*.java", "//"),
    "rust": ("client/rust", "src/**/*.rs", "//"),
    "console": ("client/console", "src/**/*.ts*", "//"),
}
"""The other clients: their folder, the files of the library, the prefix of a comment."""
BUILT = {"node_modules", "target", "gen", "generated", "dist", "v1", ".build"}
"""Directories below a client without hand-written files."""
MOST_FILE_LINES = 400
MOST_FUNCTION_LINES = 60
SHORT_FUNCTION_LINES = 30
SHORT_SHARE = 0.95
"""This share of the functions has at most SHORT_FUNCTION_LINES."""
MOST_MODULES = 20
"""Hand-written modules in a folder, without those of the folder itself and, in the other languages, without tests."""
_FOLDER_FILES = ("/__init__.py", "/package-info.java")
_TEST_FILE = re.compile(r"(_test\.go|\.test\.ts|Test\.java)$")
MOST_README_LINES = 150

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
    """Yields, for each public module, class and Protocol method, whether it has a docstring."""
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
    """Yields the hand-written files of a client, of the library and of its tests."""
    for path in sorted(top.rglob("*")):
        inside = path.relative_to(top)
        if (
            path.suffix in {".ts", ".tsx", ".css", ".go", ".java", ".rs"}
            and BUILT.isdisjoint(inside.parts[:-1])
            and "dist" not in inside.parts[0]
        ):
            yield path


def code_lines(path: Path, comment: str) -> int:
    """Counts the lines with more than a comment, without tests in a file of the library."""
    source = path.read_text().split("#[cfg(test)]\nmod tests {")[0]
    lines = (line.strip() for line in source.splitlines())
    return sum(bool(line) and not line.startswith((comment, "/*", "*")) for line in lines)


def clients() -> list[Sized]:
    """Prints the size of the library of each client; returns the sizes of all files."""
    sizes: list[Sized] = []
    for language, (top, library, comment) in SDKS.items():
        sizes += [(path.read_text().count("\n"), str(path.relative_to(ROOT))) for path in client_files(ROOT / top)]
        files = [path for path in (ROOT / top).glob(library) if "test" not in path.stem.lower() and "gen" not in path.parts]
        lines = sum(code_lines(path, comment) for path in files)
        print(f"{language:<12}{lines:>5} lines of code in {len(files)} files of the client, without comments")
    return sizes


def short_functions(sizes: Sequence[Sized]) -> Iterator[str]:
    """Yields what exceeds the limit of short functions, and prints their share."""
    share = sum(size <= SHORT_FUNCTION_LINES for size, _ in sizes) / len(sizes)
    print(f"{share:.1%} of the functions have at most {SHORT_FUNCTION_LINES} lines")
    if share < SHORT_SHARE:
        yield f"too many long functions: {1 - share:.1%}, the limit is {1 - SHORT_SHARE:.0%}"


def full_folders(names: Sequence[str]) -> Iterator[str]:
    """Yields the folders with too many modules."""
    modules = Counter(
        str(Path(name).parent) for name in names if not name.endswith(_FOLDER_FILES) and not _TEST_FILE.search(name)
    )
    for folder, count in sorted(modules.items()):
        if count > MOST_MODULES:
            yield f"too many modules: {folder} has {count}, the limit is {MOST_MODULES}"


def main() -> int:
    file_sizes: list[Sized] = []
    function_sizes: list[Sized] = []
    documented: list[bool] = []
    comments = 0
    for path in files():
        name, source = str(path.relative_to(ROOT)), path.read_text()
        tree = ast.parse(source)
        file_sizes.append((source.count("\n"), name))
        function_sizes += functions(tree, name)
        comments += sum(line.lstrip().startswith("#") for line in source.splitlines())
        if not name.startswith("tests/"):
            documented += contracts(tree)
    total = sum(size for size, _ in file_sizes)
    print("              all  median   90%  most lines")
    print(row("files", file_sizes))
    print(row("functions", function_sizes))
    density = comments * 100 / total
    print(f"{density:.1f} comments per 100 of {total} lines; {sum(documented)} of {len(documented)} contracts have a docstring")
    file_sizes += clients()
    problems = [*short_functions(function_sizes), *full_folders([name for _, name in file_sizes])]
    readme = (ROOT / "README.md").read_text().count("\n")
    if readme > MOST_README_LINES:
        problems.append(f"too long: README.md has {readme} lines, the limit is {MOST_README_LINES}")
    too_long = [(size, name, MOST_FILE_LINES) for size, name in file_sizes if size > MOST_FILE_LINES]
    too_long += [(size, name, MOST_FUNCTION_LINES) for size, name in function_sizes if size > MOST_FUNCTION_LINES]
    problems += [f"too long: {name} has {size} lines, the limit is {most}" for size, name, most in too_long]
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
