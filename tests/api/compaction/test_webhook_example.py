"""The example of a webhook compacts for a server, and answers nobody else."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.models.webhooks import SECRET, webhooks_file
from threadkeep import assistant, system, text_of, user

from ..bad_input.requests import eventually, wire

PROGRAM = Path(__file__).parents[3] / "examples/webhook/endpoint.py"


@pytest.fixture
def port() -> Iterator[str]:
    env = os.environ | {"WEBHOOK_SECRET": "whsec_" + base64.b64encode(SECRET).decode()}
    with subprocess.Popen([sys.executable, str(PROGRAM), "0"], env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().removeprefix("serving on port ").strip()
        finally:
            process.terminate()


def test_the_example_compacts_by_policy(tmp_path: Path, port: str) -> None:
    with wire(tmp_path, compaction_webhooks_file=webhooks_file(tmp_path, summaries=f"http://127.0.0.1:{port}/")) as opened:
        policy = {"trigger": {"turns_over": 1}, "strategy": {"webhook": {"name": "summaries"}}}
        opened.call("SetCompactionPolicy", scope={"server": True}, policy=policy)
        ref = opened.new_session()
        opened.append(ref, system("Be brief."), user("to Oslo"), assistant("by train"), user("and back"), assistant("by ship"))
        eventually(lambda: len(opened.call("ListCompactions", session=ref).compactions) == 1)
        shown = [text_of(event) for event in opened.call("GetContext", session=ref).events]
        assert shown == ["Be brief.", "Earlier: to Oslo / by train", "and back", "by ship"]


def test_the_example_rejects_a_request_without_a_signature(port: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", data=b'{"events": []}', timeout=30)
    with caught.value as refused:
        assert refused.code == 401
