"""Prometheus and promtool, for the dashboard and the alerts."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from tests.support.runs.toolchains import lacks
from tests.support.servers.server_process import free_port

ROOT = Path(__file__).parents[3]
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yaml"
HOW_TO_GET = "no Prometheus: bash tests/support/install_prometheus.sh"


def program(name: str) -> str:
    """Returns the path of `prometheus` or `promtool`. Skips the test without it, or fails it where every test must run."""
    unpacked = ROOT / "build" / "prometheus" / "bin" / name
    found = shutil.which(name) or (str(unpacked) if unpacked.exists() else None)
    if found is None:
        lacks(HOW_TO_GET)
    return found


@dataclass(frozen=True)
class Prometheus:
    """A running Prometheus."""

    port: int

    def get(self, path: str, **query: str) -> Any:
        """Returns the data of a successful answer of its API."""
        with urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}?{urlencode(query)}", timeout=60) as response:
            answer = json.load(response)
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, expression: str) -> list[Any]:
        """Returns the result of an expression. Fails the test if it cannot be evaluated."""
        found: list[Any] = self.get("query", query=expression)["result"]
        return found

    def wait_for(self, expression: str) -> None:
        """Waits until an expression has a result."""
        for _ in range(600):
            try:
                if self.query(expression):
                    return
            except URLError:  # it starts
                pass
            time.sleep(0.1)
        raise AssertionError(f"{expression} has no result")


@contextmanager
def scraping(target: int, folder: Path) -> Iterator[Prometheus]:
    """Runs a Prometheus that reads the metrics of a port of this machine each second, with the alert rules."""
    port = free_port()
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(ALERTS)],
        "scrape_configs": [{"job_name": "threadkeep", "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))
    arguments = (f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}")
    listening = f"--web.listen-address=127.0.0.1:{port}"
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([program("prometheus"), *arguments, listening], stderr=log, cwd=folder)
    try:
        yield Prometheus(port)
    finally:
        process.terminate()
        process.wait(60)
