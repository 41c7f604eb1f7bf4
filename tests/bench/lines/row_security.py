"""What row-level security of PostgreSQL costs."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from tests.bench.harness import Bench, Database, Server
from tests.bench.lines.appends import SESSIONS
from tests.bench.lines.base import compared
from tests.bench.report import Line

_ROLE = "plain"
_EVENTS = 100


def row_security(bench: Bench, engine: str) -> list[Line]:
    """Appends and reads of the last 50 events, 64 in flight, with and without it, as a role that it binds."""
    bench.cluster().execute(f"CREATE ROLE {_ROLE} LOGIN")
    with contextlib.ExitStack() as stack:
        servers = {
            name: stack.enter_context(_server(bench, engine, {"THREADKEEP_ROW_SECURITY": value}))
            for name, value in (("without", "false"), ("with", "true"))
        }
        for server in servers.values():
            names = bench.create(server, SESSIONS)
            bench.load(server, [(name, "u000", 0, _EVENTS) for name in names], size=1024)
        found = {
            op: bench.interleave(
                f"{op} with row-level security",
                {name: partial(bench.measure, server, op, sessions=names) for name, server in servers.items()},
            )
            for op in ("append", "last")
        }
    texts = {"append": "append", "last": "last 50"}
    return [
        compared("row_security", engine, f"{texts[op]}, 64 in flight, with row-level security ÷ without", "rate", *results)
        for op, results in ((op, (each["with"], each["without"])) for op, each in found.items())
    ]


@contextlib.contextmanager
def _server(bench: Bench, engine: str, env: dict[str, str]) -> Iterator[Server]:
    with bench.database(engine) as database, bench.server(_owned(bench, database), env=env) as server:
        yield server


def _owned(bench: Bench, database: Database) -> Database:
    """The same database, as its owner, who is no superuser."""
    name = database.url.rpartition("/")[2]
    bench.cluster().execute(f"ALTER DATABASE {name} OWNER TO {_ROLE}", f"GRANT ALL ON DATABASE {name} TO {_ROLE}")
    scheme, _, rest = database.url.partition("://")
    return replace(database, url=f"{scheme}://{_ROLE}@{rest.rpartition('@')[2]}")
