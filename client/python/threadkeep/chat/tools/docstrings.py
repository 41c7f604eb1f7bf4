"""What a function's docstring says about it and about its parameters, for models to read."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

_PARAMETERS = {"args", "arguments", "params", "parameters", "keyword args", "keyword arguments", "other parameters"}
_OTHERS = {"attributes", "example", "examples", "note", "notes", "raises", "references", "return", "returns", "see also"}
_OTHERS |= {"todo", "warning", "warnings", "warns", "yield", "yields"}
_RULE = re.compile(r"\s*-{3,}\s*")
_FIELD = re.compile(r":(\w+)\b([^:]*):\s*(.*)")
_GOOGLE = re.compile(r"\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:(?!\S)\s*(.*)")
_NUMPY = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?:$|:)")


@dataclass(slots=True)
class Docstring:
    """`description`: what stands before the first section. `parameters`: by name; line breaks within them are joined."""

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> Docstring:
    """Reads the style of Google ("Args:"), of NumPy (a heading over a rule), that of Sphinx (":param name:"), and plain text.

    A section that is none of the parameters' (Returns, Raises, Examples...) is left out.
    """
    lines = inspect.cleandoc(text or "").splitlines()
    found = Docstring()
    before: list[str] = []
    at = 0
    while at < len(lines):
        heading, start = _heading(lines, at)
        if _FIELD.match(lines[at]):
            at = _sphinx(lines, at, found)
        elif heading:
            end = _end(lines, start)
            if heading in _PARAMETERS:
                found.parameters.update(_entries(lines[start:end], numpy=start == at + 2))
            at = end
        else:
            before.append(lines[at])
            at += 1
    found.description = "\n".join(before).strip()
    return found


def _heading(lines: list[str], at: int) -> tuple[str, int]:
    """The section that begins here, in lower case, and where its text does; "" for none."""
    line = lines[at]
    name = line.strip().rstrip(":").lower()
    if line[:1].isspace() or name not in _PARAMETERS | _OTHERS:
        return "", at
    if at + 1 < len(lines) and _RULE.fullmatch(lines[at + 1]):
        return name, at + 2
    return (name, at + 1) if line.rstrip().endswith(":") else ("", at)


def _end(lines: list[str], start: int) -> int:
    """The section's text is indented, or goes on to the next heading (NumPy's is not)."""
    numpy = start >= 2 and _RULE.fullmatch(lines[start - 1]) is not None
    for at in range(start, len(lines)):
        flush = bool(lines[at]) and not lines[at][:1].isspace()
        if _heading(lines, at)[0] or (flush and (not numpy or _FIELD.match(lines[at]))):
            return at
    return len(lines)


def _entries(lines: list[str], *, numpy: bool) -> dict[str, str]:
    """The parameters of a section: each begins at its left margin; what is indented further goes on with it."""
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    pattern = _NUMPY if numpy else _GOOGLE
    entries: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines:
        at_margin = bool(line.strip()) and not line[margin : margin + 1].isspace()
        match = pattern.match(line[margin:]) if at_margin else None
        if match:
            current = [] if numpy else [match[2]]
            for name in match[1].split(","):
                entries[name.strip().lstrip("*")] = current
        else:
            current.append(line)
    return {name: _joined(said) for name, said in entries.items()}


def _sphinx(lines: list[str], at: int, found: Docstring) -> int:
    """Reads one field with the lines that go on with it; returns where the next begins."""
    match = _FIELD.match(lines[at])
    end = at + 1
    while end < len(lines) and (lines[end][:1].isspace() or not lines[end]):
        end += 1
    if match and match[1] in {"param", "parameter", "arg", "argument", "key", "keyword"} and match[2].strip():
        found.parameters[match[2].split()[-1].lstrip("*")] = _joined([match[3], *lines[at + 1 : end]])
    return end


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())
