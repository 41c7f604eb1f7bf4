"""`threadkeep import` and `threadkeep export`."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from ... import AsyncClient
from ...errors import PermissionDenied
from ...v1 import session_pb2
from ...v1.state_pb2 import StateScope
from ..errors import CliError, Exit, counted, from_server
from ..exporter import Exported, Exporter, destination
from ..formats import FileReader, Item, Malformed, Origin, ReadOptions, UnknownFormat
from ..importer import Importer
from ..options import Address, AllUsers, App, Cli, Json, Token, User, check_users, cli_of, ref_of, usage
from ..progress import Meter, meter
from ..render.output import print_json
from ..session_writer import Problem, Tally

_READ_COLUMNS = 20  # problems shown one by one


class ImportFormat(StrEnum):
    """The formats that `import` reads."""

    AUTO = "auto"
    THREADKEEP = "threadkeep"
    OPENAI = "openai"
    TAU_BENCH = "tau-bench"
    SGD = "sgd"


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
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files to read; - is standard input.")],
    form: Annotated[ImportFormat, typer.Option("--format", help="The files' format.")] = ImportFormat.AUTO,
    prefix: Annotated[str, typer.Option(help="Prefix of the ids of new sessions (default the file's name).")] = "",
    user: Annotated[str, typer.Option("--user", help="Owner of the sessions (default the file's, else import).")] = "",
    app: Annotated[str, typer.Option("--app", help="Application of the sessions.")] = "",
    never_expires: Annotated[bool, typer.Option("--never-expires", help="The sessions never expire.")] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="Keep the appends of an export, for reads as of a moment. Slower.")
    ] = False,
    on_error: Annotated[OnError, typer.Option(help="Stop at a record that cannot be imported, or skip it.")] = OnError.STOP,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Import conversations: Threadkeep's own export, OpenAI chat messages, tau-bench runs, SGD dialogues.

    A repeated import adds nothing; after an interruption or an error it continues.
    """
    cli = cli_of(ctx, address, token, json)
    if prefix and len(files) > 1:
        raise usage("--prefix names the sessions of one file; import the files one by one")
    if len(set(files)) < len(files):
        raise usage("a file is named twice; name each once")
    options = ReadOptions(prefix=prefix, user_id=user, app=app, never_expires=never_expires)
    began = time.monotonic()
    with meter("importing", quiet=cli.json) as gauge:
        inputs = _Inputs(files, None if form is ImportFormat.AUTO else form.value, options)

        async def work(client: AsyncClient) -> Tally:
            show = lambda tally: inputs.show(gauge, tally)  # noqa: E731
            importer = Importer(client, skip=on_error is OnError.SKIP, exact=exact, advance=show)
            return await importer.run(inputs)

        try:
            tally = cli.call(work)
        except KeyboardInterrupt:
            message = "interrupted; sent events stay, and another import continues"
            raise CliError(message, Exit.INTERRUPTED, reason="INTERRUPTED") from None
    seconds = time.monotonic() - began
    _tell_import(cli, tally, seconds, len(files))
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


class _Inputs:
    """The files, one after the other, and the progress."""

    def __init__(self, files: list[Path], form: str | None, options: ReadOptions) -> None:
        self._files = files
        self._form = form
        self._options = options
        self._read = 0
        self._reader: FileReader | None = None
        self._total: int | None = sum(each.stat().st_size for each in files if str(each) != "-")
        if any(str(each) == "-" for each in files):
            self._total = None

    def __iter__(self) -> Iterator[Iterator[Item]]:
        for path in self._files:
            yield self._items(path)

    def show(self, gauge: Meter, tally: Tally) -> None:
        """Updates the meter."""
        read = self._read + (self._reader.bytes_read if self._reader else 0)
        gauge.at(
            tally.sessions_created + tally.sessions_found, tally.events_added + tally.events_found, read, self._total or None
        )

    def _items(self, path: Path) -> Iterator[Item]:
        stdin = str(path) == "-"
        name = "standard input" if stdin else str(path)
        options = ReadOptions(
            prefix=self._options.prefix or ("stdin" if stdin else path.name.partition(".")[0] or path.name),
            user_id=self._options.user_id,
            app=self._options.app,
            never_expires=self._options.never_expires,
        )
        with _opened(path, stdin) as stream:
            self._reader = FileReader(stream, name, options, self._form)
            try:
                yield from self._reader
            except UnknownFormat as error:
                yield Malformed(Origin(name, 1, 1), "", f"{error}; --format names one", fatal=True)
            self._read += self._reader.bytes_read
            self._reader = None


def _opened(path: Path, stdin: bool) -> contextlib.AbstractContextManager[BinaryIO]:
    return contextlib.nullcontext(sys.stdin.buffer) if stdin else path.open("rb")


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
    lost: Callable[[Problem], bool] = lambda each: each.error is not None and each.reason in ("", "UNAVAILABLE")  # noqa: E731
    if any(lost(each) for each in tally.problems):
        gone = next(each.error for each in tally.problems if lost(each))
        raise from_server(gone) if gone else CliError(first.text)
    metadata = _problem_json(first)
    if stopped or len(tally.problems) == 1:
        after = "what precedes it is imported; mend the file and import it again"
        skip = "" if first.fatal or not stopped else ", or skip this with --on-error skip"
        raise CliError(f"{_problem_text(first)}; {after}{skip}", reason=first.reason, metadata=metadata)
    for each in tally.problems[:_READ_COLUMNS]:
        print(f"skipped: {_problem_text(each)}", file=sys.stderr)
    more = len(tally.problems) - _READ_COLUMNS
    shown = f" ({more:,} more not shown)" if more > 0 else ""
    skipped = counted(len(tally.problems), "record")
    raise CliError(f"{skipped} could not be imported{shown}; the rest is in", reason=first.reason, metadata=metadata)


def _problem_text(problem: Problem) -> str:
    field = f", field {problem.field}" if problem.field else ""
    return f"{problem.origin}{field}: {problem.text}"


def _problem_json(problem: Problem) -> dict[str, object]:
    origin = problem.origin
    return {
        "file": origin.source,
        "record": origin.record,
        "line": origin.line,
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
