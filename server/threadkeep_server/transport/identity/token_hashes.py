"""The file of issued tokens: one JSON object per line, with the hash of a token instead of the token."""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from ...domain.model import Caller
from ...domain.roles import granted
from ..auth import digest_of

_HASH = re.compile(r"[0-9a-f]{64}")
_LONGEST_NAME = 256
_LONGEST_NOTE = 1000
_TOKEN_BYTES = 32
"""256 bits of chance: such a token cannot be guessed from its hash, so the hash needs neither salt nor stretching."""


class InvalidTokenHashes(ValueError):
    """The file cannot be used; the message names the file, the line and the problem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenHash:
    """An issued token. `created` and `expires` are times in ISO 8601 with an offset; `expires` empty: never. `user_id` and
    `app` empty: any user, any app of the tenant."""

    id: str
    sha256: str
    tenant: str
    user_id: str = ""
    app: str = ""
    roles: tuple[str, ...]
    note: str = ""
    created: str
    expires: str = ""

    def __post_init__(self) -> None:
        names = ("id", "sha256", "tenant", "user_id", "app", "note", "created", "expires")
        if wrong := [name for name in names if not isinstance(getattr(self, name), str)]:
            raise ValueError(f"{wrong[0]} must be a string")
        if not self.id or not _HASH.fullmatch(self.sha256):
            raise ValueError("id and sha256 are required, sha256 as 64 hexadecimal digits")
        if not 0 < len(self.tenant) <= _LONGEST_NAME or max(len(self.user_id), len(self.app)) > _LONGEST_NAME:
            raise ValueError(f"tenant must have 1 to {_LONGEST_NAME} characters, user_id and app at most {_LONGEST_NAME}")
        if len(self.note) > _LONGEST_NOTE:
            raise ValueError(f"note must have at most {_LONGEST_NOTE} characters")
        if not self.roles:
            raise ValueError("roles must not be empty")
        granted(self.roles)
        if self.expires and datetime.fromisoformat(self.expires).tzinfo is None:
            raise ValueError("expires must have an offset from UTC")

    @property
    def caller(self) -> Caller:
        expires_at = self.expires_at if self.expires else None
        return Caller(self.tenant, self.user_id or None, granted(self.roles), self.app or None, expires_at)

    @property
    def expires_at(self) -> float:
        """Seconds since the epoch; infinite without an expiry."""
        return datetime.fromisoformat(self.expires).timestamp() if self.expires else float("inf")


def read_tokens(path: Path) -> list[TokenHash]:
    """Returns the tokens of the file. Raises InvalidTokenHashes, OSError."""
    found: dict[str, TokenHash] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            token = _parsed(line)
            if token.id in found:
                raise ValueError(f"the id {token.id} is there twice")
        except (ValueError, TypeError, RecursionError) as error:
            raise InvalidTokenHashes(f"{path}, line {number}: {error}; remove the line, or create the token again") from None
        found[token.id] = token
    return list(found.values())


def _parsed(line: str) -> TokenHash:
    value = json.loads(line)
    if not isinstance(value, dict) or not isinstance(value.get("roles"), list):
        raise ValueError("must be a JSON object with a list of roles")
    if unknown := sorted(value.keys() - {field.name for field in fields(TokenHash)}):
        raise ValueError(f"{unknown[0][:64]!r} is not a field")
    if missing := sorted({"id", "sha256", "tenant", "created"} - value.keys()):
        raise ValueError(f"{missing[0]} is missing")
    return TokenHash(**{**value, "roles": tuple(map(str, value["roles"]))})


def create_token(
    path: Path,
    *,
    tenant: str,
    user_id: str,
    roles: Sequence[str],
    note: str,
    expires: datetime | None,
    app: str = "",
) -> tuple[str, TokenHash]:
    """Adds a token to the file, which need not exist. Returns the token, which is nowhere stored, and its entry. Raises
    ValueError, OSError."""
    token_id = secrets.token_hex(6)
    token = f"tk_{token_id}_{secrets.token_urlsafe(_TOKEN_BYTES)}"
    entry = TokenHash(
        id=token_id,
        sha256=digest_of(token).hex(),
        tenant=tenant,
        user_id=user_id,
        app=app,
        roles=tuple(roles),
        note=note,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        expires="" if expires is None else expires.isoformat(timespec="seconds"),
    )
    with _locked(path):
        _write(path, [*(read_tokens(path) if path.exists() else []), entry])
    return token, entry


def revoke_token(path: Path, token_id: str) -> bool:
    """Removes a token. Returns whether it was there. Raises InvalidTokenHashes, OSError."""
    with _locked(path):
        tokens = read_tokens(path)
        kept = [each for each in tokens if each.id != token_id]
        if len(kept) == len(tokens):
            return False
        _write(path, kept)
        return True


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Two writers at the same time would lose the token of one."""
    folder = os.open(path.absolute().parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _write(path: Path, tokens: Sequence[TokenHash]) -> None:
    """Replaces the file at once: a server that reads meanwhile has the old one or the new one."""
    descriptor, temporary = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")  # only its owner may read it
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(each), ensure_ascii=False) + "\n" for each in tokens)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
