"""Parsing of docstrings in the common styles."""

from __future__ import annotations

import pytest

from threadkeep.chat.tools.docstrings import Docstring, read_docstring

GOOGLE = """Finds flights.

    Direct ones only.

    Args:
        origin: Where from:
            a city.
        day (datetime.date, optional): When.
        **rest: Everything else.

    Returns:
        list: Of flights.

    It is never empty.
    """
NUMPY = """
    Finds flights.

    Parameters
    ----------
    origin : str
        Where from:
        a city.
    day, night : date
        When.

    Returns
    -------
    list
        Of flights.
    """
SPHINX = """Finds flights.

    :param origin: Where from:
        a city.
    :param date day: When.
    :type day: date
    :returns: flights.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_multiline_parameters_are_read_in_every_style(text: str) -> None:
    read = read_docstring(text)
    assert read.description.startswith("Finds flights.")
    assert read.parameters["origin"] == "Where from: a city."
    assert read.parameters["day"] == "When."
    assert not {"Returns", "list", "returns", "type"} & read.parameters.keys()


def test_description_is_the_text_outside_known_sections() -> None:
    assert read_docstring(GOOGLE).description == "Finds flights.\n\nDirect ones only.\n\nIt is never empty."
    assert read_docstring(GOOGLE).parameters["rest"] == "Everything else."
    assert read_docstring(NUMPY).description == "Finds flights."
    assert read_docstring(NUMPY).parameters["night"] == "When."
    assert read_docstring(SPHINX).description == "Finds flights."


def test_plain_text_with_colons_is_description() -> None:
    text = "Note: it is slow.\n\nReturns the flights: all of them.\n  - one: two"
    assert read_docstring(text).description == text
    assert read_docstring(text).parameters == {}
    assert read_docstring(None).description == read_docstring("").description == ""


def test_sphinx_roles_and_text_after_fields_are_description() -> None:
    read = read_docstring("Closes\n:class:`Door`.\n\n:param door: One\n :class:`Door`.\n\nIt stays open.")
    assert (read.description, read.parameters) == (
        "Closes\n:class:`Door`.\n\nIt stays open.",
        {"door": "One :class:`Door`."},
    )


def test_section_that_cannot_be_parsed_is_description() -> None:
    text = "Do it.\n\nArgs:\n    the first one\n"
    assert read_docstring(text) == Docstring(text.strip())


def test_section_ends_where_the_next_begins() -> None:
    read = read_docstring("Do it.\n\nArgs:\n    a: First.\nRaises:\n    b: Never.\nExamples:\n    c: 1\n")
    assert (read.description, read.parameters) == ("Do it.", {"a": "First."})
    read = read_docstring(
        "Do it.\n\nParameters\n----------\na : int\n    First.\n\nOther Parameters\n----------------\nb\n    Second.\n"
    )
    assert (read.description, read.parameters) == ("Do it.", {"a": "First.", "b": "Second."})
