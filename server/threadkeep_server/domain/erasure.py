"""Erasures: deletions of everything of a user, of an app, or with labels, and what they report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

from .memory.namespaces import split_name

SESSION, MEMORY = "session", "memory"


@dataclass(frozen=True, slots=True)
class ErasureScope:
    """The sessions of a user (None: of any), of an app (None: of any; empty: without an app) and with all of these labels.

    `memories`: their memories too. Without labels, those of the user or of the app; with labels, those from the sessions.
    """

    user_id: str | None = None
    app: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    memories: bool = False

    @property
    def is_whole_user(self) -> bool:
        """Whether nothing of a user is left."""
        return self.user_id is not None and self.app is None and not self.labels

    @property
    def digest(self) -> str:
        """Represents the scope, without its names."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Erasure:
    """A request to erase. `request_id`: named by the caller, or empty. `now`: nanoseconds since 1970."""

    tenant: str
    request_id: str
    scope: ErasureScope
    now: int

    @property
    def key(self) -> str:
        """Identifies the request in its tenant: without an id its scope does. No id begins with a control character."""
        return self.request_id or f"\t{self.scope.digest}"


@dataclass(frozen=True, slots=True)
class Erased:
    """What an erasure has erased so far, in all of its calls. Times: nanoseconds since 1970. `ids_digest`: see `digest_of`."""

    start_time: int
    finish_time: int | None
    """None: more is left."""
    sessions: int = 0
    events: int = 0
    memories: int = 0
    embeddings: int = 0
    consumers: int = 0
    ids_digest: str = ""


def id_line(kind: str, app: str, user_id: str, name: str) -> str:
    """Returns the line of an erased session or memory. Names hold no control characters."""
    return f"{kind}\t{app}\t{user_id}\t{name}"


def memory_line(app: str, user_id: str, name: str) -> str:
    """Returns the line of an erased memory, by its stored name: the labels of its namespace, if it has any, follow the id."""
    namespace, memory_id = split_name(name)
    return "\t".join((id_line(MEMORY, app, user_id, memory_id), *namespace))


def digest_of(lines: Iterable[str]) -> str:
    """Returns the SHA-256, in hexadecimal, of lines in the order of their UTF-8 bytes, each ended by a line feed."""
    digest = hashlib.sha256()
    for line in lines:
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()
