"""A process that has imported the server and forks one per request: importing takes seconds, and these tests start hundreds of
servers. A fork is equivalent to `python -m threadkeep_server`.

Requests and responses are lines of JSON: `{"env": ..., "cwd": ..., "log": ...}` returns a process id, `{"wait": pid}` its exit
status, negative for a signal.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import alembic.command  # noqa: F401 - what a server imports as it makes or migrates a database

from threadkeep_server.__main__ import main


def _serve(request: dict[str, Any]) -> int:
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in (1, 2):
        os.dup2(log, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(request["cwd"])
    if request["open_files"]:
        resource.setrlimit(resource.RLIMIT_NOFILE, (request["open_files"], request["open_files"]))
    os.environ.clear()
    os.environ.update(request["env"])
    if os.environ["THREADKEEP_FRONTEND"] == "envoy":
        _run_in_envoy(request["prelude"], Path(request["cwd"]) / "prelude")
    else:
        exec(request["prelude"], {})
    return main()


def _run_in_envoy(prelude: str, folder: Path) -> None:
    """Makes the interpreter in Envoy, which gets our path, run the code first."""
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(prelude)
    sys.path.insert(0, str(folder))


def _answer(request: dict[str, Any]) -> int:
    if "wait" in request:
        return os.waitstatus_to_exitcode(os.waitpid(request["wait"], 0)[1])
    if "THREADKEEP_SUMMARIZER" in request["env"]:
        import_module("openai.resources.chat")  # what a server with one imports as it starts, in more than a second
    pid = os.fork()
    if pid == 0:
        sys.exit(_serve(request))
    return pid


if __name__ == "__main__":
    for line in iter(sys.stdin.readline, ""):
        print(_answer(json.loads(line)), flush=True)
