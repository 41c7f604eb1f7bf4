"""`threadkeep policy`: when and how the server compacts automatically."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from ... import AsyncClient, AsyncPolicyHandle, compaction
from ...v1.compaction_pb2 import CompactionPolicy
from ...v1.compaction_service_pb2 import GetCompactionPolicyResponse, PolicyScope
from ..options import Address, App, Json, Token, cli_of, ref_of, usage
from ..render.output import as_json, console, facts, plain, print_json, shown_time
from ..strategy_syntax import Strategies, StrategyJson, Triggers, from_json, shown_policy, strategy_of, trigger_of

policy_app = typer.Typer(help="Manage when and how the server compacts automatically.", no_args_is_help=True)

OfSession = Annotated[str, typer.Option("--session", help="Of this session; --user and --app then complete its name.")]
OfUser = Annotated[str | None, typer.Option("--user", help="Of this user's sessions, with --app those of one app.")]
OfServer = Annotated[bool, typer.Option("--server", help="Of all sessions.")]


@policy_app.command("set")
def set_policy(
    ctx: typer.Context,
    session: OfSession = "",
    user: OfUser = None,
    app: App = None,
    server: OfServer = False,
    trigger: Triggers = None,
    strategy: Strategies = None,
    strategy_json: StrategyJson = "",
    disabled: Annotated[bool, typer.Option("--disabled", help="Never compact, even if a wider policy would.")] = False,
    json_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The policy, as JSON of CompactionPolicy; - reads standard input.")
    ] = None,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Set the policy of a session, a user, an app, or all; the narrowest that is set applies.

    For example: threadkeep policy set --app shop --trigger tokens=100000 --strategy turn-window=20
    """
    cli = cli_of(ctx, address, token, json)
    whose = _whose(session, user, app, server)
    how, when = strategy_of(strategy, strategy_json), trigger_of(trigger)
    if (json_file is not None) + disabled + (how is not None or when is not None) != 1:
        raise usage("give --trigger and --strategy, or --disabled, or --json-file")
    if json_file is not None:
        text = sys.stdin.read() if str(json_file) == "-" else json_file.read_text(encoding="utf-8")
        policy = from_json(text, CompactionPolicy(), str(json_file))
    elif disabled:
        policy = compaction.disabled()
    elif how is None or when is None:
        raise usage("a policy needs both --trigger (when) and --strategy (how)")
    else:
        policy = compaction.policy(when, how)

    async def done(client: AsyncClient) -> GetCompactionPolicyResponse:
        handle = whose(client)
        await handle.set(policy)
        return await handle.get()

    _show(cli.call(done), as_json_=cli.json)


@policy_app.command("show")
def show_policy(
    ctx: typer.Context,
    session: OfSession = "",
    user: OfUser = None,
    app: App = None,
    server: OfServer = False,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Show the policy that is set on a scope, and the one that applies there."""
    cli = cli_of(ctx, address, token, json)
    whose = _whose(session, user, app, server)

    async def got(client: AsyncClient) -> GetCompactionPolicyResponse:
        return await whose(client).get()

    _show(cli.call(got), as_json_=cli.json)


@policy_app.command("remove")
def remove_policy(
    ctx: typer.Context,
    session: OfSession = "",
    user: OfUser = None,
    app: App = None,
    server: OfServer = False,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Remove the policy of a scope; the next wider one then applies."""
    cli = cli_of(ctx, address, token, json)
    whose = _whose(session, user, app, server)

    async def done(client: AsyncClient) -> GetCompactionPolicyResponse:
        handle = whose(client)
        await handle.remove()
        return await handle.get()

    _show(cli.call(done), as_json_=cli.json)


def _whose(session: str, user: str | None, app: str | None, server: bool) -> Callable[[AsyncClient], AsyncPolicyHandle]:
    """Checks the options, and returns what makes the handle of their policy."""
    if bool(session) + (not session and (user is not None or app is not None)) + server != 1:
        raise usage("whose policy? give --session, or --user (with or without --app), or --app, or --server")
    if session:
        return lambda client: client.session(ref_of(session, user or "", app)).policy()
    if user is not None:
        return lambda client: client.user_policy(user, app=app)
    return lambda client: client.server_policy() if app is None else client.app_policy(app)


def _show(found: GetCompactionPolicyResponse, *, as_json_: bool) -> None:
    if as_json_:
        print_json(as_json(found))
        return
    applies = found.HasField("effective_policy")
    rows = [
        ("set here", shown_policy(found.policy) if found.HasField("policy") else "nothing"),
        ("since", shown_time(found.update_time)),
        ("applies", shown_policy(found.effective_policy) if applies else "nothing: the server does not compact by itself"),
        ("set on", _shown_scope(found.effective_scope) if applies else ""),
    ]
    console().print(facts([(name, plain(value)) for name, value in rows if value]))


def _shown_scope(scope: PolicyScope) -> str:
    kind = scope.WhichOneof("kind")
    if kind == "session":
        return f"session {scope.session.session_id}"
    if kind == "user":
        return f"user {scope.user.user_id}{f' in app {scope.user.app}' if scope.user.HasField('app') else ''}"
    if kind == "app":
        return f"app {scope.app}"
    return "the server" if scope.server else "the server's configuration (THREADKEEP_COMPACTION_POLICY)"
