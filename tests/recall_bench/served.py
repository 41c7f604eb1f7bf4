"""The server that is searched, on a database that is deleted when it ends."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.databases.postgres import HOW_TO_INSTALL, PostgresCluster, find_binaries
from tests.support.servers.server_process import ServerProcess, fork_server

ENGINES = ("sqlite", "postgres")
EMBEDDERS = ("hashing", "onnx", "openai", "gemini", "none")
RERANKERS = ("none", "endpoint", "onnx")
_PREFIX = "THREADKEEP_"


class CannotServe(Exception):
    """There is no server; the message has the reason and what to do."""


@contextlib.contextmanager
def served(engine: str, embedder: str, reranker: str = "none") -> Iterator[ServerProcess]:
    """A server with default settings, this embedder and this reranker, whose models, endpoints and keys come from the
    environment, as THREADKEEP_EMBEDDER_MODEL and its like do. Raises CannotServe."""
    settings: dict[str, Any] = {}
    for component, chosen in (("embedder", embedder), ("reranker", reranker)):
        if chosen != "none":
            before = f"{_PREFIX}{component.upper()}_"
            given = {name: value for name, value in os.environ.items() if name.startswith(before)}
            settings |= {name.removeprefix(_PREFIX).lower(): value for name, value in given.items()}
            settings[component] = chosen
    with contextlib.ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="threadkeep-recall-", ignore_cleanup_errors=True)))
        if engine == "postgres":
            settings["database_url"] = stack.enter_context(_cluster()).create_database("recall")
        server = stack.enter_context(ServerProcess(fork_server(), root, **settings))
        try:
            server.start()
        except AssertionError as error:
            raise CannotServe(
                f"the server did not start with the embedder {embedder!r} and the reranker {reranker!r}: {error}"
            ) from error
        yield server


def _cluster() -> contextlib.AbstractContextManager[PostgresCluster]:
    binaries = find_binaries()
    if binaries is None:
        raise CannotServe(HOW_TO_INSTALL)
    return PostgresCluster(binaries, settings={"shared_buffers": "256MB"})
