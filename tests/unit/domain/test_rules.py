"""What text may be: JSON that is kept to the letter, and JSON whose values are read."""

from __future__ import annotations

import pytest

from threadkeep_server.domain import validation
from threadkeep_server.domain.errors import InvalidField
from threadkeep_server.domain.memories import top_values

HUGE = "9" * 400
VERBATIM = [
    "",
    "{}",
    ' {"a" : 1.50, "a": -0}\n',
    r'{"nul": "\u0000", "pair": "\ud83e\uDDF5", "é": "\u00e9", "slash": "\\ud800", "quote": "\""}',
    '{"big": 9007199254740993, "most": 1.7976931348623157e308, "least": -1.7976931348623157e308, "tiny": 1e-400}',
]
NO_NUMBER = ['{"a": 1e400}', '{"a": -1e400}', '{"a": [{"b": 1e309}]}', f'{{"a": {HUGE}}}', '{"a": 1e400, "a": 1}']
NO_NUMBER.append(f'{{"a": -{"9" * 5000}}}')
HALVES = [
    r'{"a": "\ud800"}',
    r'{"a": "\uDC00"}',
    r'{"\udbff": 1}',
    r'{"a": [["x\udfff"]]}',
    r'{"a": "\ud800\ud800\udc00"}',
    r'{"a": "\udc00\ud800"}',
    r'{"a": "\\\ud800"}',
    r'{"a": "\ud800\u0041"}',
    r'{"a": ["\ud800"], "a": 1}',
]


@pytest.mark.parametrize("text", VERBATIM)
def test_valid_json_is_kept_verbatim(text: str) -> None:
    assert validation.json_object("metadata_json", text) == text
    assert validation.portable_object("metadata_json", text) == text


@pytest.mark.parametrize("text", [*NO_NUMBER[:-1], *HALVES])
def test_json_for_the_caller_only_is_kept_verbatim(text: str) -> None:
    assert validation.json_object("metadata_json", text) == text


@pytest.mark.parametrize("text", NO_NUMBER)
def test_a_number_that_overflows_to_infinity_is_refused_where_values_are_parsed(text: str) -> None:
    with pytest.raises(InvalidField) as refused:
        validation.portable_object("memories[2].metadata_json", text)
    assert refused.value.metadata["field"] == "memories[2].metadata_json"
    assert refused.value.metadata["problem"].startswith("must not hold numbers beyond 1.8e308, such as ")
    assert len(refused.value.metadata["problem"]) < 120


@pytest.mark.parametrize("text", HALVES)
def test_a_lone_surrogate_is_refused_where_values_are_parsed(text: str) -> None:
    with pytest.raises(InvalidField) as refused:
        validation.portable_object("metadata_json", text)
    assert refused.value.metadata["field"] == "metadata_json"
    assert refused.value.metadata["problem"].startswith(r"must not hold half of a surrogate pair (\u")


@pytest.mark.parametrize("check", [validation.json_object, validation.portable_object])
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "must be a JSON object"),
        ("null", "must be a JSON object"),
        ("1", "must be a JSON object"),
        ("{", "must be JSON text"),
        ('{"a": NaN}', "must be JSON text"),
        ('{"a": -Infinity}', "must be JSON text"),
        ('{"a": "\x00"}', "must be JSON text"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "must be JSON text"),
        ('{"a": "' + "é" * (128 << 10) + '"}', "must have at most 262144 bytes"),
    ],
)
def test_values_other_than_json_objects_are_refused(check: object, text: str, problem: str) -> None:
    assert callable(check)
    with pytest.raises(InvalidField) as refused:
        check("metadata_json", text)
    assert refused.value.metadata == {"field": "metadata_json", "problem": problem}


def test_admitted_json_has_the_values_that_filters_compare() -> None:
    text = r'{"pair": "\ud83e\uddf5", "n": 1.50}'
    assert top_values(validation.portable_object("metadata_json", text)) == {"pair": "\U0001f9f5", "n": "1.50"}
