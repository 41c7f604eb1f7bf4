"""Descriptions of a function and its parameters, read from its docstring for the model."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

from docstring_parser import Docstring as Parsed
from docstring_parser import ParseError, google, numpydoc, rest

_PARAMETERS = ("Args", "Arguments", "Keyword Args", "Keyword Arguments", "Other Parameters", "Parameters", "Params")
_OTHERS = (
    *("Attributes", "Example", "Examples", "Note", "Notes", "Raises", "References", "Return", "Returns", "See Also"),
    *("Todo", "Warning", "Warnings", "Warns", "Yield", "Yields"),
)
# The parser's own list lacks some titles, and it rejects plain text under "Raises:".
_GOOGLE = google.GoogleParser(
    [google.Section(title, "param", google.SectionType.MULTIPLE) for title in _PARAMETERS]
    + [google.Section(title, title, google.SectionType.SINGULAR) for title in _OTHERS]
)
_INDENTED = r"(?:[ \t].*\n?|\n)*"
_SECTION = re.compile(rf"^(?:{'|'.join((*_PARAMETERS, *_OTHERS))}):[ \t]*$\n?{_INDENTED}", re.MULTILINE)
_FIELDS = "param|parameter|arg|argument|key|keyword|type|raises?|except|exception|returns?|rtype|yields?|ytype"
_FIELD = re.compile(rf"^:(?:{_FIELDS})\b[^:\n]*:.*\n?{_INDENTED}", re.MULTILINE)


@dataclass(slots=True)
class Docstring:
    """`description`: the text outside of sections. `parameters`: descriptions by name, each on one line."""

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> Docstring:
    """Reads the styles of Google ("Args:"), NumPy (a heading over a rule) and Sphinx (":param name:"), and plain text.

    Other sections (Returns, Raises, Examples, ...) are left out. A docstring that cannot be parsed is plain text.
    """
    plain = inspect.cleandoc(text or "")
    try:
        description, parsed = _parsed(plain)
    except ParseError:
        return Docstring(plain)
    parameters: dict[str, str] = {}
    for parameter in parsed.params:
        if parameter.args[0] != "attribute":
            for name in parameter.arg_name.split(","):
                parameters[name.strip().lstrip("*")] = " ".join((parameter.description or "").split())
    return Docstring(description.strip(), parameters)


def _parsed(text: str) -> tuple[str, Parsed]:
    """The description and the sections. The parsers for Google and Sphinx lose text that follows a section."""
    if _FIELD.search(text):
        lines = (" ".join(found.split()) for found in _FIELD.findall(text))
        return _FIELD.sub("", text), rest.parse("\n".join(lines))
    if _SECTION.search(text):
        return _SECTION.sub("", text), _GOOGLE.parse(text)
    parsed = numpydoc.parse(text)
    return parsed.description or "" if parsed.meta else text, parsed
