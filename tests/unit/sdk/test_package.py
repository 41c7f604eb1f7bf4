"""The package `threadkeep` itself: its names, and what an import of it costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import threadkeep
from threadkeep import _exports


def test_every_public_name_is_imported_on_first_use() -> None:
    for name in threadkeep.__all__:
        assert getattr(threadkeep, name) is not None
    assert set(threadkeep.__all__) <= set(dir(threadkeep))


def test_type_checkers_and_the_interpreter_see_the_same_names() -> None:
    tree = ast.parse(Path(threadkeep.__file__ or "").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    declared = {
        alias.name: node.module or ""
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if node.module
    }
    assert declared == _exports._MODULES
    assert set(declared) | {"__version__", "compaction", "errors"} == set(threadkeep.__all__)


def test_an_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'threadkeep' has no attribute 'Clinet'"):
        _ = threadkeep.Clinet  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("import threadkeep", ("grpc", "google.protobuf", "asyncio")),
        ("from threadkeep import user", ("grpc.aio", "asyncio")),
        ("from threadkeep import Client", ("threadkeep_server", "threadkeep.chat", "threadkeep.cli")),
    ],
)
def test_an_import_loads_no_more_than_it_needs(statement: str, unwanted: tuple[str, ...]) -> None:
    script = f"{statement}; import sys; print([name for name in {unwanted!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
