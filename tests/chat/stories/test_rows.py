"""Every row of the published tables that is about a chat kit is named by a test, or docs/chat-rows.md says why none is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parents[1]
DOCUMENT = Path(__file__).parents[3] / "docs" / "chat-rows.md"
_ROW = re.compile(r"\b([A-Z]+)-(\d\d)(?: to \1-(\d\d))?")

NUMBERS = {
    "L": [*range(1, 24), *range(30, 34), *range(40, 54), *range(60, 66), *range(70, 73), 80, 81],
    "A": range(1, 26),
    "G": range(1, 7),
    "MF": range(1, 18),
    "X": [*range(1, 9), *range(10, 22)],
}
ROWS = {f"{series}-{number:02}" for series, numbers in NUMBERS.items() for number in numbers}


def marked(source: str) -> Iterator[str]:
    """The rows that `pytest.mark.row` names, of functions, parameters and modules."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.row":
            yield from (ast.literal_eval(argument) for argument in node.args)


def held() -> set[str]:
    return {row for path in HERE.rglob("test_*.py") for row in marked(path.read_text("utf-8"))}


def listed() -> tuple[set[str], set[str]]:
    """The rows that the document lists whole, and those that it lists in part."""
    whole: set[str] = set()
    partly: set[str] = set()
    for line in DOCUMENT.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or not (rows := set(spelled(cells[0]))):
            continue
        assert len(cells) == 3, line
        assert all(cells), f"no reason: {line}"
        (partly if cells[0].endswith(", in part") else whole).update(rows)
    return whole, partly


def spelled(text: str) -> Iterator[str]:
    """`L-01, L-60 to L-62` names four rows."""
    for series, first, last in _ROW.findall(text):
        yield from (f"{series}-{number:02}" for number in range(int(first), int(last or first) + 1))


def test_rows_are_read_as_they_are_written() -> None:
    assert [*spelled("L-01, MF-04, L-60 to L-62, in part")] == ["L-01", "MF-04", "L-60", "L-61", "L-62"]
    assert [*marked('@pytest.mark.row("A-01", "A-02")\nasync def test() -> None: ...')] == ["A-01", "A-02"]
    assert len(ROWS) == 52 + 25 + 6 + 17 + 20


def test_tests_and_the_document_name_rows_that_there_are() -> None:
    whole, partly = listed()
    assert (held() | whole | partly) - ROWS == set()


def test_every_row_is_tested_or_listed_with_a_reason() -> None:
    assert ROWS - held() - listed()[0] == set()


def test_no_row_is_both_tested_and_listed_as_not_held() -> None:
    whole, partly = listed()
    assert whole & held() == set()
    assert partly - held() == set(), "in part means that a test holds the rest"
    assert whole & partly == set()
