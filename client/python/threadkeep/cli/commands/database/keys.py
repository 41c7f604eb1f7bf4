"""`threadkeep keys`: the keys that encrypt what tenants store, in the database."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.text import Text

from ...errors import CliError, Exit, counted
from ...options import Json, cli_of
from ...render.output import console, print_json, table
from ...server_part import ConfigFile, DatabaseUrl, DataDir, database_url_of, on_database, server_part

keys_app = typer.Typer(help="Keys of tenants that are encrypted at rest.", no_args_is_help=True)


@keys_app.command("list")
def list_keys(
    ctx: typer.Context,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """List the tenants that have keys, or had them. On SQLite, stop the server first."""
    url = database_url_of(config, data_dir=data_dir, database_url=database_url)
    rows = [_row(each) for each in on_database(_keys().list_keys, url)]
    if cli_of(ctx, None, None, json).json:
        print_json(rows)
        return
    made = table("tenant", "keys", "newest", "destroyed", "master key", ids=("tenant",))
    for row in rows:
        made.add_row(*(Text(str(value or "")) for value in row.values()))
    console().print(made)


@keys_app.command("destroy")
def destroy(
    ctx: typer.Context,
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help="The tenant whose texts to erase.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not wait for a confirmation.")] = False,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """Destroy the keys of a tenant: nobody can read its events and memories again, from backups with the keys only.

    On SQLite, stop the server first. Servers on PostgreSQL forget the keys within ten seconds.
    """
    url = database_url_of(config, data_dir=data_dir, database_url=database_url)
    if not yes:
        typer.confirm(f"Destroy the keys of tenant {tenant!r}? Its events and memories cannot be read again.", abort=True)
    count = on_database(lambda place: _keys().destroy_keys(place, tenant), url)
    if not count:
        raise CliError(
            f"tenant {tenant!r} has no keys to destroy; threadkeep keys list shows them", Exit.NOT_FOUND, reason="NO_KEYS"
        )
    if cli_of(ctx, None, None, json).json:
        print_json({"tenant": tenant, "destroyed": count})
    else:
        print(f"destroyed {counted(count, 'key')} of tenant {tenant}; backups that contain them can still be read")


def _keys() -> Any:
    return server_part("store.sql.encryption.tenant_keys")


def _row(keys: Any) -> dict[str, Any]:
    return {
        "tenant": keys.tenant,
        "keys": keys.keys,
        "newest": _time(keys.create_time),
        "destroyed": None if keys.destroy_time is None else _time(keys.destroy_time),
        "master_key": keys.master,
    }


def _time(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds // 10**9, UTC).isoformat().replace("+00:00", "Z")
