"""Merge patches of JSON text: RFC 7396, with the texts of the values kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep_server.domain.updates.json_merge import MOST_LEVELS, TooDeep, members, merged

# The cases of RFC 7396, appendix A, whose target and patch are objects.
RFC = [
    ('{"a":"b"}', '{"a":"c"}', '{"a":"c"}'),
    ('{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'),
    ('{"a":"b"}', '{"a":null}', "{}"),
    ('{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'),
    ('{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'),
    ('{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'),
    ('{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'),
    ('{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'),
    ('{"e":null}', '{"a":1}', '{"e":null,"a":1}'),
    ("{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'),
]


@pytest.mark.parametrize(("text", "patch", "expected"), RFC)
def test_the_examples_of_the_rfc(text: str, patch: str, expected: str) -> None:
    assert json.loads(merged(text, patch)) == json.loads(expected)


def test_values_that_are_not_changed_keep_their_text() -> None:
    text = ' { "n" : 1.0e5 , "big":12345678901234567890123,"o":{ "x" : 1.50,"gone":0 }, "l":[ 1 , 2 ],"s":"\\u00e9" } '
    after = merged(text, '{"o": {"gone": null}, "new": 1.0}')
    assert members(after) == {
        "n": "1.0e5",
        "big": "12345678901234567890123",
        "o": '{"x": 1.50}',
        "l": "[ 1 , 2 ]",
        "s": '"\\u00e9"',
        "new": "1.0",
    }


def test_an_empty_text_has_no_members() -> None:
    assert merged("", '{"a": 1}') == '{"a": 1}'
    assert merged("", "") == merged(" { } ", "{}") == "{}"


def test_of_equal_names_the_last_counts() -> None:
    assert merged('{"a": 1, "a": 2}', '{"b": 1, "b": 2}') == '{"a": 2, "b": 2}'


def test_a_name_with_half_a_surrogate_pair_stays_escaped() -> None:
    assert merged('{"\\ud800": 1}', '{"ü\\n": 2}') == '{"\\ud800": 1, "ü\\n": 2}'


def test_a_patch_that_is_nested_too_deep_is_refused() -> None:
    deep = '{"a":' * MOST_LEVELS + "1" + "}" * MOST_LEVELS
    assert merged("", deep) == deep.replace(":", ": ")
    with pytest.raises(TooDeep):
        merged("", f'{{"a":{deep}}}')


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from('abc"\\é'), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from('abc"\\é'), VALUES, max_size=4)
FORMS = st.sampled_from([{}, {"indent": 1}, {"ensure_ascii": False, "separators": (",", ":")}])


def reference(target: Any, patch: Any) -> Any:
    """The algorithm of RFC 7396, section 2."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = reference(result.get(name), value)
    return result


@given(target=OBJECTS, patch=OBJECTS, forms=st.tuples(FORMS, FORMS))
def test_every_merge_is_that_of_the_rfc(target: Any, patch: Any, forms: Any) -> None:
    texts = [json.dumps(value, **form) for value, form in zip((target, patch), forms, strict=True)]
    assert json.loads(merged(*texts)) == reference(target, patch)
