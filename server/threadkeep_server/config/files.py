"""Files that settings name: TOML, and the check of files with secrets."""

from __future__ import annotations

import os
import ssl
import stat
import tomllib
from pathlib import Path
from typing import Any


class ConfigError(Exception):
    """Invalid settings. Each problem names the field, the source of its value, and what to do."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


def home(path: Path) -> Path:
    """Returns the path with the home directory in place of ~; unchanged if the user does not exist."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def is_there(path: Path, what: str) -> bool:
    """Reports whether there is a file. Raises ConfigError if that cannot be found out."""
    try:
        return path.is_file()
    except OSError as error:
        raise ConfigError([f"{what}: cannot read {str(path)!r}: {error.strerror}"]) from None


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Returns the content of a TOML file. Raises ConfigError; `what` names the file in its message."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError([f"{what}: there is no file {str(path)!r}; check the path"]) from None
    except OSError as error:
        raise ConfigError([f"{what}: cannot read {str(path)!r}: {error.strerror}"]) from None
    except UnicodeDecodeError:
        raise ConfigError([f"{what}: {str(path)!r} is not UTF-8 text"]) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([f"{what}: {str(path)!r} is not valid TOML: {error}"]) from None


def exposed(path: Path) -> str | None:
    """Returns what to do about a file with secrets that other users of the machine may read or write, None if they may not.

    A file of root's may be readable by its group: that is how a server that is not root reads it.
    """
    if os.name != "posix":
        return None
    found = path.stat()
    others = 0o026 if found.st_uid == 0 and os.geteuid() != 0 else 0o066
    if not stat.S_ISREG(found.st_mode) or not found.st_mode & others:
        return None
    mode = stat.S_IMODE(found.st_mode)
    return f"other users may read or change {str(path)!r}, which holds secrets (mode {mode:04o}); run: chmod 600 {path}"


def tls_problems(certificate: Path, private_key: Path) -> list[str]:
    """Returns one line per problem of the files of TLS."""
    problems = []
    for name, path in {"tls_certificate": certificate, "tls_private_key": private_key}.items():
        try:
            path.read_bytes()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            problems.append(f"{name}: cannot read {str(path)!r}: {why}; give the path of a PEM file")
    if not problems and (problem := exposed(private_key)):
        problems.append(f"tls_private_key: {problem}")
    if not problems:
        try:
            # With a password OpenSSL does not prompt for that of an encrypted key.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, private_key, password="")
        except (ssl.SSLError, ValueError) as error:
            why = getattr(error, "reason", None) or error
            pair = "a certificate chain, and tls_private_key that of its key, without a password"
            problems.append(f"tls_certificate: must be the PEM file of {pair} ({why})")
    return problems


def ca_problem(path: Path) -> str | None:
    """Returns the problem of a file with the certificates of a CA, None without one."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(path)
    except ssl.SSLError as error:
        return f"must be the PEM file of a CA's certificates ({error.reason})"
    except OSError as error:
        return f"cannot read {str(path)!r}: {error.strerror}; give the path of a PEM file"
    return None
