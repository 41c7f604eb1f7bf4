"""Random requests of every RPC, well-formed and not, and random bytes for the HTTP port. All from one seed."""

from __future__ import annotations

import contextlib
import json
import random
import struct
from typing import Any

from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.json_format import MessageToDict, SerializeToJsonError
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from threadkeep.v1 import consumer_service_pb2, subscription_service_pb2

from . import requests, streams

METHODS: list[MethodDescriptor] = [
    *requests.METHODS.values(),
    *subscription_service_pb2.DESCRIPTOR.services_by_name["SubscriptionService"].methods,
    *consumer_service_pb2.DESCRIPTOR.services_by_name["ConsumerService"].methods,
]
assert {*streams.METHODS} <= {method.name for method in METHODS}
_DEEPEST = 4
_TEXTS = ("", "s", "a", "x" * 300, "\0", "é😀", "*", "..", "%", "/", "' OR 1=1", "ref\n", "2026-01-01T00:00:00Z")
_NUMBERS = (0, 1, 2, 3, 10, 255, 1000, 2**31 - 1)
_HUGE = (-1, -(2**31), 2**31 - 1)
_HUGE_64 = (-1, 2**53 + 1, -(2**63), 2**63 - 1)
_FLOATS = (0.0, 1.0, -1.0, 1e308, float("nan"), float("inf"))
_JSON: tuple[Any, ...] = (None, True, -1, 1e308, "", "x", [], {}, [[]], {"a": {}}, "AAA", "\ud800", 2**80)
_SMALL = 20
_VERBS = ("GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "PATCH", "TRACE", "FOO", "get", "P\xffST", "")
_KINDS = (
    *("application/json", "application/proto", "application/connect+json", "application/connect+proto", "application/grpc"),
    *("application/grpc-web+proto", "application/grpc-web-text", "application/grpc+json", "application/json; charset=\xff"),
    *("text/html", "", "multipart/form-data; boundary=x", "application/connect+", "application/"),
)
_HEADERS = (
    *("connection: upgrade\r\nupgrade: websocket", "connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AA"),
    *("expect: 100-continue", "expect: \xff", "content-encoding: gzip", "content-encoding: nope", "accept-encoding: \xfe"),
    *(
        "grpc-timeout: 1S",
        "grpc-timeout: x",
        "connect-timeout-ms: 100",
        "connect-timeout-ms: -1",
        "connect-timeout-ms: " + "9" * 99,
    ),
    *("connect-protocol-version: 9", "connect-content-encoding: gzip", "connect-content-encoding: nope", "grpc-encoding: br"),
    *("origin: http://[::1", "origin: null", "origin: \xff", "x-\xff: a", "x: \xff\xfe", "a" * 9_000 + ": b", "cookie: \0"),
    *("content-length: 5", "content-length: -1", "content-length: 1, 2", "content-length: x", "transfer-encoding: chunked"),
    *("transfer-encoding: gzip, chunked", "transfer-encoding: xchunked", ": no name", "no colon", " folded: x", "host: b"),
    *("access-control-request-headers: \xff", "authorization: Bearer \xff", "authorization:", "x-http-method-override: \xff"),
)
_QUERIES = (
    *("", "", "?encoding=json&message={}", "?encoding=json&message=%FF", "?encoding=proto&base64=1&message=!!!", "?%", "?&&=&"),
    *("?encoding=json&message={}&compression=gzip", "?encoding=proto&base64=1&message=_w", "?encoding=json", "?a=\xff", "#x"),
)
_PATHS = (
    *("/", "/healthz", "/readyz", "/metrics", "*", "", "//", "/%00", "/%FF", "/\xff", "/..%2f..", "http://x/", "/%", "/%zz"),
    *("/apps/a/users/u/memory", "/apps/%FF/users/u/memory", "/apps/a/users//memory", "/apps/%2F/users/%00/memory"),
    *("/threadkeep.v1.EventService/", "/threadkeep.v1.EventService/Nope", "/grpc.health.v1.Health/Check", "/x" * 3_000),
)
_VERSIONS = ("HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/9", "")


def path_of(method: MethodDescriptor) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


class Noise:
    """Random data. The same seed gives the same."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.one_of = self._random.choice

    def chance(self, share: float) -> bool:
        return self._random.random() < share

    def encoded(self, method: MethodDescriptor) -> bytes:
        """Returns a request; one of four is damaged."""
        raw = self.message(method).SerializeToString()
        return self._damaged(raw) if self.chance(0.25) else raw

    def as_json(self, method: MethodDescriptor) -> bytes:
        """Returns a request as JSON; one of two is damaged."""
        value: Any = {}
        with contextlib.suppress(SerializeToJsonError):  # a time that has no JSON form
            value = MessageToDict(self.message(method))
        if self.chance(0.5):
            value = self._with_another(value)
        raw = json.dumps(value).encode()
        return self._damaged(raw) if self.chance(0.1) else raw

    def message(self, method: MethodDescriptor) -> Message:
        request = GetMessageClass(method.input_type)()
        self._fill(request, 0)
        return request

    def http(self, tokens: list[str]) -> bytes:
        """Returns a request over HTTP as bytes, with a complete body."""
        method = self.one_of(METHODS)
        path = path_of(method) if self.chance(0.6) else self.one_of(_PATHS)
        kind = self.one_of(_KINDS)
        body = self.as_json(method) if "json" in kind else self.encoded(method)
        if "+" in kind:
            body = struct.pack(">BI", self.one_of((0, 0, 0, 1, 2, 255)), self.one_of((len(body), len(body), 0, 2**31))) + body
        verb = self.one_of(_VERBS) if self.chance(0.3) else "POST"
        lines = [f"{verb} {path}{self.one_of(_QUERIES)} {self.one_of(_VERSIONS)}", "host: 127.0.0.1", f"content-type: {kind}"]
        if token := self.one_of(tokens):
            lines.append(f"authorization: {token}")
        lines += [self.one_of(_HEADERS) for _ in range(self._random.randrange(3))]
        lines += [f"content-length: {len(body)}", "connection: close"]
        raw = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body
        return self._damaged(raw) if self.chance(0.02) else raw

    def _damaged(self, raw: bytes) -> bytes:
        changed = bytearray(raw)
        for _ in range(self._random.randrange(1, 4)):
            place = self._random.randrange(len(changed) + 1)
            match self._random.randrange(3):
                case 0:
                    del changed[place:]
                case 1:
                    changed[place:place] = self._random.randbytes(self._random.randrange(1, 9))
                case _:
                    changed[place : place + 1] = self._random.randbytes(1)
        return bytes(changed)

    def _with_another(self, value: Any) -> Any:
        """Returns the JSON with one value in the place of another."""
        if isinstance(value, dict) and value and self.chance(0.8):
            name = self.one_of(list(value))
            return {**value, (name if self.chance(0.9) else "nope"): self._with_another(value[name])}
        if isinstance(value, list) and value and self.chance(0.8):
            return [self._with_another(value[0]), *value[1:]]
        return self.one_of(_JSON)

    def _fill(self, message: Message, depth: int) -> None:
        for field in message.DESCRIPTOR.fields:
            if not self.chance(0.5 if depth < _DEEPEST else 0.05):
                continue
            if field.message_type is not None and field.message_type.GetOptions().map_entry:
                self._fill_map(message, field)
            elif field.is_repeated:
                for _ in range(self._random.randrange(4)):
                    self._add(getattr(message, field.name), field, depth)
            elif field.message_type is not None:
                part = getattr(message, field.name)
                part.SetInParent()
                self._fill(part, depth + 1)
            else:
                setattr(message, field.name, self._value(field))

    def _fill_map(self, message: Message, field: Any) -> None:
        value = field.message_type.fields_by_name["value"]
        key = self.one_of(_TEXTS)
        if value.message_type is None:
            getattr(message, field.name)[key] = self._value(value)
        else:
            self._fill(getattr(message, field.name)[key], _DEEPEST)

    def _add(self, values: Any, field: Any, depth: int) -> None:
        if field.message_type is None:
            values.append(self._value(field))
        else:
            self._fill(values.add(), depth + 1)

    def _value(self, field: Any) -> Any:
        match field.cpp_type:
            case FieldDescriptor.CPPTYPE_STRING:
                text = self.one_of(_TEXTS)
                return text.encode() if field.type == FieldDescriptor.TYPE_BYTES else text
            case FieldDescriptor.CPPTYPE_BOOL:
                return self.chance(0.5)
            case FieldDescriptor.CPPTYPE_DOUBLE | FieldDescriptor.CPPTYPE_FLOAT:
                return self.one_of(_FLOATS)
            case FieldDescriptor.CPPTYPE_ENUM:
                return self.one_of((*_NUMBERS[:5], 99))
            case FieldDescriptor.CPPTYPE_INT32:
                return self.one_of((*_NUMBERS, *_HUGE))
            case FieldDescriptor.CPPTYPE_INT64:
                return self.one_of((*_NUMBERS, *_HUGE_64))
        return self.one_of(_NUMBERS)
