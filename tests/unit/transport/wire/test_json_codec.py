"""Requests in JSON: values are counted before they are decoded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from threadkeep.v1 import event_service_pb2, session_service_pb2
from threadkeep_server.domain.errors import InvalidField
from threadkeep_server.transport.wire import json_codec
from threadkeep_server.transport.wire.json_codec import from_json

MOST = 100


def refused(body: str) -> InvalidField:
    with pytest.raises(InvalidField) as error:
        from_json(body.encode(), event_service_pb2.AppendEventsRequest, MOST)
    return error.value


@pytest.fixture
def undecodable(monkeypatch: pytest.MonkeyPatch) -> None:
    def loads(*_: Any, **__: Any) -> None:
        raise AssertionError("it was decoded")

    monkeypatch.setattr("threadkeep_server.transport.wire.json_codec.json.loads", loads)


@pytest.mark.usefixtures("undecodable")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ('{"events":[' + "0," * 200 + "0]}", "events"),
        ('{"session":{"app":"a,b"},"events":[' + "{}," * 200 + "{}]}", "events"),
        ('{"events":[{"message":{"parts":[' + '{"text":"x"},' * 100 + "]}}]}", "events"),
        ('{"create_if_missing":{"labels":{' + '"a":"b",' * 200, "create_if_missing"),
        ('{"events":[' + "[" * 200, "events"),
        ('{"x\\"":{},"events" : [' + '"\\\\",' * 200, "events"),
        ('{"nothing":[' + "0," * 200, "body"),
        ("{" + '"a":0,' * 200, "body"),
        ("{[,".ljust(300, ",") + '""' * 300, "body"),
    ],
)
def test_too_many_values_are_rejected_before_they_are_decoded(body: str, field: str) -> None:
    error = refused(body)
    assert error.metadata["field"] == field
    assert str(MOST) in error.message


@pytest.mark.usefixtures("undecodable")
def test_too_many_strings_without_a_separator_are_rejected_before_they_are_decoded() -> None:
    assert "too many values" in refused('{"events":"' + "," * 200 + '"' + '""' * 300).message


@pytest.mark.parametrize("text", ["," * 500, '"[{' * 200, "\\" * 500, '\\",' * 200, '"', "\n,\u0000" * 100])
def test_values_are_not_counted_in_a_text(text: str) -> None:
    body = json.dumps({"events": [{"message": {"parts": [{"text": text}, {"text": text}]}}]})
    first, second = from_json(body.encode(), event_service_pb2.AppendEventsRequest, MOST).events[0].message.parts
    assert first.text == second.text == text


def test_as_many_values_as_are_admitted_are_decoded() -> None:
    body = json.dumps({"events": [{"eventId": str(n)} for n in range(MOST // 2 - 1)]})
    assert len(from_json(body.encode(), event_service_pb2.AppendEventsRequest, MOST).events) == MOST // 2 - 1


def test_a_duplicate_among_many_names_is_rejected_with_its_name() -> None:
    names = [*range(20_000), 19_999]
    body = "{" + ",".join(f'"{name}":0' for name in names) + "}"
    with pytest.raises(InvalidField, match="duplicate name '19999'"):
        from_json(body.encode(), event_service_pb2.AppendEventsRequest)


def test_the_field_of_a_long_wrong_value_is_reported() -> None:
    wrong = 'has no field named "' * 5_000
    error = refused(json.dumps({"events": [{}, {"message": {"role": wrong}}]}))
    assert error.metadata["field"] == "events[1].message.role"


@pytest.mark.parametrize("labels", [r'"\ud800"', r'{"k": ["\ud800"]}', r'{"\ud800": 1}', r'{"\ud800": 1, "\ud800": 2}'])
def test_an_error_that_shows_half_of_a_surrogate_pair_can_be_encoded(labels: str) -> None:
    with pytest.raises(InvalidField) as caught:
        from_json(b'{"labels": %s}' % labels.encode(), session_service_pb2.ListSessionsRequest)
    assert all(value.encode() for value in caught.value.metadata.values())


def test_a_long_text_is_not_searched_by_a_regular_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []

    def search(text: str) -> bool:
        searched.append(text)
        return False

    monkeypatch.setattr(json_codec._UnpairedSurrogates, "search", search)
    from_json(b'{"userId": "text"}', session_service_pb2.ListSessionsRequest)
    assert searched == ["text"], "the parser has another name for its expression: see _UnpairedSurrogates"
