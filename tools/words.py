"""Checks the English of hand-written text: `make lint` runs it. Exits 1 for a word to avoid, with its place and a better one.

Python, protos and the other languages: comments and strings. Markdown: prose, without code. Arguments are paths to check
in place of CHECKED.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHECKED = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Makefile",
    "README.md",
    "client",
    "docs",
    "examples",
    "mkdocs.yml",
    "proto",
    "server",
    "tests",
    "tools",
)
"""Files and folders that are checked, one per line. Add a folder when it is clean."""
EXCLUDED = (
    "tools/words.py",
    "client/python/threadkeep/v1",
    "client/python/threadkeep/_sync",
    "client/python/threadkeep/chat/_sync",
    "client/typescript/src/gen",
    "client/java/src/generated",
    "client/rust/src/gen",
    "client/go/threadkeep",
    "docs/reference",
    "server/threadkeep_server/console/static",
    "server/threadkeep_server/search/analysis/spellings.py",
    "server/threadkeep_server/search/analysis/stopwords.py",
    "tests/conformance/cases/",
    "tests/unit/search/test_earlier.py",
    "tests/unit/search/test_found_first.py",
    "tests/unit/search/test_query.py",
)
"""This list of words, generated code, stop words and spellings of queries, and files of sample conversations and questions."""
NAMES = {"neighbours-garden", "summarising"}
"""Strings that are allowed as a whole: a sample conversation, and a line of the benchmark."""

AVOIDED = {
    r"tell|tells|telling|told": "return, report",
    r"ask|asks|asked|asking": "request, call, search",
    r"anew": "again",
    r"bear|bears|bearing|bore|borne": "have, carry",
    r"beside|besides": "next to, in addition",
    r"for ever": "forever, without a limit",
    r"lest": "so that ... not",
    r"dear": "expensive",
    r"whoever|whomever|whatever(?!\s+the\b)": "a noun",
    r"of ours|of theirs": "a noun",
    r"(?:stand|stands|stood)(?!-| in\b)": "be, exist",
    r"(?:go|goes|going|went) on": "continue",
    r"apart": "separately",
    r"(?:hand|hands|handed|handing) (?:over|out)": "pass, return",
}
AMERICAN = {
    r"(?:re)?(?:summar|normal|recogn|serial|organ|initial|optim|custom|general|special|final|real|util|visual|author)"
    r"(?:is(?:e|es|ed|ers?|ing)|isations?)": "-ize",
    r"analys(?:e|ed|er|ers|ing)": "analyze",
    r"(?:behavi|col|fav|flav|hon|neighb)our\w*": "-or",
    r"(?:cancel|label|travel|model|signal)l(?:ed|ing)": "one l",
    r"(?:catalogue|centre|fulfil|grey|judgement|licence|spelt|whilst|amongst)s?": "the American spelling",
}
_PATTERNS = [(re.compile(rf"\b(?:{words})\b", re.IGNORECASE), instead) for words, instead in (AVOIDED | AMERICAN).items()]
_MARKDOWN_CODE = re.compile(r"^( *)```.*?^\1```|`[^`\n]*`|\]\([^)]*\)", re.MULTILINE | re.DOTALL)
_SLASHES = re.compile(r'"(?:\\.|[^"\\\n])*"|`[^`]*`|//[^\n]*|/\*.*?\*/', re.DOTALL)
_HASHES = re.compile(r'"(?:\\.|[^"\\\n])*"|#[^\n]*')
_SUFFIXES = {".py", ".md", ".proto", ".ts", ".tsx", ".go", ".java", ".rs", ".sh", ".mk", ".toml", ".yml", ".yaml"}


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yields the checked texts of a file, each with the number of its first line."""
    source = path.read_text("utf-8")
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in {tokenize.COMMENT, tokenize.STRING} and token.string.strip("\"'") not in NAMES:
                yield token.start[0], token.string
    elif path.suffix == ".md":
        yield 1, _MARKDOWN_CODE.sub(lambda code: "\n" * code[0].count("\n"), source)
    else:
        pattern = _SLASHES if path.suffix in {".proto", ".ts", ".tsx", ".go", ".java", ".rs"} else _HASHES
        for match in pattern.finditer(source):
            yield source.count("\n", 0, match.start()) + 1, match[0]


def findings(path: Path) -> Iterator[str]:
    """Yields one line per word to avoid."""
    for first, text in texts(path):
        for pattern, instead in _PATTERNS:
            for match in pattern.finditer(text):
                if not match[0].isupper():  # names of constants
                    line = first + text.count("\n", 0, match.start())
                    yield f"{path.relative_to(ROOT)}:{line}: {match[0]!r}; write: {instead}"


def files(places: list[str]) -> Iterator[Path]:
    """Yields the committed files below these places that are written by hand."""
    listed = subprocess.run(["git", "ls-files", "--", *places], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        path = ROOT / name
        if (path.suffix in _SUFFIXES or path.name == "Makefile") and path.is_file() and not name.startswith(EXCLUDED):
            yield path


def main() -> int:
    found = [line for path in files(sys.argv[1:] or list(CHECKED)) for line in findings(path)]
    print("\n".join(found) or "words: nothing to change")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
