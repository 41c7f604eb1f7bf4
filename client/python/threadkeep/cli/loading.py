"""The commands, each loaded when it is called: loading all of them takes longer than most calls."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module

import typer


@dataclass(frozen=True, slots=True)
class _Command:
    """A function, or a group of commands, in a module of `commands`. `also` are modules that add commands to the group."""

    panel: str
    module: str
    attribute: str
    also: tuple[str, ...] = ()

    def add(self, app: typer.Typer, name: str) -> None:
        for module in self.also:
            _loaded(module)
        found = getattr(_loaded(self.module), self.attribute)
        if isinstance(found, typer.Typer):
            for command in found.registered_commands:
                command.help = command.help or _help(command.callback)
            app.add_typer(found, name=name, rich_help_panel=self.panel)
        else:
            app.command(name, help=_help(found), rich_help_panel=self.panel)(found)


def _help(function: object) -> str | None:
    """The docstring, without line ends within paragraphs: lines are as long as the reader's terminal is wide."""
    text = inspect.getdoc(function)
    return text and re.sub(r"(?<!\n)\n(?!\n)", " ", text)


def _loaded(module: str) -> object:
    return import_module(f".commands.{module}", __package__)


_COMMANDS: Mapping[str, _Command] = {
    "serve": _Command("Server", "serve", "serve"),
    "config": _Command("Server", "server", "config_table"),
    "db": _Command("Server", "server", "db_app", also=("database.backups",)),
    "info": _Command("Server", "server", "info"),
    "bench": _Command("Server", "bench.command", "bench"),
    "audit": _Command("Server", "audit", "audit"),
    "tokens": _Command("Server", "tokens", "tokens_app"),
    "keys": _Command("Server", "database.keys", "keys_app"),
    "retention": _Command("Server", "retention.commands", "retention_app"),
    "sessions": _Command("Memory", "sessions", "sessions_app", also=("forks", "removals")),
    "events": _Command("Memory", "events", "events_app"),
    "state": _Command("Memory", "state", "state_app"),
    "erase": _Command("Memory", "erase", "erase_app"),
    "search": _Command("Memory", "search", "search"),
    "memory": _Command("Memory", "memory", "memory_app", also=("memory_entries",)),
    "mcp": _Command("Memory", "mcp", "mcp"),
    "watch": _Command("Changes", "watch", "watch"),
    "consumers": _Command("Changes", "consumers", "consumers_app"),
    "context": _Command("Windows", "context", "context"),
    "compact": _Command("Windows", "compact", "compact"),
    "compactions": _Command("Windows", "compact", "compactions"),
    "policy": _Command("Windows", "policy", "policy_app"),
    "import": _Command("Memory", "import_export", "import_files"),
    "export": _Command("Memory", "import_export", "export_sessions"),
}

_WITH_VALUE = ("--address", "--token", "--ca", "--certificate", "--private-key")
_FLAGS = ("--json", "--allow-plaintext-token")


def add_commands(app: typer.Typer, arguments: Iterable[str]) -> None:
    """Adds the command that the arguments call; all commands if they call none, such as for help or for an unknown name."""
    named = _named(arguments)
    for name in _COMMANDS if named is None else [named]:
        _COMMANDS[name].add(app, name)


def _named(arguments: Iterable[str]) -> str | None:
    rest = iter(arguments)
    for each in rest:
        if each in _COMMANDS:
            return each
        if each in _WITH_VALUE:
            next(rest, None)
        elif each not in _FLAGS and each.partition("=")[0] not in _WITH_VALUE:
            return None
    return None
