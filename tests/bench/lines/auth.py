"""What credentials cost: calls with a token, with a JWT, and with a new JWT each, compared with calls without one."""

import contextlib
import json
from collections.abc import Iterator

from tests.bench.harness import Bench, Result, Server
from tests.bench.lines.appends import SESSIONS
from tests.bench.lines.base import compared
from tests.bench.report import Line, at_least, medians
from tests.support.servers.oidc_issuer import AUDIENCE, OidcIssuer, oidc_issuer

TOKEN = "token-of-the-benchmark"
FRESH = 20_000
"""JWTs that are sent once each; more than the calls of a measurement."""
MOST_SLOWER = 0.95
# Two measurements of one server differ by a tenth, hence many short ones in turn. What the control differs by is noise.
SLICES = 24


def auth(bench: Bench, engine: str) -> list[Line]:
    """The same appends, reads of the last 50 events and contexts of 50, 64 in flight, to servers that differ in what they
    demand."""
    results: dict[str, dict[str, list[Result]]] = {}
    with oidc_issuer() as issuer:
        for number in range(bench.scale.rounds):
            bench.say(f"credentials on {engine} · round {number + 1} of {bench.scale.rounds}")
            for op, name, result in _round(bench, engine, issuer):
                results.setdefault(op, {}).setdefault(name, []).append(result)
    return [line for op, text in _OPS.items() for line in _lines(engine, text, results[op])]


def _round(bench: Bench, engine: str, issuer: OidcIssuer) -> Iterator[tuple[str, str, Result]]:
    """Measures new servers in turn, each as often the first as the last."""
    demands = {
        "none": {},
        "control": {},
        "token": {"THREADKEEP_AUTH_TOKENS": json.dumps({TOKEN: {"tenant": "acme"}})},
        "jwt": {"THREADKEEP_JWT_ISSUER": issuer.url, "THREADKEEP_JWT_AUDIENCE": AUDIENCE},
    }
    credentials = {"none": [""], "control": [""], "token": [TOKEN], "jwt": [issuer.token(sub="u000")], "fresh": _fresh(issuer)}
    files = {name: bench.root / f"{name}.json" for name in credentials}
    for name, tokens in credentials.items():
        files[name].write_text(json.dumps(tokens))
    time = {"seconds": bench.scale.seconds / 4, "warmup": bench.scale.warmup / 4}
    with contextlib.ExitStack() as stack:
        servers = {name: stack.enter_context(_server(bench, engine, env)) for name, env in demands.items()}
        for name, server in servers.items():
            bench.driver.run("create", target=server.target, sessions=_NAMES, token=credentials[name][0])
        sent = {name: (server, files[name]) for name, server in servers.items()}
        sent["ignored"] = servers["none"], files["token"]
        # The appends come first: they store the events that the others read.
        for op in _OPS:
            for number in range(SLICES):
                for name in _turned(list(sent), number):
                    server, file = sent[name]
                    yield op, name, bench.measure(server, op, sessions=_NAMES, tokens=str(file), **time)
        yield "append", "fresh", bench.measure(servers["jwt"], "append", sessions=_NAMES, tokens=str(files["fresh"]), **time)
        for server in servers.values():
            bench.driver.run("forget", target=server.target)


def _turned(names: list[str], number: int) -> list[str]:
    first = number % len(names)
    return names[first:] + names[:first]


_OPS = {"append": "append", "last": "last 50", "context": "context of 50"}
_TARGETS = {
    "control": ("without one, by another server", None),
    # What sending the header costs, most of it the load generator's.
    "ignored": ("with a token that the server does not read", None),
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
        beside = base[:: len(base) // len(found)]
        lines.append(compared("auth", engine, f"{text} {credential} ÷ without", "rate", found, beside, target, note))
    return lines


_NAMES = [f"s{number:05d}" for number in range(SESSIONS)]


@contextlib.contextmanager
def _server(bench: Bench, engine: str, env: dict[str, str]) -> Iterator[Server]:
    with bench.database(engine) as database, bench.started(database, env=env) as server:
        yield server


def _fresh(issuer: OidcIssuer) -> list[str]:
    return [issuer.token(sub="u000", jti=str(number)) for number in range(FRESH)]
