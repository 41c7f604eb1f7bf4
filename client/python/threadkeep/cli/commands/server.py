"""Commands of the server: `config`, `db`, and `info` of a running one."""

from __future__ import annotations

from typing import Any

import typer
from rich.text import Text

from ... import AsyncClient
from ...v1.server_service_pb2 import FleetServer, GetServerInfoResponse
from ..errors import counted
from ..options import Address, Json, Token, cli_of
from ..render.output import console, facts, print_json, shown_time, table
from ..server_part import ConfigFile, DatabaseUrl, DataDir, database_url_of, on_database, server_part, settings_of

db_app = typer.Typer(help="The database's schema.", no_args_is_help=True)


def config_table(
    ctx: typer.Context,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """Print every setting of the server: its value, where that comes from, its environment variable and meaning."""
    as_json_ = cli_of(ctx, None, None, json).json
    settings = settings_of(config, data_dir=data_dir, database_url=database_url)
    part = server_part("config.settings")
    fields = type(settings).model_fields
    rows = [
        {
            "name": name,
            "value": value,
            "source": settings.sources[name],
            "environment": f"{part.ENV_PREFIX}{name.upper()}",
            "description": fields[name].description or "",
        }
        for name, value in settings.public().items()
    ]
    if as_json_:
        print_json(rows)
        return
    screen = console()
    if screen.width >= 160:
        made = table("setting", "value", "from", "environment variable", "meaning", ids=("value", "from", "meaning"))
        for row in rows:
            made.add_row(*(Text(_shown(each)) for each in row.values()))
    else:
        made = table("setting", "value", "meaning", ids=("value", "meaning"))
        for row in rows:
            name, value, source, variable, meaning = (_shown(each) for each in row.values())
            made.add_row(Text(f"{name}\n{variable}"), Text(f"{value}\n({source})"), Text(f"{meaning}\n"))
    screen.print(made)


def info(
    ctx: typer.Context,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Show the server's version, engine, durability, totals and limits."""
    cli = cli_of(ctx, address, token, json)

    async def got(client: AsyncClient) -> GetServerInfoResponse:
        return await client.info(totals=True)

    answer = cli.call(got)
    limits = {field.name: getattr(answer.limits, field.name) for field in answer.limits.DESCRIPTOR.fields}
    index = {"enabled": answer.search_index.enabled, "lag_batches": answer.search_index.lag_batches}
    embeddings = {"enabled": answer.embeddings.enabled, "waiting": answer.embeddings.waiting}
    found: dict[str, Any] = {
        "address": cli.server,
        "version": answer.version,
        "engine": answer.engine,
        "durability": answer.durability,
        "sessions": answer.total_sessions,
        "events": answer.total_events,
        "limits": limits,
        "capabilities": list(answer.capabilities),
        "token_counter": answer.token_counter,
        "summarizer_model": answer.summarizer_model,
        "embedder_model": answer.embedder_model,
        "embeddings": embeddings,
        "search_index": index,
        "schema_version": answer.schema_version,
        "store_id": answer.store_id,
        "servers": [_server_json(server) for server in answer.servers],
    }
    if cli.json:
        print_json(found)
        return
    behind = f", {index['lag_batches']:,} batches behind" if index["lag_batches"] else ""
    found["summarizer_model"] = answer.summarizer_model or "none; `threadkeep config` lists the summarizer settings"
    found["embedder_model"] = answer.embedder_model or "none; `threadkeep config` lists the embedder settings"
    waiting = f", {counted(embeddings['waiting'], 'text')} waiting" if embeddings["waiting"] else ""
    found["embeddings"] = f"on{waiting}" if embeddings["enabled"] else "off"
    found["search_index"] = f"on{behind}" if index["enabled"] else "off"
    found["servers"] = "\n".join(map(_server_line, answer.servers))
    found["limits"] = "\n".join(f"{name} {value:,}" for name, value in limits.items())
    console().print(facts([(name.replace("_", " "), _shown(value)) for name, value in found.items()]))


def _server_json(server: FleetServer) -> dict[str, object]:
    return {
        "id": server.id,
        "version": server.version,
        "start_time": server.start_time.ToJsonString(),
        "seen_time": server.seen_time.ToJsonString(),
        "metrics_address": server.metrics_address,
        "answering": server.answering,
        "gone": server.gone,
    }


def _server_line(server: FleetServer) -> str:
    state = f"gone, last seen {shown_time(server.seen_time)}" if server.gone else "answers" if server.answering else "serves"
    return f"{server.id} {server.version}, started {shown_time(server.start_time)}, {state}"


@db_app.command("upgrade")
def upgrade(
    ctx: typer.Context,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """Upgrade the database's schema to the newest version; does nothing if it is current."""
    url = database_url_of(config, data_dir=data_dir, database_url=database_url)
    admin = server_part("store.sql.schema.versions")
    on_database(admin.upgrade, url)
    _tell_schema(on_database(admin.current, url), as_json=cli_of(ctx, None, None, json).json)


@db_app.command("current")
def current(
    ctx: typer.Context,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """Print the schema version of the database, 0 if there is none yet, and the newest version that this release supports."""
    url = database_url_of(config, data_dir=data_dir, database_url=database_url)
    found = on_database(server_part("store.sql.schema.versions").current, url)
    _tell_schema(found, as_json=cli_of(ctx, None, None, json).json)


def _tell_schema(found: tuple[int, int], *, as_json: bool) -> None:
    version, newest = found
    if as_json:
        print_json({"schema_version": version, "newest": newest})
        return
    if not version:
        print(
            f"no database yet; `threadkeep db upgrade` or the next start of the server creates it, with schema version {newest}"
        )
        return
    state = "the newest" if version == newest else f"the newest is {newest}"
    if version < newest:
        state += "; `threadkeep db upgrade` or the next start of the server upgrades it"
    elif version > newest:
        state += "; the database is of a newer server: upgrade threadkeep"
    print(f"schema version {version}: {state}")


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)
