"""The commands of the page on high availability run, or have a reason not to."""

from __future__ import annotations

import subprocess

import pytest

from tests.support.documents import blocks_of

from .harness.cluster import PAGE, Cluster
from .harness.processes import find

NOT_RUN = {
    "envsubst": "the harness fills in the same files with its own addresses",
    "systemctl": "the harness starts the same program without systemd",
}
"""Commands of `console` blocks, by what they begin with, and why."""
_LIST = "patronictl -c /etc/patroni/config.yml list"


@pytest.mark.postgres
def test_commands_run_or_have_a_reason_not_to(cluster: Cluster) -> None:
    """The block in SQL is what made the database of the cluster."""
    commands = [line for block in blocks_of(PAGE) if block.language == "console" for line in block.code.splitlines() if line]
    left = [command for command in commands if not command.startswith(tuple(NOT_RUN))]
    assert left == [_LIST]
    program, *arguments = _LIST.replace("/etc/patroni/config.yml", str(cluster.nodes[0].config)).split()
    listed = subprocess.run([str(find(program)), *arguments], capture_output=True, text=True, check=True).stdout
    assert all(node.name in listed for node in cluster.nodes), listed
