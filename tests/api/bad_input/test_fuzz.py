"""Random requests to all RPCs, with and without credentials, over gRPC and HTTP: none is a fault of the server.

THREADKEEP_SEED selects others; a failure names the request.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
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
LONG = 50_000
COUNT = size(LONG, 400)
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


@contextlib.contextmanager
def appending(port: int) -> Iterator[list[float]]:
    """Appends as another caller, and returns how long each append took, in seconds."""
    times, ended = [0.0], threading.Event()

    def append() -> None:
        with Client(f"127.0.0.1:{port}", token="token-of-anyone-at-acme", user_id="pulse") as client:
            while not ended.wait(0.05):
                began = time.monotonic()
                client.append("s", user("still here"), create_if_missing=True)
                times.append(time.monotonic() - began)

    with ThreadPoolExecutor(1) as pool:
        running_appends = pool.submit(append)
        try:
            yield times
        finally:
            ended.set()
            running_appends.result()


def resident() -> int:
    """Returns the resident memory of this process, in bytes; the server runs in it."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(autouse=True)
def no_fault(server: Running, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Afterwards the server answers, has logged no error, has held up no other caller and has not grown. The last two are
    checked in the long form only, on a quiet machine."""
    before = resident()
    with caplog.at_level(logging.ERROR), appending(server.grpc_port) as slowest:
        yield
    if COUNT == LONG:
        assert max(slowest) < 1, "another caller waited for more than a second"
        assert resident() - before < 100 << 20
    assert not [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR or each.exc_info]
    with Client(f"127.0.0.1:{server.grpc_port}", token="token-of-anyone-at-acme", user_id="after") as client:
        assert client.append("s", user("still here"), create_if_missing=True).events[0].seq >= 1


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
