"""A server with a local embedder and a rerank endpoint: meaning, the reranked order, and answers without the endpoint."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.models.local_model import local_model
from threadkeep import user
from threadkeep_server.config.settings import ConfigError

from ..conftest import running
from .searching import connected, embedded, texts

SAID = ("She drinks green tea in the morning.", "My car broke down.", "The engine of my car was repaired in a garage.")
QUESTION = "car"


class Endpoint(ThreadingHTTPServer):
    """A rerank endpoint on loopback: the longer a document, the better. `silent`: it does not answer until it is closed."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.silent = False
        self.closing = threading.Event()
        self.requests: list[dict[str, object]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v2"


class Answering(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append({"path": self.path, "key": self.headers["authorization"], **request})
        if self.server.silent:
            self.server.closing.wait(30)
            return
        results = [{"index": at, "relevance_score": len(text)} for at, text in enumerate(request["documents"])]
        body = json.dumps({"results": results[::-1]}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as serving:
        thread = threading.Thread(target=serving.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield serving
        finally:
            serving.closing.set()
            serving.shutdown()
            thread.join()


def counted(port: int | None) -> tuple[float, float]:
    """Searches with the reranker, and those that it failed, as the metrics have them."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as page:
        lines = dict(line.rsplit(" ", 1) for line in page.read().decode().splitlines() if not line.startswith("#"))
    return float(lines["threadkeep_reranker_searches_total"]), float(lines["threadkeep_reranker_failures_total"])


def test_a_local_model_finds_meaning_and_searches_go_on_without_the_reranker(tmp_path: Path) -> None:
    models = {
        "embedder": "onnx",
        "embedder_path": str(local_model(tmp_path / "minilm")),
        "reranker": "endpoint",
        "reranker_model": "small",
        "reranker_api_key": "sk-test",
        "reranker_deadline": "2s",
    }
    with endpoint() as reranker, running(data_dir=tmp_path / "data", reranker_base_url=reranker.url, **models) as server:
        with connected(server) as client:
            client.append("s", *(user(text) for text in SAID), create_if_missing=True)
            embedded(client)
            meant = client.search_page("Which trouble did the automobile have?", session="s", mode="semantic").hits
            assert texts(meant)[0] in SAID[1:]
            assert reranker.requests == []
            for mode in ("ranked", "hybrid"):
                found = texts(client.search_page(QUESTION, session="s", mode=mode).hits)
                assert found == sorted(found, key=len, reverse=True)
                assert set(found) >= {SAID[1], SAID[2]}
            assert {(each["path"], each["key"], each["query"]) for each in reranker.requests} == {
                ("/v2/rerank", "Bearer sk-test", QUESTION)
            }
            reranker.silent = True
            assert set(texts(client.search_page(QUESTION, session="s", mode="ranked").hits)) == set(SAID[1:])
        assert counted(server.http_port) == (3, 1)


def test_a_server_without_its_model_does_not_start_and_says_why(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"embedder: there is no .*none; name a directory with model\.onnx"):
        running(data_dir=tmp_path, embedder="onnx", embedder_path=str(tmp_path / "none")).__enter__()
    with pytest.raises(ConfigError, match="reranker: there is no"):
        running(data_dir=tmp_path, reranker="onnx", reranker_path=str(tmp_path / "none")).__enter__()
