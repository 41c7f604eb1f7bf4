"""The command and its options."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
import sys
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

import typer

from .... import AsyncClient
from ...._address import endpoint
from ...errors import CliError, Exit, counted
from ...options import Address, Cli, Json, Token, cli_of, usage
from ...search_options import duration_of
from . import report
from .pace import Stop
from .plan import LABEL, Plan
from .run import Result, Run

_SETTLE = 30.0
"""Seconds that watchers have, after the load, for what was acknowledged."""
_INTERVAL = {True: 1.0, False: 10.0}
"""Seconds between two reports, on a terminal and elsewhere."""


class Watch(StrEnum):
    """What a watcher follows."""

    RUN = "run"
    SESSION = "session"


def bench(
    ctx: typer.Context,
    sessions: Annotated[int, typer.Option(min=1, max=1_000_000, help="Sessions to append to.")] = 100,
    writers: Annotated[int, typer.Option(min=1, max=10_000, help="Appends in flight.")] = 10,
    watchers: Annotated[int, typer.Option(min=0, max=10_000, help="Subscriptions; they check what is delivered.")] = 1,
    watch: Annotated[Watch, typer.Option(help="What a watcher follows: all of the run, or one session.")] = Watch.RUN,
    readers: Annotated[int, typer.Option(min=0, max=10_000, help="Reads of contexts and pages in flight.")] = 0,
    searchers: Annotated[int, typer.Option(min=0, max=10_000, help="Ranked searches in flight.")] = 0,
    duration: Annotated[str, typer.Option(metavar="DURATION", help="How long: 60s, 10m, 2h.")] = "60s",
    rate: Annotated[float, typer.Option(min=0, help="Calls per second of each kind, in sum; 0: as many as possible.")] = 0,
    batch: Annotated[int, typer.Option(min=1, max=1000, help="Events in one append.")] = 1,
    event_size: Annotated[int, typer.Option(min=1, max=1_000_000, help="Characters of text in an event.")] = 200,
    app: Annotated[str, typer.Option("--app", help="The application of the sessions.")] = "threadkeep-bench",
    user: Annotated[str, typer.Option("--user", help="The user who owns the sessions.")] = "bench",
    seed: Annotated[int, typer.Option(help="Selects the texts and the order of sessions.")] = 0,
    interval: Annotated[str, typer.Option(metavar="DURATION", help="Between two reports (default 1s on a terminal).")] = "",
    keep: Annotated[bool, typer.Option("--keep", help="Keep the sessions.")] = False,
    allow_remote: Annotated[bool, typer.Option("--allow-remote", help="Load a server on another machine.")] = False,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Load a running server and measure it: latencies by operation, rates, errors, and whether anything was lost.

    Each writer, reader and searcher makes its next call when the last one has ended, or at --rate; then a latency counts from
    the time at which the call was due. The watchers compare what they receive with what was acknowledged: each event once and
    in order; "deliver" is the time from the send of an event to a watcher. The sessions are deleted at the end, also
    after Ctrl-C. Exits 1 if an event was lost, duplicated or out of order, or none was stored.
    """
    cli = cli_of(ctx, address, token, json)
    _check_target(cli, allow_remote)
    plan = Plan(
        run=secrets.token_hex(4),
        app=app,
        user=user,
        sessions=sessions,
        writers=writers,
        watchers=watchers,
        by_session=watch is Watch.SESSION,
        readers=readers,
        searchers=searchers,
        seconds=duration_of(duration, "--duration").total_seconds(),
        rate=rate,
        batch=batch,
        event_bytes=event_size,
        seed=seed,
        settle=_SETTLE,
    )
    every = duration_of(interval, "--interval").total_seconds() if interval else _INTERVAL[sys.stderr.isatty()]
    result, interrupted = _run(cli, plan, every, keep=keep, intervals=bool(interval))
    report.show(result, as_json=cli.json)
    _note_sessions(result, keep=keep)
    _fail_for(result, interrupted)


def _check_target(cli: Cli, allow_remote: bool) -> None:
    if not endpoint(cli.address).is_local and not allow_remote:
        raise usage(
            f"bench loads a server as much as it can, and {cli.server} is another machine; "
            "give --allow-remote if nobody depends on it now"
        )


def _run(cli: Cli, plan: Plan, interval: float, *, keep: bool, intervals: bool) -> tuple[Result, bool]:
    """Returns the result, and whether Ctrl-C ended the load."""

    async def run(calls: AsyncClient) -> tuple[Result, bool]:
        stop = Stop()
        async with cli.client() as streams:
            with report.progress(plan, as_json=cli.json) as shown, _stopped_by_signals(stop) as signaled:
                ignored = cli.json and not intervals
                result = await Run(plan, calls, streams, stop, keep=keep).go(interval, _nothing if ignored else shown)
        return result, bool(signaled)

    try:
        return cli.call(run)
    except asyncio.CancelledError:  # a second Ctrl-C
        raise KeyboardInterrupt from None


def _nothing(*_: object) -> None:
    pass


@contextlib.contextmanager
def _stopped_by_signals(stop: Stop) -> Iterator[list[int]]:
    """The first SIGINT or SIGTERM ends the load, the second the run. Yields the signals so far."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    signaled: list[int] = []

    def on(number: int) -> None:
        if (stop.is_set or signaled) and task is not None:
            task.cancel()
        signaled.append(number)
        stop.set()

    handled = []
    for number in (signal.SIGINT, signal.SIGTERM):
        # Not on Windows and not outside the main thread: there Ctrl-C cancels the run, which deletes its sessions.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, on, number)
            handled.append(number)
    try:
        yield signaled
    finally:
        for number in handled:
            loop.remove_signal_handler(number)


def _note_sessions(result: Result, *, keep: bool) -> None:
    plan = result.plan
    listed = f"threadkeep sessions list --user {plan.user} --app {plan.app} --label {LABEL}={plan.run}"
    if keep:
        print(f"kept {counted(plan.sessions, 'session')}: `{listed}`", file=sys.stderr)
    elif result.remaining:
        print(f"{counted(result.remaining, 'session')} could not be deleted and will expire: `{listed}`", file=sys.stderr)


def _fail_for(result: Result, interrupted: bool) -> None:
    found = result.findings
    if not found.exact:
        raise CliError("what was delivered is not what was acknowledged", reason="EVENTS_LOST", metadata=found.as_dict())
    if interrupted:
        raise KeyboardInterrupt
    if result.failure is not None:
        raise CliError(f"the sessions could not be compared: {result.failure.message}", Exit.UNAVAILABLE, reason="NOT_COMPARED")
    if not found.acknowledged:
        raise CliError("no append succeeded", reason="NOTHING_STORED")
