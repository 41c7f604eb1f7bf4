"""RPCs over the HTTP port: JSON, Connect and gRPC-Web, on a real socket."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import logging
from collections.abc import AsyncIterator
from urllib.parse import quote

import pytest
from google.rpc import error_details_pb2, status_pb2

from tests.support.servers.http_gateway import (
    APPEND,
    GET,
    JSON,
    LIST,
    MAX_BYTES,
    STREAM,
    Gateway,
    frame,
    frames,
    list_request,
    running,
)
from threadkeep.v1 import event_service_pb2


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    async with running() as gateway:
        yield gateway


@pytest.mark.parametrize(
    "headers",
    [
        JSON,
        {"content-type": "application/json; charset=utf-8"},
        {"content-type": "application/x-www-form-urlencoded"},
        {},
    ],
)
async def test_json_works_without_a_content_type(gateway: Gateway, headers: dict[str, str]) -> None:
    answer = await gateway.call("POST", LIST, '{"session":{"sessionId":"s1"}}', headers)
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json == {"events": [{"eventId": "s1", "seq": str(2**53 + 1)}], "nextPageToken": "default/None"}


async def test_json_accepts_proto_field_names(gateway: Gateway) -> None:
    answer = await gateway.call("POST", LIST, '{"session":{"session_id":"s1"}}', JSON)
    assert answer.json["events"][0]["eventId"] == "s1"


async def test_an_empty_body_is_an_empty_request(gateway: Gateway) -> None:
    answer = await gateway.call("POST", GET)
    assert answer.status == 200
    assert answer.json == {"event": {"eventId": "é😀"}}


async def test_reads_can_be_called_by_get(gateway: Gateway) -> None:
    query = "?encoding=json&message=" + quote('{"session":{"sessionId":"s1"}}')
    answer = await gateway.call("GET", LIST + query)
    assert answer.json["events"][0]["eventId"] == "s1"
    assert (await gateway.call("GET", APPEND + query)).status == 405


@pytest.mark.parametrize("query", ["", "?message={}", "?encoding=xml&message={}"])
async def test_a_get_without_a_request_suggests_post(gateway: Gateway, query: str) -> None:
    answer = await gateway.call("GET", LIST + query)
    assert (answer.status, answer.headers["content-type"]) == (400, "application/json")
    assert f"POST JSON to {LIST}" in answer.json["message"]
    assert "?encoding=json&message=" in answer.json["message"]


@pytest.mark.parametrize(("method", "path"), [("GET", APPEND), ("PUT", LIST), ("GET", STREAM)])
async def test_another_method_suggests_post(gateway: Gateway, method: str, path: str) -> None:
    answer = await gateway.call(method, path)
    assert answer.status == 405
    assert "POST" in answer.json["message"]


@pytest.mark.parametrize("headers", [{"content-type": "application/x-www-form-urlencoded"}, JSON])
async def test_json_responses_end_with_a_line_break(gateway: Gateway, headers: dict[str, str]) -> None:
    for session in ("s1", "gone"):
        answer = await gateway.call("POST", LIST, json.dumps({"session": {"sessionId": session}}), headers)
        assert answer.body.endswith(b"}\n")
    assert (await gateway.call("GET", LIST + "?encoding=json&message={}")).body.endswith(b"}\n")
    assert (await gateway.call("GET", LIST)).body.endswith(b"}\n")


async def test_other_responses_have_no_added_line_break(gateway: Gateway) -> None:
    packed = await gateway.call("POST", LIST, "{}", {**JSON, "accept-encoding": "gzip"})
    assert gzip.decompress(packed.body).endswith(b"}")
    proto = await gateway.call("GET", LIST + "?encoding=proto&message=")
    event_service_pb2.ListEventsResponse.FromString(proto.body)


async def test_connect_returns_the_servicers_bytes_unchanged(gateway: Gateway) -> None:
    answer = await gateway.call("POST", LIST, list_request("s1"), {"content-type": "application/proto"})
    assert (answer.status, answer.headers["content-type"]) == (200, "application/proto")
    assert event_service_pb2.ListEventsResponse.FromString(answer.body).events[0].event_id == "s1"


async def test_grpc_web_frames_message_and_trailers(gateway: Gateway) -> None:
    for kind in ("application/grpc-web", "application/grpc-web+proto"):
        answer = await gateway.call("POST", LIST, frame(list_request("s1")), {"content-type": kind})
        (message_flags, message), (trailer_flags, trailers) = frames(answer.body)
        assert (answer.status, message_flags, trailer_flags) == (200, 0, 0x80)
        assert event_service_pb2.ListEventsResponse.FromString(message).events[0].event_id == "s1"
        assert trailers == b"grpc-status: 0\r\n"


async def test_grpc_web_errors_carry_the_same_status_as_grpc(gateway: Gateway) -> None:
    answer = await gateway.call("POST", LIST, frame(list_request("gone")), {"content-type": "application/grpc-web+proto"})
    [(flags, trailers)] = frames(answer.body)
    fields = dict(line.split(": ", 1) for line in trailers.decode().splitlines())
    status = status_pb2.Status.FromString(base64.b64decode(fields["grpc-status-details-bin"] + "==="))
    info = error_details_pb2.ErrorInfo()
    assert (flags, fields["grpc-status"], status.code) == (0x80, "5", 5)
    assert status.details[0].Unpack(info)
    assert info.reason == "SESSION_NOT_FOUND"


async def test_compressed_requests_and_responses_work(gateway: Gateway) -> None:
    headers = {**JSON, "content-encoding": "gzip", "accept-encoding": "gzip"}
    answer = await gateway.call("POST", LIST, gzip.compress(b'{"session":{"sessionId":"s1"}}'), headers)
    assert answer.headers["content-encoding"] == "gzip"
    assert json.loads(gzip.decompress(answer.body))["events"][0]["eventId"] == "s1"
    bomb = await gateway.call("POST", LIST, gzip.compress(b" " * 1_000_000), headers)
    assert bomb.error() == (400, "invalid_argument", "INVALID_FIELD")


async def test_a_domain_error_keeps_its_code_and_details(gateway: Gateway) -> None:
    answer = await gateway.call("POST", LIST, '{"session":{"sessionId":"gone"}}', JSON)
    assert answer.error() == (404, "not_found", "SESSION_NOT_FOUND")
    assert "no session 'gone'" in answer.json["message"]
    assert answer.json["details"][1]["debug"] == {"resourceType": "threadkeep.v1.Session", "resourceName": "gone"}


async def test_an_internal_error_returns_only_a_request_id(gateway: Gateway, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        answer = await gateway.call("POST", LIST, '{"session":{"sessionId":"fault"}}', JSON)
    assert answer.error() == (500, "internal", "INTERNAL")
    assert b"hush" not in answer.body
    assert caplog.records[-1].__dict__["request_id"] == answer.json["details"][0]["debug"]["metadata"]["request_id"]


@pytest.mark.parametrize(
    ("body", "field", "says"),
    [
        ('{"sessio":{}}', "sessio", "is not a field; the fields here are: session"),
        ('{"session":{"sessionIdd":"x"}}', "session.sessionIdd", "is not a field; the fields here are: app, userId, sessionId"),
        ('{"session":{"sessionId":5}}', "session.session_id", "wrong value"),
        ('{"session":7}', "session", "expected an object"),
        ('{"session":{"sessionId":"\\ud800"}}', "session.session_id", "surrogate"),
        ('{"session":', "body", "is not valid JSON"),
        ("[]", "body", "must be a JSON object"),
        ("null", "body", "must be a JSON object"),
        (b'{"session":{"sessionId":"\xff"}}', "body", "must be UTF-8"),
        ('{"session":{},"session":{}}', "body", "duplicate name 'session'"),
        ('{"a":' * 1900, "body", "is not valid JSON"),
    ],
)
async def test_wrong_json_is_rejected_with_its_field(gateway: Gateway, body: bytes | str, field: str, says: str) -> None:
    answer = await gateway.call("POST", LIST, body, JSON)
    assert answer.error() == (400, "invalid_argument", "INVALID_FIELD")
    assert answer.json["details"][0]["debug"]["metadata"]["field"] == field
    assert says in answer.json["message"]
    assert answer.json["details"][1]["debug"]["fieldViolations"][0]["field"] == field


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ('{"events":[{"message":{"parts":[{"text": 3}]}}]}', "events.message.parts.text"),
        ('{"events":[{"x":1}]}', "events[0].x"),
        ('{"events":[{"message":{"role":"BAD"}}]}', "events[0].message.role"),
        ('{"events":[null]}', "events[0]"),
        ('{"events":{}}', "events"),
        ('{"expectedLogVersion":"x"}', "expected_log_version"),
        ('{"expectedLogVersion":NaN}', "expected_log_version"),
        ('{"expectedLogVersion":1,"expectedLastEventId":"a"}', "precondition"),
        ('{"events":[{"eventTime":"yesterday"}]}', "events[0].event_time"),
        ('{"events":[{},{"message":{"parts":[{"media":{"data":"a!bc"}}]}}]}', "events[1].message.parts[0].media.data"),
        ('{"events":[{"native":{"format":"x/1","content":"abcde"}}]}', "events[0].native.content"),
        ('{"events":[{"message":{"role":' + "9" * 5000 + "}}]}", "body"),
    ],
)
async def test_wrong_nested_json_is_rejected_with_its_path(gateway: Gateway, body: str, field: str) -> None:
    answer = await gateway.call("POST", APPEND, body, JSON)
    assert answer.error() == (400, "invalid_argument", "INVALID_FIELD")
    assert answer.json["details"][0]["debug"]["metadata"]["field"] == field


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            '{"events":[{"message":{"role":"USER"}}]}',
            "events[0].message.role must be one of ROLE_USER, ROLE_ASSISTANT, ROLE_SYSTEM, ROLE_TOOL, not USER",
        ),
        ('{"ifExists":"IGNORE"}', "if_exists must be one of IF_EXISTS_REPLAY, IF_EXISTS_IGNORE, IF_EXISTS_REPLACE, not IGNORE"),
        ('{"events":[{"message":{"role":["ROLE_USER"]}}]}', "events.message.role has a wrong value: expected a name"),
    ],
)
async def test_a_wrong_enum_value_is_rejected_with_the_valid_names(gateway: Gateway, body: str, message: str) -> None:
    assert (await gateway.call("POST", APPEND, body, JSON)).json["message"] == message


async def test_wrong_protobuf_is_rejected(gateway: Gateway) -> None:
    answer = await gateway.call("POST", LIST, b"\xff\xff\xff", {"content-type": "application/proto"})
    assert answer.error() == (400, "invalid_argument", "INVALID_FIELD")
    assert "is not a valid threadkeep.v1.ListEventsRequest" in answer.json["message"]


async def test_a_request_over_the_limit_is_rejected(gateway: Gateway) -> None:
    answer = await gateway.call("POST", LIST, b" " * (MAX_BYTES + 1), JSON)
    assert answer.error() == (400, "invalid_argument", "INVALID_FIELD")
    assert str(MAX_BYTES) in answer.json["message"]


async def test_a_deadline_stops_the_servicer_and_is_reported(gateway: Gateway) -> None:
    headers = {**JSON, "connect-timeout-ms": "2000"}  # the servicer must be called before
    answer = await gateway.call("POST", LIST, '{"session":{"sessionId":"slow"}}', headers)
    assert answer.error() == (504, "deadline_exceeded", "DEADLINE_EXCEEDED")
    await asyncio.wait_for(gateway.servicer.cancelled.wait(), 30)


async def test_a_disconnect_stops_the_servicer(gateway: Gateway) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    body = b'{"session":{"sessionId":"slow"}}'
    writer.write(b"POST %b HTTP/1.1\r\nhost: h\r\ncontent-length: %d\r\n\r\n%b" % (LIST.encode(), len(body), body))
    await writer.drain()
    await asyncio.wait_for(gateway.servicer.called.wait(), 30)
    writer.close()
    await writer.wait_closed()
    await asyncio.wait_for(gateway.servicer.cancelled.wait(), 30)


async def test_a_stream_is_served_over_connect_and_grpc_web(gateway: Gateway) -> None:
    request = frame(event_service_pb2.AppendStreamRequest().SerializeToString())
    for kind, end in (("application/connect+proto", (2, b"{}")), ("application/grpc-web+proto", (0x80, b"grpc-status: 0\r\n"))):
        answer = await gateway.call("POST", STREAM, request * 3, {"content-type": kind})
        *messages, last = frames(answer.body)
        results = [event_service_pb2.AppendStreamResponse.FromString(payload).results[0].index for _, payload in messages]
        assert (answer.status, results, last) == (200, [0, 1, 2], end)


async def test_a_stream_that_fails_ends_with_the_error(gateway: Gateway) -> None:
    body = frame(b"{}") + frame(b'{"append":{"session":{"sessionId":"drain"}}}')
    answer = await gateway.call("POST", STREAM, body, {"content-type": "application/connect+json"})
    (_, first), (flags, end) = frames(answer.body)
    assert json.loads(first) == {"results": [{}]}
    assert flags == 2
    error = json.loads(end)["error"]
    assert (error["code"], error["details"][0]["debug"]["reason"]) == ("unavailable", "SERVER_DRAINING")


@pytest.mark.parametrize("headers", [JSON, {"content-type": "application/x-www-form-urlencoded"}])
async def test_a_stream_called_with_plain_json_suggests_alternatives(gateway: Gateway, headers: dict[str, str]) -> None:
    answer = await gateway.call("POST", STREAM, "{}", headers)
    assert answer.status == 415
    assert f"{STREAM} is a stream" in answer.json["message"]
    assert "use an SDK, gRPC" in answer.json["message"]
    assert "application/connect+json" in answer.json["message"]


@pytest.mark.parametrize("kind", ["application/grpc", "application/grpc+proto", "text/xml"])
async def test_another_content_type_is_rejected_with_the_supported_ones(gateway: Gateway, kind: str) -> None:
    answer = await gateway.call("POST", LIST, b"", {"content-type": kind})
    assert answer.status == 415
    assert "application/json" in answer.json["message"]
    assert "gRPC is served on its own port" in answer.json["message"]
