"""What credentials cost: calls with a token, with a JWT, and with a new JWT each, compared with calls without one."""

import contextlib
import json
from collections.abc import Iterator
from functools import partial

from tests.bench.harness import Bench, Result, Server
from tests.bench.lines.appends import SESSIONS
from tests.bench.lines.base import compared
from tests.bench.report import Line, at_least, medians
from tests.support.servers.oidc_issuer import AUDIENCE, OidcIssuer, oidc_issuer

TOKEN = "token-of-the-benchmark"
FRESH = 20_000
"""JWTs that are sent once each; more than the calls of a measurement."""
MOST_SLOWER = 0.95


def auth(bench: Bench, engine: str) -> list[Line]:
    """The same appends, reads of the last 50 events and contexts of 50, 64 in flight, to servers that differ in what they
    demand."""
    with contextlib.ExitStack() as stack:
        issuer = stack.enter_context(oidc_issuer())
        demands = {
            "none": {},
            "token": {"THREADKEEP_AUTH_TOKENS": json.dumps({TOKEN: {"tenant": "acme"}})},
            "jwt": {"THREADKEEP_JWT_ISSUER": issuer.url, "THREADKEEP_JWT_AUDIENCE": AUDIENCE},
        }
        servers = {name: stack.enter_context(_server(bench, engine, env)) for name, env in demands.items()}
        credentials = {"none": [""], "token": [TOKEN], "jwt": [issuer.token(sub="u000")]}
        for name, server in servers.items():
            bench.driver.run("create", target=server.target, sessions=_NAMES, token=credentials[name][0])
        fresh = bench.root / "fresh.json"

        def measured(op: str, name: str) -> Result:
            fresh.write_text(json.dumps(_fresh(issuer) if name == "fresh" else credentials[name]))
            server = servers["jwt" if name == "fresh" else name]
            return bench.measure(server, op, sessions=_NAMES, tokens=str(fresh))

        # The appends come first: they store the events that the others read.
        return [
            line
            for op, text in _OPS.items()
            for line in _lines(
                engine,
                text,
                bench.interleave(
                    f"{text} with credentials on {engine}",
                    {name: partial(measured, op, name) for name in (*demands, *(["fresh"] if op == "append" else []))},
                ),
            )
        ]


_OPS = {"append": "append", "last": "last 50", "context": "context of 50"}
_TARGETS = {
    "token": ("with a token", at_least(MOST_SLOWER)),
    "jwt": ("with a JWT that was seen before", at_least(MOST_SLOWER)),
    "fresh": ("with a new JWT each", None),
}


def _lines(engine: str, text: str, results: dict[str, list[Result]]) -> list[Line]:
    base = results.pop("none")
    lines = []
    for name, found in results.items():
        credential, target = _TARGETS[name]
        cost = (medians(found)["cpu"] - medians(base)["cpu"]) * 1e6
        note = f"{cost:+,.0f} µs of CPU per call"
        lines.append(compared("auth", engine, f"{text} {credential} ÷ without", "rate", found, base, target, note))
    return lines


_NAMES = [f"s{number:05d}" for number in range(SESSIONS)]


@contextlib.contextmanager
def _server(bench: Bench, engine: str, env: dict[str, str]) -> Iterator[Server]:
    with bench.database(engine) as database, bench.started(database, env=env) as server:
        yield server


def _fresh(issuer: OidcIssuer) -> list[str]:
    return [issuer.token(sub="u000", jti=str(number)) for number in range(FRESH)]
