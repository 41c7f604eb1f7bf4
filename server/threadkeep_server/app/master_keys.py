"""Reads the master keys of encryption at rest from where the settings say."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import Final

from ..config.settings import ConfigError, Settings
from ..store.sql.encryption.master_keys import KeyProblem, MasterKeys, parse_keys

_COMMAND_WITHIN_S: Final = 30.0


def open_master_keys(settings: Settings) -> MasterKeys | None:
    """Returns the keys; None without a setting. Blocks while the command runs. Raises ConfigError."""
    if settings.encryption_key_file is not None:
        return _parse("encryption_key_file", _read(settings.encryption_key_file))
    if settings.encryption_key:
        return _parse("encryption_key", settings.encryption_key)
    if settings.encryption_key_command:
        return _parse("encryption_key_command", _run(settings.encryption_key_command))
    return None


def key_setting(settings: Settings) -> str:
    """Returns the name of the setting that has the keys."""
    names = ("encryption_key", "encryption_key_command")
    return next((name for name in names if getattr(settings, name)), "encryption_key_file")


def _parse(setting: str, text: str) -> MasterKeys:
    try:
        return parse_keys(text)
    except KeyProblem as problem:
        raise ConfigError([f"{setting}: {problem}"]) from None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError as error:
        raise ConfigError([f"encryption_key_file: cannot read {str(path)!r}: {error.strerror}; check the path"]) from None
    except UnicodeDecodeError:
        raise ConfigError(
            [f"encryption_key_file: {str(path)!r} is not base64; make a key with: openssl rand -base64 32"]
        ) from None


def _run(command: str) -> str:
    """The output is never shown: it contains keys."""
    try:
        arguments = shlex.split(command)
        done = subprocess.run(  # noqa: S603 - the operator's command
            arguments, check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=_COMMAND_WITHIN_S
        )
        return done.stdout.decode("ascii")
    except subprocess.TimeoutExpired:
        problem = f"did not end within {_COMMAND_WITHIN_S:g} s"
    except subprocess.CalledProcessError as error:
        problem = f"ended with status {error.returncode}"
    except (OSError, ValueError, IndexError) as error:
        problem = f"cannot run: {getattr(error, 'strerror', None) or type(error).__name__}"
    raise ConfigError([f"encryption_key_command: {problem}; run it in a shell to see why"])
