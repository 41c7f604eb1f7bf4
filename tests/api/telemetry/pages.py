"""Reads /metrics of a running server."""

from __future__ import annotations

import time
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from threadkeep_server.app.server import Running

Sample = tuple[str, frozenset[tuple[str, str]]]
"""The name of a sample and its labels."""


def sample(name: str, **labels: str) -> Sample:
    return name, frozenset(labels.items())


def page(server: Running) -> str:
    """Returns the page. It is made at most once per second."""
    with urlopen(f"http://127.0.0.1:{server.http_port}/metrics", timeout=60) as response:
        text: str = response.read().decode()
    return text


def samples(server: Running, *wanted: Sample) -> dict[Sample, float]:
    """Returns all samples. Waits, for a while, until the wanted ones are there and not 0."""
    for _ in range(60):
        families = text_string_to_metric_families(page(server))
        found = {sample(each.name, **each.labels): each.value for family in families for each in family.samples}
        if all(found.get(each) for each in wanted):
            break
        time.sleep(0.25)
    return found
