"""The `threadkeep` command. It requires the extra `cli`; without it the command prints how to install it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments, by default the process's own, and return its exit code."""
    try:
        return _run(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:  # while the command was still being loaded
        return 130


def _run(arguments: list[str]) -> int:
    try:
        from .app import run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("typer", "rich", "click"):
            raise
        print(f"error: the command line needs {error.name}; run: pip install 'threadkeep[cli]'", file=sys.stderr)
        return 1
    return run(arguments)
