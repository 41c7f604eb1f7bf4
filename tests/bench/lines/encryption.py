"""What encryption at rest costs."""

import base64
import contextlib
from functools import partial

from tests.bench.harness import Bench
from tests.bench.lines.appends import SESSIONS
from tests.bench.lines.base import compared
from tests.bench.report import Line

_EVENTS = 100
_KEY = base64.b64encode(bytes(32)).decode()


def encryption(bench: Bench, engine: str) -> list[Line]:
    """Appends and reads of the last 50 events, 64 in flight, with and without it."""
    with contextlib.ExitStack() as stack:
        servers = {}
        for name, env in (("without", {}), ("with", {"THREADKEEP_ENCRYPTION_KEY": _KEY})):
            database = stack.enter_context(bench.database(engine))
            servers[name] = stack.enter_context(bench.server(database, env=env))
        for server in servers.values():
            names = bench.create(server, SESSIONS)
            bench.load(server, [(name, "u000", 0, _EVENTS) for name in names], size=1024)
        found = {
            op: bench.interleave(
                f"{op} with encryption",
                {name: partial(bench.measure, server, op, sessions=names) for name, server in servers.items()},
            )
            for op in ("append", "last")
        }
    texts = {"append": "append", "last": "last 50"}
    return [
        compared("encryption", engine, f"{texts[op]}, 64 in flight, encrypted ÷ plain", "rate", each["with"], each["without"])
        for op, each in found.items()
    ]
