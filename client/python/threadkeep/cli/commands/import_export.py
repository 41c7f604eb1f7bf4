"""`threadkeep import` and `threadkeep export`."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from grpc import StatusCode

from ... import AsyncClient
from ...errors import PermissionDenied
from ...v1 import session_pb2
from ...v1.state_pb2 import StateScope
from ..errors import CliError, Exit, counted, from_server
from ..exporter import Exported, Exporter, destination
from ..formats import ReadOptions
from ..importer import Importer
from ..options import Address, AllUsers, App, Cli, Json, Token, User, check_users, cli_of, ref_of, usage
from ..progress import Meter, meter
from ..render.output import print_json
from ..session_writer import Problem, Tally
from ..sources import Inputs, opened

_READ_COLUMNS = 20  # problems shown one by one


class ImportFormat(StrEnum):
    """The formats that `import` reads."""

    AUTO = "auto"
    THREADKEEP = "threadkeep"
    OPENAI = "openai"
    TAU_BENCH = "tau-bench"
    SGD = "sgd"
    ADK = "adk"
    OPENAI_AGENTS = "openai-agents"
    LANGGRAPH = "langgraph"
    CLAUDE = "claude"


class ExportFormat(StrEnum):
    """The formats that `export` writes."""

    THREADKEEP = "threadkeep"
    OPENAI = "openai"


class OnError(StrEnum):
    """The handling of a record that cannot be imported."""

    STOP = "stop"
    SKIP = "skip"


def import_files(
    ctx: typer.Context,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="Files; folders of Claude Code's transcripts; files of SQLite; postgresql:// addresses; - is standard input.",
        ),
    ],
    form: Annotated[
        ImportFormat, typer.Option("--format", help="The sources' format; of a database, what to read of it.")
    ] = ImportFormat.AUTO,
    prefix: Annotated[
        str,
        typer.Option(help="Prefix of the ids of new sessions (default the file's name; none for databases and transcripts)."),
    ] = "",
    user: Annotated[str, typer.Option("--user", help="Owner of the sessions (default the source's, else import).")] = "",
    app: Annotated[str, typer.Option("--app", help="Application of the sessions (default the source's).")] = "",
    never_expires: Annotated[bool, typer.Option("--never-expires", help="The sessions never expire.")] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="Keep the appends of an export, for reads as of a moment. Slower.")
    ] = False,
    replace_state: Annotated[
        bool, typer.Option("--replace-state", help="State of a database replaces other values on the server.")
    ] = False,
    on_error: Annotated[OnError, typer.Option(help="Stop at a record that cannot be imported, or skip it.")] = OnError.STOP,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Import conversations: Threadkeep's own export, OpenAI chat messages, tau-bench runs, SGD dialogues; from their databases
    sessions of Google ADK, the OpenAI Agents SDK and LangGraph; transcripts of Claude Code, such as ~/.claude/projects.

    A repeated import adds nothing; after an interruption or an error it continues.
    """
    cli = cli_of(ctx, address, token, json)
    if prefix and len(sources) > 1:
        raise usage("--prefix names the sessions of one source; import the sources one by one")
    if len(set(sources)) < len(sources):
        raise usage("a source is named twice; name each once")
    options = ReadOptions(prefix=prefix, user_id=user, app=app, never_expires=never_expires, replace_state=replace_state)
    began = time.monotonic()
    with meter("importing", quiet=cli.json) as gauge:
        inputs = Inputs(opened(each, None if form is ImportFormat.AUTO else form.value, options) for each in sources)
        show = partial(_show, gauge, inputs)

        async def work(client: AsyncClient) -> Tally:
            return await Importer(client, skip=on_error is OnError.SKIP, exact=exact, advance=show).run(inputs)

        try:
            tally = cli.call(work)
        except KeyboardInterrupt:
            message = "interrupted; sent events stay, and another import continues"
            raise CliError(message, Exit.INTERRUPTED, reason="INTERRUPTED") from None
    seconds = time.monotonic() - began
    _tell_import(cli, tally, seconds, len(sources))
    _raise_for(cli, tally, stopped=on_error is OnError.STOP)


def export_sessions(
    ctx: typer.Context,
    sessions: Annotated[list[str] | None, typer.Option("--session", help="Only this session; may be repeated.")] = None,
    user: User = "",
    all_users: AllUsers = False,
    app: App = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write (default standard output).")
    ] = None,
    form: Annotated[ExportFormat, typer.Option("--format", help="The file's format.")] = ExportFormat.THREADKEEP,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Export sessions: all, one user's or one app's, or those named. A file gets its name once it is complete."""
    cli = cli_of(ctx, address, token, json)
    check_users(user, all_users)
    if cli.json and output is None:
        raise usage("--json writes the summary to standard output; name a file for the export with -o")
    began = time.monotonic()

    async def work(client: AsyncClient) -> Exported:
        async def chosen() -> AsyncIterator[session_pb2.Session]:
            if sessions:
                for each in sessions:
                    yield await client.get_session(ref_of(each, user, app))
            else:
                async for session in client.sessions(user_id=user or None, any_user=not user, app=app, page_size=500):
                    yield session

        everything = not sessions and not user and app is None
        total = await _total(client) if everything else None
        exporter = Exporter(
            client,
            out,
            form.value,
            lambda done: gauge.at(done.sessions, done.events, done.events, total or None),
            shared=_shared(bool(sessions), user),
        )
        return await exporter.run(chosen())

    with destination(output) as out, meter("exporting", quiet=cli.json) as gauge:
        done = cli.call(work)
    _tell_export(cli, done, time.monotonic() - began, output)


def _shared(chosen: bool, user: str) -> frozenset[StateScope.ValueType]:
    """Returns whose state an export has next to that of its sessions: an app's belongs to all of its users."""
    scopes = {StateScope.STATE_SCOPE_USER} | (set() if user else {StateScope.STATE_SCOPE_APP})
    return frozenset() if chosen else frozenset(scopes)


async def _total(client: AsyncClient) -> int | None:
    """Returns the number of events that an export of everything has; None if the token is bound to a user, who may not know."""
    try:
        return (await client.info(totals=True)).total_events
    except PermissionDenied:
        return None


def _show(gauge: Meter, inputs: Inputs, tally: Tally) -> None:
    read, total = inputs.progress()
    gauge.at(tally.sessions_created + tally.sessions_found, tally.events_added + tally.events_found, read, total or None)


def _tell_import(cli: Cli, tally: Tally, seconds: float, files: int) -> None:
    events = tally.events_added + tally.events_found
    rate = events / max(seconds, 1e-9)
    if cli.json:
        print_json(
            {
                "files": files,
                "sessions": tally.sessions_created + tally.sessions_found,
                "sessions_created": tally.sessions_created,
                "sessions_already_there": tally.sessions_found,
                "sessions_renewed": tally.sessions_renewed,
                "events": events,
                "events_added": tally.events_added,
                "events_already_there": tally.events_found,
                "states_set": tally.states_set,
                "states_kept": tally.states_kept,
                "states_different": tally.states_different,
                "problems": [_problem_json(each) for each in tally.problems],
                "seconds": round(seconds, 3),
                "events_per_second": round(rate, 1),
            }
        )
        return
    print(f"events: {tally.events_added:,} added, {tally.events_found:,} already there")
    print(f"sessions: {tally.sessions_created:,} created, {tally.sessions_found:,} already there")
    if tally.states_set or tally.states_kept:
        print(f"states: {tally.states_set:,} set, {tally.states_kept:,} already there")
    print(f"{seconds:.1f} s, {rate:,.0f} events/s")
    if tally.states_different:
        what = f"{counted(tally.states_different, 'state')} on the server had other values"
        print(f"note: {what}, which stayed; --replace-state replaces those of a database", file=sys.stderr)
    if tally.sessions_renewed:
        print(
            f"note: {counted(tally.sessions_renewed, 'session')} had expired and got the server's default expiry",
            file=sys.stderr,
        )


def _raise_for(cli: Cli, tally: Tally, *, stopped: bool) -> None:
    """Prints the problems; the first one determines the exit code."""
    if not tally.problems:
        return
    first = tally.problems[0]
    lost = next((each.error for each in tally.problems if _is_of_connection(each)), None)
    if lost is not None:
        raise from_server(lost)
    metadata = _problem_json(first)
    if stopped or len(tally.problems) == 1:
        after = "what precedes it is imported; correct it and import again"
        skip = "" if first.fatal or not stopped else ", or skip this with --on-error skip"
        raise CliError(f"{_problem_text(first)}; {after}{skip}", reason=first.reason, metadata=metadata)
    for each in tally.problems[:_READ_COLUMNS]:
        print(f"skipped: {_problem_text(each)}", file=sys.stderr)
    more = len(tally.problems) - _READ_COLUMNS
    shown = f" ({more:,} more not shown)" if more > 0 else ""
    skipped = counted(len(tally.problems), "record")
    raise CliError(f"{skipped} could not be imported{shown}; the rest is in", reason=first.reason, metadata=metadata)


def _is_of_connection(problem: Problem) -> bool:
    """Whether the error is not of the record: one without a reason is gRPC's, and of these only a refused size is."""
    error = problem.error
    return error is not None and error.reason in ("", "UNAVAILABLE") and error.code is not StatusCode.RESOURCE_EXHAUSTED


def _problem_text(problem: Problem) -> str:
    field = f", field {problem.field}" if problem.field else ""
    return f"{problem.origin}{field}: {problem.text}"


def _problem_json(problem: Problem) -> dict[str, object]:
    origin = problem.origin
    return {
        "file": origin.source,
        "record": origin.record,
        "line": origin.line,
        "table": origin.table,
        "row": origin.row,
        "field": problem.field,
        "problem": problem.text,
        "reason": problem.reason,
    }


def _tell_export(cli: Cli, done: Exported, seconds: float, output: Path | None) -> None:
    for each in done.changed[:_READ_COLUMNS]:
        print(f"note: session {each} was deleted or changed while it was read", file=sys.stderr)
    if cli.json:
        print_json(
            {
                "file": str(output),
                "sessions": done.sessions,
                "events": done.events,
                "sessions_changed": len(done.changed),
                "seconds": round(seconds, 3),
                "events_per_second": round(done.events / max(seconds, 1e-9), 1),
            }
        )
    elif output is not None:
        print(f"{counted(done.sessions, 'session')} and {counted(done.events, 'event')} in {output}, {seconds:.1f} s")
    else:
        print(f"{counted(done.sessions, 'session')} and {counted(done.events, 'event')}, {seconds:.1f} s", file=sys.stderr)
