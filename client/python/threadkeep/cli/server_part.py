"""The server's modules and settings, for commands that work without a running server. It loads no output."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from .errors import CliError, Exit, one_line

ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings in TOML. (env THREADKEEP_CONFIG, default threadkeep.toml)"),
]
DatabaseUrl = Annotated[
    str | None, typer.Option("--database-url", help="sqlite:///path, postgresql://user:password@host/database or memory://.")
]
DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Directory for the SQLite file.")]


def settings_of(config: Path | None, **flags: object) -> Any:
    part = server_part("config.settings")
    try:
        return part.load_settings(config, **flags)
    except part.ConfigError as error:
        raise CliError("; ".join(error.problems), Exit.USAGE, reason="INVALID_SETTINGS") from error


def database_url_of(config: Path | None, **flags: object) -> str:
    """Returns the URL of a database that has a schema."""
    settings = settings_of(config, **flags)
    if settings.in_memory:
        message = "memory:// has no schema: nothing survives a restart; `threadkeep export` saves what a running server holds"
        raise CliError(message, Exit.USAGE, reason="IN_MEMORY")
    return str(settings.resolved_database_url)


def server_part(name: str) -> ModuleType:
    """Imports a module of the server, which the SDK alone does not install."""
    try:
        return importlib.import_module(f"threadkeep_server.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("threadkeep_server."):
            raise
        message = f"the server needs {error.name}; run: pip install 'threadkeep[server]'"
        raise CliError(message, reason="NOT_INSTALLED") from error


def on_database(do: Callable[[str], Any], url: str) -> Any:
    """Runs an operation on the database. Its error omits the URL, which may contain a password."""
    try:
        return do(url)
    except CliError:
        raise
    except Exception as error:
        text = one_line(str(error))
        if type(error).__module__.startswith("threadkeep_server."):
            raise CliError(text, reason="DATABASE") from error
        problem = "" if "://" in text else f": {text}"
        message = f"the database cannot be used ({type(error).__name__}{problem}); check THREADKEEP_DATABASE_URL"
        raise CliError(message, reason="DATABASE") from error
