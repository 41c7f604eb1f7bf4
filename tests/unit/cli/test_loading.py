"""A call loads the command it names and no other; help and errors know all commands. A server loads what is on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from threadkeep.cli.app import build
from threadkeep.cli.loading import _COMMANDS

_LOADED = (
    "import sys; from threadkeep.cli import main; main(sys.argv[1:]); print([n for n in sys.modules if '.commands.' in n])"
)

_SERVED = """
import asyncio, sys
from threadkeep.cli.app import build
build(["serve"])
from threadkeep.cli.server_part import server_part, settings_of
server_part("__main__")
async def served():
    settings = settings_of(None, grpc_address="127.0.0.1:0", http_address="127.0.0.1:0")
    async with server_part("app.fronts").serve(settings):
        print([name for name in sys.argv[1:] if name in sys.modules])
asyncio.run(served())
"""
# Of features that are off by default, of other engines, and of commands other than `serve`.
_UNUSED = (
    *("alembic", "mako", "pygments", "rich", "sqlalchemy.ext.asyncio", "sqlalchemy.orm", "asyncpg", "cryptography.x509"),
    *("anthropic", "google.genai", "httpx", "httpx2", "jwt", "mcp", "onnxruntime", "openai", "tiktoken", "tokenizers"),
    *("obstore", "opentelemetry", "pyarrow", "pyvoy", "threadkeep.cli.render.output", "threadkeep_server.app.envoy"),
    *("threadkeep_server.store.inmemory", "threadkeep_server.transport.in_process", "threadkeep_server.providers.http"),
)


def _names(*arguments: str) -> set[str]:
    group = typer.main.get_group(build(arguments))
    return set(group.commands)


@pytest.mark.parametrize(
    "before",
    [
        (),
        ("--json",),
        ("--address", "info"),
        ("--address=info",),
        ("--token", "t", "--allow-plaintext-token"),
        ("--ca", "ca.crt"),
    ],
)
def test_a_called_command_is_the_only_one(before: tuple[str, ...]) -> None:
    assert _names(*before, "search", "info") == {"search"}


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h", "search"), ("serch", "info"), ("--address",), ("--bad", "info")])
def test_other_arguments_get_all_commands(arguments: tuple[str, ...]) -> None:
    assert _names(*arguments) == set(_COMMANDS)


def test_a_call_loads_no_module_of_other_commands() -> None:
    command = [sys.executable, "-c", _LOADED, "info", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "['threadkeep.cli.commands.server']"


def test_a_default_server_loads_nothing_of_what_is_off(tmp_path: Path) -> None:
    """Its first start compiles what it loads, and a new one is to serve within seconds."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("THREADKEEP_")}
    command = [sys.executable, "-c", _SERVED, *_UNUSED]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr


def test_an_unknown_command_is_answered_with_similar_names() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "threadkeep.cli", "serch", "info"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Did you mean 'search'" in done.stderr
