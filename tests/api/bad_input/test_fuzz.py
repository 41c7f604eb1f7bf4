"""Random requests to all RPCs, with and without credentials, over gRPC and HTTP: none is a fault of the server.

THREADKEEP_SEED selects others; a failure names the request.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from tests.support.runs.thoroughness import size
from threadkeep import Client, user
from threadkeep_server.app.server import Running

from ..conftest import running
from .noise import METHODS, Noise, path_of

TOKENS = {"token-of-alice-at-acme": {"tenant": "acme", "user_id": "u"}, "token-of-anyone-at-acme": {"tenant": "acme"}}
SENT = ["", "Bearer no", *(f"Bearer {token}" for token in TOKENS)]
COUNT = size(50_000, 400)
"""Of requests over each protocol."""
SEED = int(os.environ.get("THREADKEEP_SEED") or 1)
FAULTS = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DATA_LOSS}
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
_STREAM_S = 0.05


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    data: Path = tmp_path_factory.mktemp("data")
    with running(data_dir=data, auth_tokens=TOKENS, embedder="hashing", request_timeout="500ms") as opened:
        yield opened


@pytest.fixture(autouse=True)
def no_fault(server: Running, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Afterwards the server answers, and has logged no error."""
    with caplog.at_level(logging.ERROR):
        yield
    assert not [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR or each.exc_info]
    with Client(f"127.0.0.1:{server.grpc_port}", token="token-of-anyone-at-acme", user_id="after") as client:
        assert client.append("s", user("still here"), create=True).events[0].seq >= 1


@pytest.mark.timeout(3600)
def test_random_requests_over_grpc_are_no_fault(server: Running) -> None:
    noise = Noise(SEED)
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        for number in range(COUNT):
            method, raw, token = noise.one_of(METHODS), noise.encoded(noise.one_of(METHODS)), noise.one_of(SENT)
            raw = noise.encoded(method) if number % 4 else raw  # which may be that of another method
            metadata = (("authorization", token),) if token else ()
            deadline = _STREAM_S if method.server_streaming else 30
            invoke: grpc.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(path_of(method))
            call = invoke(iter([raw]), metadata=metadata, timeout=deadline)
            with contextlib.suppress(grpc.RpcError, StopIteration):
                next(call)
            call.cancel()
            assert call.code() not in FAULTS, (method.name, raw, token, call.details())


@pytest.mark.timeout(3600)
def test_random_requests_over_http_are_no_fault(server: Running) -> None:
    noise = Noise(SEED)
    assert server.http_port is not None
    for _ in range(COUNT):
        raw = noise.http(SENT)
        answer = _answer(server.http_port, raw)
        status = _STATUS.match(answer)
        assert status is not None or not answer, (raw, answer)
        assert status is None or int(status[1]) != 500, (raw, answer)


def _answer(port: int, raw: bytes) -> bytes:
    """Returns the beginning of what the server sends; nothing if it closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection, contextlib.suppress(ConnectionError):
        connection.sendall(raw)
        return connection.recv(4096)
    return b""
