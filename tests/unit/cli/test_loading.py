"""A call loads the command it names and no other; help and errors know all commands."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer

from threadkeep.cli.app import build
from threadkeep.cli.loading import _COMMANDS

_LOADED = (
    "import sys; from threadkeep.cli import main; main(sys.argv[1:]); print([n for n in sys.modules if '.commands.' in n])"
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


def test_an_unknown_command_is_answered_with_similar_names() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "threadkeep.cli", "serch", "info"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Did you mean 'search'" in done.stderr
