"""Ctrl-C: a command or an example exits with 130 and prints no traceback."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.support.programs.python import python

_ROOT = Path(__file__).parents[3]
_EXAMPLES = {
    "quickstart": ("client/python/examples/quickstart.py",),
    "agent_loop": ("client/python/examples/agent_loop.py",),
    "auditing": ("-m", "examples.chat.auditing"),
    "orchestration": ("-m", "examples.chat.orchestration"),
    "tool_heavy": ("-m", "examples.chat.tool_heavy"),
    "terminal": ("-m", "examples.chat.terminal"),
    "info": ("-m", "threadkeep.cli", "info"),
    "sessions": ("-m", "threadkeep.cli", "sessions", "list"),
    "search": ("-m", "threadkeep.cli", "search", "x"),
}


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server that accepts connections and never responds."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(60)
        yield listening


@pytest.mark.parametrize("name", _EXAMPLES)
def test_ctrl_c_during_a_call_exits_without_a_traceback(silent: socket.socket, name: str) -> None:
    own = {key: value for key, value in os.environ.items() if not key.startswith(("THREADKEEP_", "OPENAI_"))}
    own["THREADKEEP_ADDRESS"] = f"127.0.0.1:{silent.getsockname()[1]}"
    heeding = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    started = subprocess.Popen(
        [*([sys.executable] if name == "info" else python()), *_EXAMPLES[name]],  # one of them from its first import on
        cwd=_ROOT,
        env=own,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heeding,
    )
    try:
        with silent.accept()[0]:
            started.send_signal(signal.SIGINT)
            _, err = started.communicate(timeout=60)
    finally:
        started.kill()
    assert (started.returncode, err) == (130, "")


def test_ctrl_c_ends_mcp_while_a_thread_reads_stdin() -> None:
    started = subprocess.Popen(
        [*python(), "-m", "threadkeep.cli", "mcp", "--user", "alice"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert started.stdin is not None
        assert started.stdout is not None
        started.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        started.stdin.flush()
        assert started.stdout.readline()
        started.send_signal(signal.SIGINT)
        assert (started.wait(60), started.communicate()[1]) == (130, "")
    finally:
        started.kill()


def test_ctrl_c_during_imports_exits_without_a_traceback() -> None:
    program = """
import sys
from threadkeep import cli
class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "threadkeep.cli.app":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
sys.exit(cli.main(["info"]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")
