"""Small requests that would become large in memory are refused over every port, and others are served meanwhile."""

from __future__ import annotations

import base64
import gzip
import http.client
import json
import resource
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from tests.support.servers.server_process import FRONTEND
from threadkeep import user
from threadkeep_server.domain.validation import MAX_REQUEST_FIELDS
from threadkeep_server.transport.wire.wire_format import delimited, single

from ..conftest import running
from .requests import Wire, refusal_of

APPEND = "/threadkeep.v1.EventService/AppendEvents"
LIST = "/threadkeep.v1.EventService/ListEvents"
EVENTS = b"\x12\x00" * 3_000_000
"""Empty events: 660 MB in memory."""
PARTS = single(delimited(2), single(delimited(3), EVENTS))
"""An event with as many empty parts."""
NUMBERS = b'{"filter":{"roles":[' + b"1," * 3_000_000 + b"1]}}"
MOST_GROWTH = 300 << 20


class Server(Wire):
    def __init__(self, grpc_port: int, http_port: int) -> None:
        super().__init__(grpc_port)
        self._http_port = http_port

    def post(self, path: str, body: bytes, kind: str, encoding: str = "identity") -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self._http_port, timeout=60)
        try:
            connection.request("POST", path, body, {"content-type": kind, "content-encoding": encoding})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def over_grpc(self, raw: bytes, compression: grpc.Compression | None = None) -> tuple[str, str]:
        """Returns field and problem of the refusal of an append."""
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = self.channel.unary_unary(APPEND)
        with pytest.raises(grpc.RpcError) as raised:
            call(raw, timeout=60, compression=compression)
        return _named(refusal_of(raised.value).metadata)

    def over_http(self, path: str, body: bytes, kind: str, encoding: str = "identity") -> tuple[str, str]:
        status, answer = self.post(path, body, kind, encoding)
        assert status == 400, answer
        return _named(json.loads(answer)["details"][0]["debug"]["metadata"])

    def over_grpc_web(self, raw: bytes) -> tuple[str, str]:
        _, answer = self.post(APPEND, b"\0" + len(raw).to_bytes(4, "big") + raw, "application/grpc-web+proto")
        trailers = dict(line.split(": ", 1) for line in answer[5:].decode().splitlines())
        status = status_pb2.Status.FromString(base64.b64decode(trailers["grpc-status-details-bin"] + "==="))
        info = error_details_pb2.ErrorInfo()
        assert status.details[0].Unpack(info)
        return _named(dict(info.metadata))


def _named(metadata: dict[str, str]) -> tuple[str, str]:
    return metadata["field"], metadata["problem"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(data_dir=tmp_path_factory.mktemp("data"), database_url="memory://") as started:
        assert started.http_port is not None
        opened = Server(started.grpc_port, started.http_port)
        yield opened
        opened.close()


MANY = f"has too many values: a request may have {MAX_REQUEST_FIELDS} fields and values at most; send several"
RATIO = "must not decompress to more than 100 times its size; send it uncompressed"
BOMBS: dict[str, tuple[Callable[[Server], tuple[str, str]], tuple[str, str]]] = {
    "gRPC": (
        lambda to: to.over_grpc(EVENTS, grpc.Compression.Gzip),
        ("request", RATIO) if FRONTEND == "envoy" else ("events", MANY),
    ),
    "gRPC, one event": (lambda to: to.over_grpc(PARTS), ("events", MANY)),
    "Connect": (lambda to: to.over_http(APPEND, EVENTS, "application/proto"), ("events", MANY)),
    "gRPC-Web": (lambda to: to.over_grpc_web(EVENTS), ("events", MANY)),
    "JSON": (
        lambda to: to.over_http(APPEND, b'{"events":[' + b"{}," * 3_000_000 + b"{}]}", "application/json"),
        ("events", MANY),
    ),
    "JSON, compressed": (lambda to: to.over_http(LIST, gzip.compress(NUMBERS), "application/json", "gzip"), ("request", RATIO)),
    "JSON of numbers": (lambda to: to.over_http(LIST, NUMBERS[: 3 << 20], "application/json"), ("filter", MANY)),
}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_request_of_many_values_is_refused_while_others_are_served(server: Server, name: str) -> None:
    send, expected = BOMBS[name]
    ref = server.new_session()
    before = _peak()
    with ThreadPoolExecutor(3) as callers:
        refusals = [callers.submit(send, server) for _ in range(3)]
        for number in range(1, 4):
            assert server.append(ref, user("served")).last_seq == number
        assert [refusal.result() for refusal in refusals] == [expected] * 3
    assert _peak() - before < MOST_GROWTH
