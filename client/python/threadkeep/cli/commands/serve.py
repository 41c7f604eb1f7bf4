"""`threadkeep serve`. Its module loads no library of output, which would be a tenth of the start of a server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..server_part import ConfigFile, DatabaseUrl, DataDir, server_part, settings_of


def serve(
    config: ConfigFile = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    grpc_address: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Where gRPC listens.")] = None,
    http_address: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Where HTTP listens; '' for no HTTP.")] = None,
    frontend: Annotated[str | None, typer.Option(help="What accepts connections: grpc or envoy.")] = None,
    auth_tokens_file: Annotated[Path | None, typer.Option(metavar="FILE", help="TOML file of the callers' tokens.")] = None,
    insecure: Annotated[
        bool | None, typer.Option("--insecure", help="Listen beyond this machine without tokens, on a closed network.")
    ] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
    log_format: Annotated[str | None, typer.Option(help="text or json.")] = None,
) -> None:
    """Run the server, by default on SQLite in ./data, until Ctrl-C or SIGTERM.

    Every setting can also be given by environment variable or file; `threadkeep config` prints them all.
    """
    settings = settings_of(
        config,
        data_dir=data_dir,
        database_url=database_url,
        grpc_address=grpc_address,
        http_address=http_address,
        frontend=frontend,
        auth_tokens_file=auth_tokens_file,
        insecure=insecure,
        log_level=log_level,
        log_format=log_format,
    )
    code = server_part("__main__").run(settings)
    if isinstance(code, int) and code:
        raise typer.Exit(code)
