"""`threadkeep tokens`: issues and revokes the tokens of a server, in the file of its setting `token_hashes_file`."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from ..errors import CliError, Exit
from ..options import Json, cli_of
from ..render.output import console, print_json, table
from ..server_part import ConfigFile, server_part, settings_of

tokens_app = typer.Typer(
    help="Tokens of callers, stored as hashes; a running server follows within a second.", no_args_is_help=True
)

File = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="The file of token hashes. (default: the setting token_hashes_file)"),
]


@tokens_app.command("create")
def create(
    ctx: typer.Context,
    tenant: Annotated[str, typer.Option("--tenant", help="The tenant of the caller.")],
    role: Annotated[list[str], typer.Option("--role", help="reader, writer, compactor, admin or ops; repeat for several.")],
    user: Annotated[str, typer.Option("--user", help="The only user that the caller may act for.")] = "",
    app: Annotated[str, typer.Option("--app", help="The only app that the caller may act in.")] = "",
    expires: Annotated[str | None, typer.Option("--expires", help="Time until the token expires, such as 90d.")] = None,
    note: Annotated[str, typer.Option("--note", help="What the token is for.")] = "",
    file: File = None,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Create a token and print it. It is shown this once: the file has its hash only."""
    path = _path(file, config)
    token, entry = _hashes().create_token(
        path, tenant=tenant, user_id=user, roles=tuple(dict.fromkeys(role)), note=note, expires=_expiry(expires), app=app
    )
    if cli_of(ctx, None, None, json).json:
        print_json({"token": token, **_row(entry)})
        return
    print(token)
    print(f"token {entry.id} is in {path}; the token itself is shown only now", file=sys.stderr)


@tokens_app.command("list")
def list_tokens(ctx: typer.Context, file: File = None, config: ConfigFile = None, json: Json = False) -> None:
    """List the tokens, without what would let anybody in."""
    rows = [_row(each) for each in _read(_path(file, config))]
    if cli_of(ctx, None, None, json).json:
        print_json(rows)
        return
    made = table("id", "tenant", "user", "app", "roles", "created", "expires", "note", ids=("id",))
    for row in rows:
        made.add_row(*(Text(", ".join(each) if isinstance(each, list) else each) for each in row.values()))
    console().print(made)


@tokens_app.command("revoke")
def revoke(
    ctx: typer.Context,
    token_id: Annotated[str, typer.Argument(metavar="ID", help="The token's id, as `list` shows it.")],
    file: File = None,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Remove a token. New calls with it are refused within a second; open streams continue until they end."""
    path = _path(file, config)
    if not _hashes().revoke_token(path, token_id):
        raise CliError(f"{path} has no token {token_id}; threadkeep tokens list shows them", Exit.NOT_FOUND, reason="NO_TOKEN")
    if cli_of(ctx, None, None, json).json:
        print_json({"revoked": token_id})
    else:
        print(f"revoked {token_id}")


def _hashes() -> Any:
    return server_part("transport.identity.token_hashes")


def _read(path: Path) -> Any:
    return _hashes().read_tokens(path)


def _path(file: Path | None, config: Path | None) -> Path:
    path: Path | None = file or settings_of(config).token_hashes_file
    if path is None:
        message = "no file of token hashes: set token_hashes_file (THREADKEEP_TOKEN_HASHES_FILE), or give --file"
        raise CliError(message, Exit.USAGE, reason="NO_TOKEN_FILE")
    return path


def _expiry(text: str | None) -> datetime | None:
    if text is None:
        return None
    lifetime = server_part("config.types").duration(text)
    if not isinstance(lifetime, timedelta) or lifetime <= timedelta(0):
        raise CliError("--expires must be a time above 0, such as 90d or 12h", Exit.USAGE, reason="USAGE")
    try:
        return datetime.now(UTC) + lifetime
    except OverflowError:
        raise CliError("--expires must be at most some thousand years", Exit.USAGE, reason="USAGE") from None


def _row(entry: Any) -> dict[str, Any]:
    return {
        "id": entry.id,
        "tenant": entry.tenant,
        "user_id": entry.user_id,
        "app": entry.app,
        "roles": list(entry.roles),
        "created": entry.created,
        "expires": entry.expires,
        "note": entry.note,
    }
