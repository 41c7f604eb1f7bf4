"""`threadkeep state`: get, set, watch."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, NoReturn

import typer
from rich.text import Text

from ... import AsyncClient, AsyncStateHandle, State, StateVersion
from ...errors import VersionMismatch
from ...filters import event_filter
from ...v1.session_pb2 import SessionRef
from ...v1.state_pb2 import STATE_SCOPE_APP, STATE_SCOPE_SESSION, STATE_SCOPE_USER
from ...v1.subscription_pb2 import Change
from ...values.changes import Change as Watched
from ..errors import CliError, Exit
from ..options import Address, AsOfVersion, Json, Token, cli_of, ref_of, usage
from ..render.changes import change_json
from ..render.output import Listing, console, excerpt, plain, print_json, room, table
from ..render.states import state_json
from .watch import Start, Tail, Whose

_NO_EVENTS = 1
"""The seq before which there is no event: a subscription with it delivers what changes state, and no event."""

state_app = typer.Typer(help="Read, set and follow the state of sessions, users and apps.", no_args_is_help=True)


class Scope(StrEnum):
    """Whose state it is."""

    SESSION = "session"
    USER = "user"
    APP = "app"


_NUMBERS = {Scope.SESSION: STATE_SCOPE_SESSION, Scope.USER: STATE_SCOPE_USER, Scope.APP: STATE_SCOPE_APP}

Session = Annotated[str, typer.Option("--session", help="The session whose state it is.")]
User = Annotated[str, typer.Option("--user", help="The user whose state it is; with --session, who owns the session.")]
App = Annotated[str | None, typer.Option("--app", help="The app whose state it is; or that of the session or user.")]
ScopeOption = Annotated[
    Scope | None,
    typer.Option("--scope", help="Whose state (default the session's if --session is given, else the user's, else the app's)."),
]
ExpectedVersion = Annotated[
    int | None, typer.Option(min=0, help="Only if the state has this version; 0: only if nothing was ever set.")
]


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose state the options name."""

    scope: Scope
    ref: SessionRef

    def handle(self, client: AsyncClient) -> AsyncStateHandle:
        if self.scope is Scope.SESSION:
            return client.session(self.ref).state()
        return (
            client.user_state(self.ref.user_id, app=self.ref.app)
            if self.scope is Scope.USER
            else client.app_state(self.ref.app)
        )

    def __str__(self) -> str:
        ref = self.ref
        names = {Scope.SESSION: ref.session_id, Scope.USER: ref.user_id, Scope.APP: ref.app}
        return f"the state of {self.scope.value} {plain(names[self.scope])}".rstrip()


@state_app.command("get")
def get_state(
    ctx: typer.Context,
    keys: Annotated[list[str] | None, typer.Argument(metavar="[KEY]...", help="The keys (default all).")] = None,
    session: Session = "",
    user: User = "",
    app: App = None,
    scope: ScopeOption = None,
    prefix: Annotated[str, typer.Option("--key-prefix", help="Only keys that begin so.")] = "",
    as_of_version: AsOfVersion = None,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Print values by key, and the version. With --json, one object. Exit code 3 if a KEY has no value; the others are printed.

    Long values are cut to fit the line; --json prints them whole.
    """
    cli = cli_of(ctx, address, token, json)
    owner = _owner(session, user, app, scope)
    if keys and prefix:
        raise usage("give either KEY or --key-prefix")
    if as_of_version is not None and owner.scope is not Scope.SESSION:
        raise usage("--as-of-version is for the state of a session; of users and apps only the present is kept")

    async def found(client: AsyncClient) -> State:
        return await owner.handle(client).get(keys or (), key_prefix=prefix, as_of_log_version=as_of_version)

    state = cli.call(found)
    if cli.json:
        sys.stdout.write(state_json(owner.scope.value, state) + "\n")
    else:
        _show(state, owner)
    missing = [key for key in keys or () if key not in state.texts]
    if missing:
        message = f"{owner} has no value for {plain(missing[0])!r}; `threadkeep state get` without a KEY prints all"
        raise CliError(message, Exit.NOT_FOUND, reason="NOT_FOUND", metadata={"keys": missing})


@state_app.command("set")
def set_state(
    ctx: typer.Context,
    values: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=JSON]...", help="Values to set, as JSON; KEY=- reads one from standard input."),
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", metavar="KEY", help="Remove this key; may be repeated.")
    ] = None,
    expected_version: ExpectedVersion = None,
    session: Session = "",
    user: User = "",
    app: App = None,
    scope: ScopeOption = None,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Set and remove values, all or none, and print the version. A text is JSON in quotes: 'seat="window"'."""
    cli = cli_of(ctx, address, token, json)
    owner = _owner(session, user, app, scope)
    texts = _values(values or [])
    if not (texts or remove):
        raise usage("set what? give KEY=JSON, or --remove KEY")

    expect = None if expected_version is None else StateVersion(expected_version)

    async def patched(client: AsyncClient) -> int:
        try:
            return await owner.handle(client).patch(set_json=texts, remove=remove or (), expect=expect)
        except VersionMismatch as error:
            _changed(owner, error)

    version = cli.call(patched)
    if cli.json:
        print_json({"scope": owner.scope.value, "version": version})
    else:
        print(f"{owner} is at version {version:,}")


@state_app.command("watch")
def watch_state(
    ctx: typer.Context,
    session: Session = "",
    user: User = "",
    app: App = None,
    scope: ScopeOption = None,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="From the beginning, as far as it is retained.")
    ] = False,
    resume_token: Annotated[str, typer.Option(metavar="TOKEN", help="Resume after the change of this token.")] = "",
    count: Annotated[int, typer.Option(min=0, help="End after this number of changes; 0: never.")] = 0,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Follow the state of a session, a user or an app until Ctrl-C. With --json, one change per line.

    Also what appends change. After an outage of the server it resumes: each change is shown once, in order.
    """
    cli = cli_of(ctx, address, token, json)
    owner = _owner(session, user, app, scope)
    if from_beginning and resume_token:
        raise usage("give at most one of --from-beginning and --resume-token")
    one = owner.ref if owner.scope is Scope.SESSION else None
    whose = Whose(one, user, app, {})
    start = Start(from_beginning=True) if from_beginning else Start()
    tail = Tail(_print_change if cli.json else whose.lines().show, console(to_stderr=True), resume_token or None)

    async def followed(client: AsyncClient) -> None:
        def begin(reached: str | None) -> AsyncGenerator[Watched]:
            at = start if reached is None else Start(resume_token=reached)
            return _of_state(whose.watch(client, event_filter(before_seq=_NO_EVENTS), at), owner.scope)

        await tail.follow(begin, count)

    try:
        cli.call(followed)
    except KeyboardInterrupt:
        if not cli.json:
            tail.print_token()


async def _of_state(changes: AsyncGenerator[Watched], scope: Scope) -> AsyncGenerator[Watched]:
    """The changes of state in this scope, and the checkpoints."""
    async with aclosing(changes):
        async for change in changes:
            kind = change.pb.WhichOneof("kind")
            in_append = scope is Scope.SESSION and kind == "batch" and change.pb.batch.HasField("state")
            alone = kind == "state" and change.pb.state.scope == _NUMBERS[scope]
            if kind == "checkpoint" or in_append or alone:
                yield change


def _owner(session: str, user: str, app: str | None, scope: Scope | None) -> Owner:
    """Raises CliError for options that do not go together. A name that a credential implies may be missing."""
    chosen = scope or (Scope.SESSION if session else Scope.USER if user else Scope.APP if app is not None else None)
    if chosen is None:
        raise usage("whose state? give --session, --user or --app")
    if chosen is Scope.SESSION:
        if not session:
            raise usage("--scope session needs --session")
        return Owner(chosen, ref_of(session, user, app))
    if session:
        raise usage(f"--session and --scope {chosen.value} do not go together; leave out --session")
    if chosen is Scope.APP and user:
        raise usage("--user and --scope app do not go together; leave out --user")
    return Owner(chosen, SessionRef(app=app or "", user_id=user))


def _values(given: list[str]) -> dict[str, str]:
    """The JSON texts of KEY=JSON arguments, verbatim."""
    found: dict[str, str] = {}
    for each in given:
        key, equals, text = each.partition("=")
        if not equals or not key:
            raise usage(f"a value is KEY=JSON, not {each!r}")
        if key in found:
            raise usage(f"{key!r} is set twice; set it once")
        found[key] = _json(key, sys.stdin.read() if text == "-" else text)
    if sum(each.endswith("=-") for each in given) > 1:
        raise usage("standard input has one value: give KEY=- once")
    return found


def _json(key: str, text: str) -> str:
    try:
        json_module.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise usage(f"the value of {key!r} is not JSON; a text needs quotes, as in '{plain(key)}=\"window\"'") from None
    return text.strip()


def _no_constant(name: str) -> NoReturn:
    """JSON has no NaN and no Infinity."""
    raise ValueError(name)


def _changed(owner: Owner, error: VersionMismatch) -> NoReturn:
    message = f"{owner} is at version {error.actual}, not {error.expected}; `threadkeep state get` prints it, then set it again"
    raise CliError(message, reason=error.reason, metadata=error.metadata) from error


def _show(state: State, owner: Owner) -> None:
    def row(made: Any, item: tuple[str, str]) -> None:
        made.add_row(Text(plain(item[0])), excerpt(item[1], width=room()))

    listing: Listing[tuple[str, str]] = Listing(
        None, lambda: table("key", "value", ids=("key",), rest="value"), row, f"{owner} has no values"
    )
    for item in state.texts.items():
        listing.add(item)
    listing.end()
    print(f"version {state.version:,}", file=sys.stderr)


def _print_change(change: Change) -> None:
    print_json(change_json(change))
    sys.stdout.flush()
