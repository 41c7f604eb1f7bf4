"""What credentials cost: appends with a token, with a JWT, and with a new JWT each, compared with appends without one."""

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
    """The same appends, 64 in flight, to servers that differ in what they demand."""
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

        def measured(name: str) -> Result:
            fresh.write_text(json.dumps(_fresh(issuer) if name == "fresh" else credentials[name]))
            server = servers["jwt" if name == "fresh" else name]
            return bench.measure(server, "append", sessions=_NAMES, tokens=str(fresh))

        text = f"appends with credentials on {engine}"
        results = bench.interleave(text, {name: partial(measured, name) for name in (*demands, "fresh")})
    base = results["none"]
    cost = {name: (medians(found)["cpu"] - medians(base)["cpu"]) * 1e6 for name, found in results.items()}
    texts = {
        "token": ("append with a token ÷ without", at_least(MOST_SLOWER)),
        "jwt": ("append with a JWT that was seen before ÷ without", at_least(MOST_SLOWER)),
        "fresh": ("append with a new JWT each ÷ without", None),
    }
    return [
        compared("auth", engine, text, "rate", results[name], base, target, f"{cost[name]:+,.0f} µs of CPU per call")
        for name, (text, target) in texts.items()
    ]


_NAMES = [f"s{number:05d}" for number in range(SESSIONS)]


@contextlib.contextmanager
def _server(bench: Bench, engine: str, env: dict[str, str]) -> Iterator[Server]:
    with bench.database(engine) as database, bench.started(database, env=env) as server:
        yield server


def _fresh(issuer: OidcIssuer) -> list[str]:
    return [issuer.token(sub="u000", jti=str(number)) for number in range(FRESH)]
